import type { Child } from './child.js';
import type { LoadCommands, Slice } from './load/generator.js';
import type { RequestKind } from './load/requests.js';
import { median, percentile } from './statistics.js';
import type { Usage } from './usage.js';

/** What one slice showed of one side. */
export interface Measured {
  readonly cpuMicros: number;
  readonly perSecond: number;
  /** What one request cost the load generator, where there was one. */
  readonly senderCpuMicros?: number;
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
  readonly rate: Ratio;
}

export interface Pairing {
  readonly pairs: number;
  readonly sliceMs: number;
  /** What each side is given before anything counts, so that its code is compiled; and the longest that may take. */
  readonly warmUpRequests: number;
  readonly warmUpMs: number;
}

/**
 * Measures two sides in turn, slice by slice, the first of each pair alternating: whatever else the machine does meets
 * both alike, and the ratio within a pair is what is kept.
 */
export async function compare(subject: () => Promise<Measured>, control: () => Promise<Measured>, { pairs }: Pick<Pairing, 'pairs'>): Promise<Comparison> {
  const subjects: Measured[] = [];
  const controls: Measured[] = [];
  for (let index = 0; index < pairs; index += 1) {
    if (index % 2 === 0) subjects.push(await subject());
    controls.push(await control());
    if (index % 2 === 1) subjects.push(await subject());
  }
  const ratios = (of: 'cpuMicros' | 'perSecond') => ratioOf(subjects.map((measured, index) => measured[of] / (controls[index]?.[of] ?? Number.NaN)));
  return { subject: middle(subjects), control: middle(controls), cpu: ratios('cpuMicros'), rate: ratios('perSecond') };
}

export interface Server {
  readonly child: Child<{ usage(): Usage }>;
  readonly port: number;
}

/** A server and what it is asked for. */
export interface Loaded {
  readonly server: Server;
  readonly kind: RequestKind;
}

/** Compares two servers under the same load, both warmed up. */
export async function compareServers(load: Child<LoadCommands>, [subject, control]: readonly [Loaded, Loaded], pairing: Pairing & { readonly connections: number }): Promise<Comparison> {
  const { connections, sliceMs, warmUpMs, warmUpRequests } = pairing;
  for (const { server, kind } of [subject, control]) {
    await load.ask('run', { port: server.port, kind, connections, durationMs: warmUpMs, maxRequests: warmUpRequests });
  }
  const measure = ({ server, kind }: Loaded) => measureServer(load, server, { kind, connections, durationMs: sliceMs });
  return compare(() => measure(subject), () => measure(control), pairing);
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
  };
}

function middle(measured: readonly Measured[]): Measured {
  const sender = measured.flatMap(({ senderCpuMicros = [] }) => senderCpuMicros);
  return {
    cpuMicros: median(measured.map(({ cpuMicros }) => cpuMicros)),
    perSecond: median(measured.map(({ perSecond }) => perSecond)),
    ...(sender.length === 0 ? {} : { senderCpuMicros: median(sender) }),
  };
}

function ratioOf(ratios: readonly number[]): Ratio {
  return { median: median(ratios), lowerQuartile: percentile(ratios, 0.25), upperQuartile: percentile(ratios, 0.75) };
}
