import { connect } from 'node:net';

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
    const socket = connect(port, '127.0.0.1');
    const chunks: Buffer[] = [];
    socket.on('data', (chunk) => chunks.push(chunk));
    socket.on('error', () => undefined);
    socket.on('close', () => resolve(Buffer.concat(chunks).toString('utf8')));
    socket.write(bytes, () => {
      if (hangUp) socket.destroy();
    });
  });
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
