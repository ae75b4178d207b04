import { connect, type Socket } from 'node:net';

export interface HttpAnswer {
  readonly status: number;
  readonly body: string;
}

const HEADERS_END = '\r\n\r\n';
const CONTENT_LENGTH = /\r\ncontent-length: *(\d+)/i;

/**
 * One kept-alive HTTP/1.1 connection with one request under way at a time. It reads no more of an answer than its
 * status, its length and its body, so that sending costs less than serving does.
 */
export class Connection {
  private received = '';
  private waiting:
    | { readonly resolve: (answer: HttpAnswer) => void; readonly reject: (error: Error) => void }
    | undefined;

  private constructor(private readonly socket: Socket) {
    socket.setNoDelay(true);
    socket.setEncoding('latin1');
    socket.on('data', (text: string) => this.take(text));
    socket.on('error', (error) => this.fail(error));
    socket.on('close', () => this.fail(new Error('The server closed the connection.')));
  }

  static open(port: number): Promise<Connection> {
    return new Promise((resolve, reject) => {
      const socket = connect(port, '127.0.0.1', () => {
        socket.off('error', reject);
        resolve(new Connection(socket));
      });
      socket.once('error', reject);
    });
  }

  /** A server lets go of a connection that was idle for long. */
  get isOpen(): boolean {
    return !this.socket.destroyed && this.socket.writable && this.socket.readable;
  }

  send(request: string): Promise<HttpAnswer> {
    if (!this.isOpen) return Promise.reject(new Error('The connection is closed.'));
    return new Promise((resolve, reject) => {
      this.waiting = { resolve, reject };
      this.socket.write(request, 'latin1');
    });
  }

  close(): void {
    this.socket.destroy();
  }

  private take(text: string): void {
    this.received = this.received === '' ? text : this.received + text;
    const headersEnd = this.received.indexOf(HEADERS_END);
    if (headersEnd < 0) return;
    const length = CONTENT_LENGTH.exec(this.received.slice(0, headersEnd))?.[1];
    if (length === undefined) return this.fail(new Error('The server answered without Content-Length.'));
    const bodyAt = headersEnd + HEADERS_END.length;
    if (this.received.length < bodyAt + Number(length)) return;
    const answer = {
      status: Number(this.received.slice(9, 12)),
      body: this.received.slice(bodyAt, bodyAt + Number(length)),
    };
    this.received = '';
    const { waiting } = this;
    this.waiting = undefined;
    waiting?.resolve(answer);
  }

  private fail(error: Error): void {
    this.waiting?.reject(error);
    this.waiting = undefined;
  }
}
