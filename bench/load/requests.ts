import { randomUUID } from 'node:crypto';
import { Connection, type HttpAnswer } from './connection.js';
import type { Lane } from './lane.js';

/** Where a request goes, and as whom. */
export interface Target {
  readonly path: string;
  readonly credential: string;
}

/**
 * The requests of one slice. Every request is the same but for its target, and its Idempotency-Key where it carries
 * one.
 */
export interface RequestKind {
  readonly method: 'GET' | 'POST';
  /** One is drawn at random for each request. */
  readonly targets: readonly Target[];
  readonly body?: string;
  readonly isKeyed: boolean;
  readonly headers?: Readonly<Record<string, string>>;
  /** How many are under way on each connection; 1 where absent. */
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
 * So many connections. They are kept from slice to slice, as clients keep them, until the server closes them.
 */
export async function connectionsTo(port: number, count: number): Promise<Connection[]> {
  const open = (connectionsByPort.get(port) ?? []).filter(({ isOpen }) => isOpen);
  while (open.length < count) open.push(await Connection.open(port));
  connectionsByPort.set(port, open);
  return open.slice(0, count);
}

/** So many requests at a time, on as many connections where they are not pipelined. */
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
function requestWriter({ method, targets, body, isKeyed, headers = {} }: RequestKind): () => WrittenRequest {
  const fixed = [
    'Host: 127.0.0.1',
    'Accept: application/json',
    ...Object.entries(headers).map(([name, value]) => `${name}: ${value}`),
    ...(body === undefined ? [] : ['Content-Type: application/json', `Content-Length: ${Buffer.byteLength(body)}`]),
  ].join('\r\n');
  return () => {
    const target = targets[Math.floor(Math.random() * targets.length)];
    if (target === undefined) throw new Error('There is nothing to ask for.');
    const key = isKeyed ? `\r\nIdempotency-Key: ${randomUUID()}` : '';
    return {
      target,
      text: `${method} ${target.path} HTTP/1.1\r\n${fixed}\r\nAuthorization: Bearer ${target.credential}${key}\r\n\r\n${body ?? ''}`,
    };
  };
}
