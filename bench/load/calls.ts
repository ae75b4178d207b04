import { create, fromBinary, toBinary } from '@bufbuild/protobuf';
import { randomUUID } from 'node:crypto';
import { type ClientHttp2Session, connect, type IncomingHttpHeaders } from 'node:http2';
import {
  CreateGenerationRequestSchema,
  CreateGenerationResponseSchema,
} from '../../apps/grpc/generated/darkroom/v1/generations_pb.js';
import type { Lane } from './requests.js';

/**
 * The unary gRPC calls of one slice. Calls differ only in their message, and in their idempotency key if they have
 * one.
 */
export interface CallKind {
  /** The path of the method, such as `/darkroom.v1.Generations/GetGeneration`. */
  readonly call: string;
  readonly metadata: Readonly<Record<string, string>>;
  /** In base64. One of them is chosen at random for each call. */
  readonly messages: readonly string[];
  /** Only messages of CreateGeneration have a field for a key. */
  readonly isKeyed: boolean;
}

/** Services typically call each other over few connections with many concurrent calls each; 64 make four of them. */
const CALLS_A_CONNECTION = 16;

const connectionsByPort = new Map<number, GrpcConnection[]>();

/** Makes this number of calls concurrently. Connections are kept from slice to slice, as clients keep them. */
export async function callLanes(port: number, count: number, kind: CallKind): Promise<Lane[]> {
  const open = (connectionsByPort.get(port) ?? []).filter(({ isOpen }) => isOpen);
  while (open.length < Math.ceil(count / CALLS_A_CONNECTION)) open.push(await GrpcConnection.open(port));
  connectionsByPort.set(port, open);
  const { call: path, metadata, isKeyed } = kind;
  const messages = kind.messages.map((message) => Buffer.from(message, 'base64'));
  const credential = metadata['authorization'] ?? '';
  return Array.from({ length: count }, (_, index): Lane => {
    const connection = open[Math.floor(index / CALLS_A_CONNECTION)] as GrpcConnection;
    return async () => {
      const message = messages[Math.floor(Math.random() * messages.length)];
      if (message === undefined) throw new Error('There is nothing to ask for.');
      const answer = await connection.call({ path, metadata }, written(message, isKeyed ? newKey() : undefined));
      return {
        credential,
        body: answer.toString('base64'),
        generationId: () => fromBinary(CreateGenerationResponseSchema, answer).generation?.generationId ?? '',
      };
    };
  });
}

/** A message with nothing but a key: parts of a message that follow each other are read as one. */
function newKey(): Uint8Array {
  return toBinary(
    CreateGenerationRequestSchema,
    create(CreateGenerationRequestSchema, { idempotencyKey: randomUUID() }),
  );
}

export interface CalledMethod {
  readonly path: string;
  readonly metadata: Readonly<Record<string, string>>;
}

/** The prefix of every message: a byte that shows whether it is compressed, and its length. */
const PREFIX_BYTES = 5;

/**
 * One HTTP/2 connection to a gRPC server with any number of concurrent unary calls. It checks only the status of a
 * response, so that calling costs less than serving.
 */
export class GrpcConnection {
  private constructor(private readonly session: ClientHttp2Session) {
    // The streams of the waiting calls report the error.
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

  /** A server closes a connection that was idle for long. */
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
