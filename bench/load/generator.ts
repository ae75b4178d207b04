import { setTimeout as sleep } from 'node:timers/promises';
import { answerCommands } from '../child.js';
import { machineMicros, usageOfThisProcess } from '../usage.js';
import { Connection, type HttpAnswer } from './connection.js';
import { requestWriter, type RequestKind } from './requests.js';

export interface Slice {
  readonly port: number;
  readonly kind: RequestKind;
  readonly connections: number;
  /** No request begins after this, or after so many requests. */
  readonly durationMs: number;
  readonly maxRequests?: number;
  /** The least time between two requests of one connection. */
  readonly intervalMs?: number;
  /** Answers every request's times and the id of its generation. */
  readonly isMarked?: boolean;
}

/** A request that created a generation: when it went out and when its answer was here, on the machine's clock. */
export interface Mark {
  readonly generationId: string;
  readonly credential: string;
  readonly sentAtMicros: number;
  readonly answeredAtMicros: number;
}

export interface SliceDone {
  readonly requests: number;
  readonly elapsedMs: number;
  readonly beganAtMicros: number;
  /** What sending them cost this process. */
  readonly cpuMicros: number;
  readonly marks: readonly Mark[];
}

const GENERATION_ID = /"generation_id":"([0-9a-f-]{36})"/;
const connectionsByPort = new Map<number, Connection[]>();

/** Connections are kept from slice to slice, as clients keep them, until the server closes them. */
async function connectionsTo(port: number, count: number): Promise<readonly Connection[]> {
  const open = (connectionsByPort.get(port) ?? []).filter(({ isOpen }) => isOpen);
  while (open.length < count) open.push(await Connection.open(port));
  connectionsByPort.set(port, open);
  return open.slice(0, count);
}

async function run({ port, kind, connections, durationMs, maxRequests = Infinity, intervalMs = 0, isMarked = false }: Slice): Promise<SliceDone> {
  const open = await connectionsTo(port, connections);
  const write = requestWriter(kind);
  const marks: Mark[] = [];
  const before = usageOfThisProcess();
  const beganAtMicros = machineMicros();
  const endsAt = performance.now() + durationMs;
  let begun = 0;
  let done = 0;

  const drive = async (connection: Connection): Promise<void> => {
    while (begun < maxRequests && performance.now() < endsAt) {
      begun += 1;
      const sentAtMicros = isMarked ? machineMicros() : 0;
      const { text, target: { credential } } = write();
      const answer = await connection.send(text);
      refuseOther(answer, kind);
      if (isMarked) marks.push({ generationId: GENERATION_ID.exec(answer.body)?.[1] ?? '', credential, sentAtMicros, answeredAtMicros: machineMicros() });
      done += 1;
      if (intervalMs > 0) await sleep(intervalMs);
    }
  };
  await Promise.all(open.map(drive));
  const elapsedMs = (machineMicros() - beganAtMicros) / 1_000;
  return { requests: done, elapsedMs, beganAtMicros, cpuMicros: usageOfThisProcess().cpuMicros - before.cpuMicros, marks };
}

function refuseOther({ status, body }: HttpAnswer, kind: RequestKind): void {
  if (status !== kind.status) throw new Error(`${kind.method} ${kind.targets[0]?.path} was answered ${status}, not ${kind.status}: ${body.slice(0, 500)}`);
}

const commands = {
  run,
  /** One request, for its answer. */
  async get({ port, kind }: { readonly port: number; readonly kind: RequestKind }): Promise<string> {
    const [connection] = await connectionsTo(port, 1);
    const answer = await (connection as Connection).send(requestWriter(kind)().text);
    refuseOther(answer, kind);
    return answer.body;
  },
};

export type LoadCommands = typeof commands;

answerCommands(commands);
