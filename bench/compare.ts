import type { Child } from './child.js';
import type { LoadCommands, Slice } from './load/generator.js';
import { median, percentile } from './statistics.js';
import type { Usage } from './usage.js';

/** The measurements of one side in one slice. */
export interface Measured {
  readonly cpuMicros: number;
  readonly perSecond: number;
  /** The CPU time of the load generator per request, if one was used. */
  readonly senderCpuMicros?: number;
  /** From sending to the response, as measured by the load generator. */
  readonly p50Micros?: number;
  readonly p99Micros?: number;
  /** CPU time of the database and the object store, if their processes are visible. */
  readonly databaseCpuMicros?: number;
  readonly objectsCpuMicros?: number;
}

export interface Ratio {
  readonly median: number;
  readonly lowerQuartile: number;
  readonly upperQuartile: number;
}

export interface Comparison {
  readonly subject: Measured;
  readonly control: Measured;
  /** Subject over control, pair by pair. */
  readonly cpu: Ratio;
  /** Including the servers behind. */
  readonly wholeCpu: Ratio;
  readonly rate: Ratio;
}

export interface Pairing {
  readonly pairs: number;
  readonly sliceMs: number;
  /** The warm-up of each side before the measurement, so that its code is compiled, and its time limit. */
  readonly warmUpRequests: number;
  readonly warmUpMs: number;
}

/** The measurements of one side, slice by slice. */
export type Shown = Pick<Side, 'shown'>;

/** One side of a comparison. */
export class Side {
  readonly shown: Measured[] = [];

  constructor(private readonly measure: () => Promise<Measured>) {}

  async showMore(): Promise<void> {
    this.shown.push(await this.measure());
  }
}

/**
 * Measures sides in turn, slice by slice, and in reverse order in every other round, so that other load on the
 * machine affects all sides equally.
 */
export async function measureInTurn(sides: readonly Side[], rounds: number): Promise<void> {
  for (let round = 0; round < rounds; round += 1) {
    for (const side of round % 2 === 0 ? sides : sides.toReversed()) await side.showMore();
  }
}

/** Compares two sides that were measured in the same rounds, by the ratio within each round. */
export function comparisonOf({ shown: subjects }: Shown, { shown: controls }: Shown): Comparison {
  const ratios = (of: (measured: Measured) => number) =>
    ratioOf(subjects.map((measured, index) => of(measured) / of(controls[index] as Measured)));
  return {
    subject: middle(subjects),
    control: middle(controls),
    cpu: ratios(({ cpuMicros }) => cpuMicros),
    wholeCpu: ratios(wholeCpuMicros),
    rate: ratios(({ perSecond }) => perSecond),
  };
}

export async function compare(
  subject: () => Promise<Measured>,
  control: () => Promise<Measured>,
  pairing: Pick<Pairing, 'pairs'>,
): Promise<Comparison> {
  return comparisonOf(...(await measurePairs(subject, control, pairing)));
}

async function measurePairs(
  subject: () => Promise<Measured>,
  control: () => Promise<Measured>,
  { pairs }: Pick<Pairing, 'pairs'>,
): Promise<readonly [Shown, Shown]> {
  const sides = [new Side(subject), new Side(control)] as const;
  await measureInTurn(sides, pairs);
  return sides;
}

/** Our processes and the servers behind them, as far as their CPU can be seen. */
export function wholeCpuMicros({ cpuMicros, databaseCpuMicros = 0, objectsCpuMicros = 0 }: Measured): number {
  return cpuMicros + databaseCpuMicros + objectsCpuMicros;
}

export interface Server {
  readonly child: Child<{ usage(): Usage }>;
  readonly port: number;
}

/** A server and the requests sent to it. */
export interface Loaded {
  readonly server: Server;
  readonly kind: Slice['kind'];
}

/** Compares two servers under the same load, both warmed up. */
export async function compareServers(
  load: Child<LoadCommands>,
  servers: readonly [Loaded, Loaded],
  pairing: Pairing & { readonly connections: number },
): Promise<Comparison> {
  return comparisonOf(...(await measureServers(load, servers, pairing)));
}

/** Measures two servers under the same load, both warmed up. */
export async function measureServers(
  load: Child<LoadCommands>,
  [subject, control]: readonly [Loaded, Loaded],
  pairing: Pairing & { readonly connections: number },
): Promise<readonly [Shown, Shown]> {
  const { connections, sliceMs, warmUpMs, warmUpRequests } = pairing;
  for (const { server, kind } of [subject, control]) {
    await load.ask('run', { port: server.port, kind, connections, durationMs: warmUpMs, maxRequests: warmUpRequests });
  }
  const measure = ({ server, kind }: Loaded) => measureServer(load, server, { kind, connections, durationMs: sliceMs });
  return measurePairs(
    () => measure(subject),
    () => measure(control),
    pairing,
  );
}

/** One slice of load on one server, with what it cost the server's process a request. */
async function measureServer(load: Child<LoadCommands>, server: Server, slice: Omit<Slice, 'port'>): Promise<Measured> {
  const before = await server.child.ask('usage', undefined);
  const done = await load.ask('run', { ...slice, port: server.port });
  const after = await server.child.ask('usage', undefined);
  return {
    cpuMicros: (after.cpuMicros - before.cpuMicros) / done.requests,
    perSecond: done.requests / (done.elapsedMs / 1_000),
    senderCpuMicros: done.cpuMicros / done.requests,
    p50Micros: done.latencyMicros.p50,
    p99Micros: done.latencyMicros.p99,
  };
}

const OPTIONAL = ['senderCpuMicros', 'p50Micros', 'p99Micros', 'databaseCpuMicros', 'objectsCpuMicros'] as const;

export function middle(measured: readonly Measured[]): Measured {
  const of = (name: keyof Measured) => median(measured.flatMap((one) => one[name] ?? []));
  const known = OPTIONAL.filter((name) => measured.some((one) => one[name] !== undefined));
  return {
    cpuMicros: of('cpuMicros'),
    perSecond: of('perSecond'),
    ...Object.fromEntries(known.map((name) => [name, of(name)])),
  };
}

function ratioOf(ratios: readonly number[]): Ratio {
  return { median: median(ratios), lowerQuartile: percentile(ratios, 0.25), upperQuartile: percentile(ratios, 0.75) };
}
