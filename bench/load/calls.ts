import { create, fromBinary, toBinary } from '@bufbuild/protobuf';
import { randomUUID } from 'node:crypto';
import {
  CreateGenerationRequestSchema,
  CreateGenerationResponseSchema,
} from '../../apps/grpc/generated/darkroom/v1/generations_pb.js';
import { GrpcConnection, written } from './grpc-connection.js';
import type { Lane } from './lane.js';

/**
 * The unary gRPC calls of one slice. Every call is the same but for its message, and its idempotency key where it
 * carries one.
 */
export interface CallKind {
  /** Of the method, as `/darkroom.v1.Generations/GetGeneration`. */
  readonly call: string;
  readonly metadata: Readonly<Record<string, string>>;
  /** In base64. One is drawn at random for each call. */
  readonly messages: readonly string[];
  /** Only messages of CreateGeneration have a place for a key. */
  readonly isKeyed: boolean;
}

/** Few connections with many calls on each at once is how a service calls another; 64 make four of them. */
const CALLS_A_CONNECTION = 16;

const connectionsByPort = new Map<number, GrpcConnection[]>();

/** So many calls at once. Connections are kept from slice to slice, as clients keep them. */
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
