import { createHash } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import type { Duplex } from 'node:stream';

/** The server's side of a WebSocket that only sends texts. */
export class WebSocketPeer {
  readonly url: URL;
  /** Whether it no longer answers pings and close frames, but leaves the connection open. */
  isDeaf = false;
  /** Pings that have come. */
  pings = 0;

  private constructor(
    request: IncomingMessage,
    private readonly socket: Duplex,
  ) {
    this.url = new URL(request.url ?? '/', 'http://fake');
    socket.on('error', () => undefined);
    // The client's side is at its end: nobody reads any more.
    socket.on('end', () => socket.end());
    // Frames of the client come one by one; only pings and the one that ends the connection are looked at.
    socket.on('data', (piece: Buffer) => {
      const opcode = (piece[0] ?? 0) & 0x0f;
      if (opcode === 0x9) this.pings += 1;
      if (this.isDeaf) return;
      if (opcode === 0x8) this.close();
      if (opcode === 0x9 && this.isOpen) socket.write(frame(0xa, Buffer.alloc(0)));
    });
  }

  /** Answers an upgrade. */
  static accept(request: IncomingMessage, socket: Duplex): WebSocketPeer {
    const accept = createHash('sha1')
      .update(`${request.headers['sec-websocket-key']}258EAFA5-E914-47DA-95CA-C5AB0DC85B11`)
      .digest('base64');
    socket.write(
      `HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: ${accept}\r\n\r\n`,
    );
    return new WebSocketPeer(request, socket);
  }

  get isOpen(): boolean {
    return !this.socket.destroyed && !this.socket.writableEnded;
  }

  onClose(listener: () => void): void {
    this.socket.on('close', listener);
  }

  send(text: string | Uint8Array): void {
    if (this.isOpen) this.socket.write(frame(typeof text === 'string' ? 0x1 : 0x2, Buffer.from(text)));
  }

  /** Sends bytes that may be no frame. */
  sendRaw(bytes: Uint8Array): void {
    if (this.isOpen) this.socket.write(bytes);
  }

  close(): void {
    if (this.isOpen) this.socket.end(frame(0x8, Buffer.alloc(0)));
  }

  cut(): void {
    this.socket.destroy();
  }
}

function frame(opcode: number, payload: Buffer): Buffer {
  const length = payload.byteLength;
  if (length < 126) return Buffer.concat([Buffer.from([0x80 | opcode, length]), payload]);
  const head = Buffer.alloc(10);
  head[0] = 0x80 | opcode;
  head[1] = 127;
  head.writeBigUInt64BE(BigInt(length), 2);
  return Buffer.concat([head, payload]);
}
