import { setTimeout as sleep } from 'node:timers/promises';
import { answerCommands } from '../child.js';
import { percentile } from '../statistics.js';
import { machineMicros, usageOfThisProcess } from '../usage.js';
import { type CallKind, callLanes } from './calls.js';
import { type PictureKind, pictureLanes } from './pictures.js';
import { type Lane, type RequestKind, requestLanes } from './requests.js';
import { waiterCommands } from './waiters.js';

export interface Slice {
  readonly port: number;
  readonly kind: RequestKind | CallKind | PictureKind;
  /** Requests at once: each on a connection of its own over HTTP/1.1 unless they are pipelined, some to a connection over gRPC. */
  readonly connections: number;
  /** No request starts after this time, or after this number of requests. */
  readonly durationMs: number;
  readonly maxRequests?: number;
  /** The least time between two requests of one connection. */
  readonly intervalMs?: number;
  /** Returns the times of every request and the id of its generation. */
  readonly isMarked?: boolean;
}

/** A request that created a generation: when it was sent and when its response arrived, on the machine's clock. */
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
  /** The CPU time that this process used to send them. */
  readonly cpuMicros: number;
  /** From sending to the response. */
  readonly latencyMicros: { readonly p50: number; readonly p99: number };
  readonly marks: readonly Mark[];
}

function lanesOf(port: number, count: number, kind: Slice['kind']): Promise<readonly Lane[]> {
  if ('call' in kind) return callLanes(port, count, kind);
  return 'base64' in kind ? pictureLanes(port, count, kind) : requestLanes(port, count, kind);
}

async function run({
  port,
  kind,
  connections,
  durationMs,
  maxRequests = Infinity,
  intervalMs = 0,
  isMarked = false,
}: Slice): Promise<SliceDone> {
  const lanes = await lanesOf(port, connections, kind);
  const marks: Mark[] = [];
  const times: number[] = [];
  const before = usageOfThisProcess();
  const beganAtMicros = machineMicros();
  const endsAt = performance.now() + durationMs;
  let begun = 0;

  const drive = async (lane: Lane): Promise<void> => {
    while (begun < maxRequests && performance.now() < endsAt) {
      begun += 1;
      const sentAtMicros = machineMicros();
      const { generationId, credential } = await lane();
      const answeredAtMicros = machineMicros();
      times.push(answeredAtMicros - sentAtMicros);
      if (isMarked) marks.push({ generationId: generationId(), credential, sentAtMicros, answeredAtMicros });
      if (intervalMs > 0) await sleep(intervalMs);
    }
  };
  await Promise.all(lanes.map(drive));
  const elapsedMs = (machineMicros() - beganAtMicros) / 1_000;
  const cpuMicros = usageOfThisProcess().cpuMicros - before.cpuMicros;
  const latencyMicros = { p50: percentile(times, 0.5), p99: percentile(times, 0.99) };
  return { requests: times.length, elapsedMs, beganAtMicros, cpuMicros, latencyMicros, marks };
}

const commands = {
  ...waiterCommands,
  run,
  /** One request, for its answer. */
  async get({ port, kind }: Pick<Slice, 'port' | 'kind'>): Promise<string> {
    const [lane] = await lanesOf(port, 1, kind);
    return (await (lane as Lane)()).body;
  },
};

export type LoadCommands = typeof commands;

answerCommands(commands);
