import { connect, type ClientHttp2Session, type IncomingHttpHeaders } from 'node:http2';

export interface CalledMethod {
  readonly path: string;
  readonly metadata: Readonly<Record<string, string>>;
}

/** Before every message: a byte that says whether it is compressed, and its length. */
const PREFIX_BYTES = 5;

/**
 * One HTTP/2 connection to a gRPC server with any number of unary calls at once. It checks no more of an answer than
 * its status, so that calling costs less than serving does.
 */
export class GrpcConnection {
  private constructor(private readonly session: ClientHttp2Session) {
    // Those who wait for an answer are told by their own streams.
    session.on('error', () => undefined);
  }

  static open(port: number): Promise<GrpcConnection> {
    return new Promise((resolve, reject) => {
      const session = connect(`http://127.0.0.1:${port}`, () => {
        session.off('error', reject);
        resolve(new GrpcConnection(session));
      });
      session.once('error', reject);
    });
  }

  /** A server lets go of a connection that was idle for long. */
  get isOpen(): boolean {
    return !this.session.closed && !this.session.destroyed;
  }

  /** Resolves with the bytes of the answer. */
  call({ path, metadata }: CalledMethod, request: Buffer): Promise<Buffer> {
    return new Promise((resolve, reject) => {
      const stream = this.session.request({
        ':method': 'POST',
        ':path': path,
        'content-type': 'application/grpc',
        'te': 'trailers',
        ...metadata,
      });
      const received: Buffer[] = [];
      let last: IncomingHttpHeaders = {};
      stream.on('response', (headers) => {
        last = headers;
      });
      stream.on('data', (chunk: Buffer) => received.push(chunk));
      stream.on('trailers', (trailers) => {
        last = trailers;
      });
      stream.once('error', reject);
      stream.once('close', () => {
        if (last['grpc-status'] === '0') resolve(Buffer.concat(received).subarray(PREFIX_BYTES));
        else reject(new Error(`${path} was answered ${String(last['grpc-status'])}: ${String(last['grpc-message'])}`));
      });
      stream.end(request);
    });
  }

  close(): void {
    this.session.destroy();
  }
}

/** A message as it goes over the wire, made of its parts. */
export function written(...parts: readonly (Uint8Array | undefined)[]): Buffer {
  const some = parts.flatMap((part) => part ?? []);
  const prefix = Buffer.alloc(PREFIX_BYTES);
  prefix.writeUInt32BE(
    some.reduce((sum, { length }) => sum + length, 0),
    1,
  );
  return Buffer.concat([prefix, ...some]);
}
