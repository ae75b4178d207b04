import { randomUUID } from 'node:crypto';
import { connect, type Socket } from 'node:net';

/** Sends one request and waits for its response. Rejects if the response is not the expected one. */
export type Lane = () => Promise<LaneAnswer>;

export interface LaneAnswer {
  /** The credential of the request. */
  readonly credential: string;
  /** JSON; for gRPC the message in base64. */
  readonly body: string;
  /** Extracts the id from the response to a create. */
  readonly generationId: () => string;
}

/** The path of a request and its credential. */
export interface Target {
  readonly path: string;
  readonly credential: string;
}

/** In a body that differs from request to request, the place that gets another UUID in each. */
export const UNIQUE = '00000000-0000-0000-0000-000000000000';

/**
 * The requests of one slice. Requests differ only in their target, in their Idempotency-Key if they have one, and where
 * their body contains `UNIQUE`.
 */
export interface RequestKind {
  readonly method: 'GET' | 'POST';
  /** One is drawn at random for each request. */
  readonly targets: readonly Target[];
  readonly body?: string;
  readonly isKeyed: boolean;
  readonly headers?: Readonly<Record<string, string>>;
  /** How many are in flight on each connection; 1 when absent. */
  readonly pipelined?: number;
  /** The only status that is right. */
  readonly status: number;
}

/** A request as it goes over the wire, and where to. */
interface WrittenRequest {
  readonly text: string;
  readonly target: Target;
}

const GENERATION_ID = /"generation_id":"([0-9a-f-]{36})"/;
const connectionsByPort = new Map<number, Connection[]>();

/**
 * Opens this number of connections. They are kept from slice to slice, as clients keep them, until the server closes
 * them.
 */
export async function connectionsTo(port: number, count: number): Promise<Connection[]> {
  const open = (connectionsByPort.get(port) ?? []).filter(({ isOpen }) => isOpen);
  while (open.length < count) open.push(await Connection.open(port));
  connectionsByPort.set(port, open);
  return open.slice(0, count);
}

/** Sends this number of requests concurrently, on as many connections if they are not pipelined. */
export async function requestLanes(port: number, count: number, kind: RequestKind): Promise<Lane[]> {
  const write = requestWriter(kind);
  const { pipelined = 1 } = kind;
  const connections = await connectionsTo(port, Math.ceil(count / pipelined));
  return connections.flatMap((connection) =>
    Array.from({ length: pipelined }, () => requestLane(connection, kind, write)),
  );
}

export function requestLane(connection: Connection, kind: RequestKind, write = requestWriter(kind)): Lane {
  return async () => {
    const {
      text,
      target: { credential },
    } = write();
    const answer = await connection.send(text);
    refuseOther(answer, kind);
    return { credential, body: answer.body, generationId: () => GENERATION_ID.exec(answer.body)?.[1] ?? '' };
  };
}

function refuseOther({ status, body }: HttpAnswer, kind: RequestKind): void {
  if (status !== kind.status)
    throw new Error(
      `${kind.method} ${kind.targets[0]?.path} was answered ${status}, not ${kind.status}: ${body.slice(0, 500)}`,
    );
}

/** Writes requests. Bodies are ASCII. */
function requestWriter({ method, targets, body = '', isKeyed, headers = {} }: RequestKind): () => WrittenRequest {
  const fixed = [
    'Host: 127.0.0.1',
    'Accept: application/json',
    ...Object.entries(headers).map(([name, value]) => `${name}: ${value}`),
    ...(body === '' ? [] : ['Content-Type: application/json', `Content-Length: ${Buffer.byteLength(body)}`]),
  ].join('\r\n');
  const parts = body.split(UNIQUE);
  return () => {
    const target = targets[Math.floor(Math.random() * targets.length)];
    if (target === undefined) throw new Error('There is nothing to ask for.');
    const key = isKeyed ? `\r\nIdempotency-Key: ${randomUUID()}` : '';
    return {
      target,
      text: `${method} ${target.path} HTTP/1.1\r\n${fixed}\r\nAuthorization: Bearer ${target.credential}${key}\r\n\r\n${parts.length === 1 ? body : parts.join(randomUUID())}`,
    };
  };
}

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
 * One kept-alive HTTP/1.1 connection. A request that is sent while others are in flight is pipelined. It reads no more of an
 * answer than its status, its length and its body, so that sending costs less than serving does.
 */
export class Connection {
  private received = '';
  /** In the order of their requests, in which the responses arrive. */
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

  /** A server closes a connection that was idle for long. */
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
