import { connect, type Socket, type TcpNetConnectOpts } from 'node:net';

export interface RawAnswer {
  readonly status: number;
  /** Names in lower case; values of a repeated name joined. */
  readonly headers: ReadonlyMap<string, string>;
  readonly body: string;
}

/**
 * Sends exactly these bytes and returns the text received until the server closed the connection. `hangUp` closes our
 * side once they are sent.
 */
export function exchange(port: number, bytes: string | Uint8Array, { hangUp = false } = {}): Promise<string> {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1').on('error', () => undefined);
    const received = receivedOn(socket);
    socket.on('close', () => resolve(received()));
    socket.write(bytes, () => {
      if (hangUp) socket.destroy();
    });
  });
}

/** The connections of a test, which closes them all at its end. */
export class RawConnections {
  private readonly sockets: Socket[] = [];

  open(port: number, options: Partial<TcpNetConnectOpts> = {}): Socket {
    const socket = connect({ ...options, port, host: '127.0.0.1' }).on('error', () => undefined);
    this.sockets.push(socket);
    return socket;
  }

  close(): void {
    for (const socket of this.sockets.splice(0)) socket.destroy();
  }
}

/** The text that has arrived on the connection by the time of the call. */
export function receivedOn(socket: Socket): () => string {
  const chunks: Buffer[] = [];
  socket.on('data', (chunk: Buffer) => chunks.push(chunk));
  return () => Buffer.concat(chunks).toString('utf8');
}

/** The first answer in the received text. */
export function parseAnswer(text: string): RawAnswer {
  const [head = '', ...rest] = text.split('\r\n\r\n');
  const [statusLine = '', ...lines] = head.split('\r\n');
  const headers = new Map<string, string>();
  for (const line of lines) {
    const [name = '', ...value] = line.split(':');
    const key = name.toLowerCase();
    const before = headers.get(key);
    headers.set(key, before === undefined ? value.join(':').trim() : `${before}, ${value.join(':').trim()}`);
  }
  return { status: Number(statusLine.split(' ')[1]), headers, body: rest.join('\r\n\r\n') };
}
