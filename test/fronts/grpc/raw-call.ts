import { once } from 'node:events';
import { connect, type ClientHttp2Session, type ClientHttp2Stream, type IncomingHttpHeaders } from 'node:http2';

/** One message as it goes over the wire. */
export function frame(bytes: Uint8Array, { compressed = false } = {}): Buffer {
  const head = Buffer.alloc(5);
  head.writeUInt8(compressed ? 1 : 0);
  head.writeUInt32BE(bytes.length, 1);
  return Buffer.concat([head, bytes]);
}

/** A call whose bytes and timing the test chooses itself, which no client library allows. */
export class RawCall {
  readonly stream: ClientHttp2Stream;
  /** Resolves to what the call ends with, or to nothing when it is cut. */
  readonly status: Promise<IncomingHttpHeaders>;

  constructor(session: ClientHttp2Session, path: string, headers: Readonly<Record<string, string>> = {}) {
    this.stream = session.request({
      ':method': 'POST',
      ':path': path,
      'content-type': 'application/grpc',
      'te': 'trailers',
      ...headers,
    });
    let ending: IncomingHttpHeaders = {};
    const note = (told: IncomingHttpHeaders): void => {
      if (told['grpc-status'] !== undefined) ending = told;
    };
    // A call that is refused without an answer has its status in its only headers.
    this.stream
      .on('response', note)
      .on('trailers', note)
      .on('error', () => undefined)
      .on('end', () => this.stream.close())
      .resume();
    this.status = new Promise((resolve) => {
      this.stream.once('close', () => resolve(ending));
    });
  }
}

export async function openSession(port: number): Promise<ClientHttp2Session> {
  const session = connect(`http://127.0.0.1:${port}`);
  session.on('error', () => undefined);
  await once(session, 'remoteSettings');
  return session;
}
