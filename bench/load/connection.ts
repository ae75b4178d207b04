import { connect, type Socket } from 'node:net';

export interface HttpAnswer {
  readonly status: number;
  readonly body: string;
}

const HEADERS_END = '\r\n\r\n';
const CONTENT_LENGTH = /\r\ncontent-length: *(\d+)/i;

interface Waiting {
  readonly resolve: (answer: HttpAnswer) => void;
  readonly reject: (error: Error) => void;
}

/**
 * One kept-alive HTTP/1.1 connection. A request that is sent while others are under way is pipelined. It reads no more of an
 * answer than its status, its length and its body, so that sending costs less than serving does.
 */
export class Connection {
  private received = '';
  /** In the order of their requests, in which the answers come. */
  private waiting: Waiting[] = [];

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
      this.waiting.push({ resolve, reject });
      this.socket.write(request, 'latin1');
    });
  }

  close(): void {
    this.socket.destroy();
  }

  private take(text: string): void {
    this.received = this.received === '' ? text : this.received + text;
    while (this.received !== '' && this.takeAnswer());
  }

  /** Whether there was a whole answer. */
  private takeAnswer(): boolean {
    const headersEnd = this.received.indexOf(HEADERS_END);
    if (headersEnd < 0) return false;
    const length = CONTENT_LENGTH.exec(this.received.slice(0, headersEnd))?.[1];
    if (length === undefined) {
      this.fail(new Error('The server answered without Content-Length.'));
      return false;
    }
    const bodyAt = headersEnd + HEADERS_END.length;
    const endsAt = bodyAt + Number(length);
    if (this.received.length < endsAt) return false;
    const answer = { status: Number(this.received.slice(9, 12)), body: this.received.slice(bodyAt, endsAt) };
    this.received = this.received.slice(endsAt);
    this.waiting.shift()?.resolve(answer);
    return true;
  }

  private fail(error: Error): void {
    for (const { reject } of this.waiting.splice(0)) reject(error);
  }
}
