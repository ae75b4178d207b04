import type { Child } from './child.js';
import type { Measured, Server } from './compare.js';
import type { LoadCommands, Slice, SliceDone } from './load/generator.js';
import { serversCpu, type StoreServers } from './servers/store-servers.js';
import type { Usage } from './usage.js';

/** Processes of one installation that are measured as one. */
export interface Fleet<S extends Server = Server> {
  /** Requests go to these in turn. */
  readonly fronts: readonly S[];
  /** Work beside them, and take no requests. */
  readonly workers?: readonly Child<{ usage(): Usage }>[];
  /** Behind them; none for a program that has its database in itself. */
  readonly stores?: Pick<StoreServers, 'usage'>;
}

export interface FleetUse {
  readonly ours: number;
  readonly servers: ReturnType<StoreServers['usage']>;
}

export async function fleetUse({ fronts, workers = [], stores }: Fleet): Promise<FleetUse> {
  const children = [...fronts.map(({ child }) => child), ...workers];
  const used = await Promise.all(children.map((child) => child.ask('usage', undefined)));
  return {
    ours: used.reduce((sum, { cpuMicros }) => sum + cpuMicros, 0),
    servers: stores?.usage() ?? { database: undefined, objects: undefined },
  };
}

/** The CPU time used between two samples, per operation. */
export function spentBetween(before: FleetUse, after: FleetUse, count: number): Omit<Measured, 'perSecond'> {
  return { cpuMicros: (after.ours - before.ours) / count, ...serversCpu(before.servers, after.servers, count) };
}

/** One slice of load on all fronts at once, with the connections distributed evenly among them. */
export async function loadFleet(
  load: Child<LoadCommands>,
  { fronts }: Fleet,
  slice: Omit<Slice, 'port'>,
): Promise<Omit<SliceDone, 'latencyMicros'>> {
  const share = (whole: number, index: number) => Math.floor((whole + fronts.length - 1 - index) / fronts.length);
  const slices = await Promise.all(
    fronts.map(({ port }, index) =>
      load.ask('run', {
        ...slice,
        port,
        connections: share(slice.connections, index),
        ...(slice.maxRequests === undefined ? {} : { maxRequests: share(slice.maxRequests, index) }),
      }),
    ),
  );
  return {
    requests: slices.reduce((sum, { requests }) => sum + requests, 0),
    elapsedMs: Math.max(...slices.map(({ elapsedMs }) => elapsedMs)),
    beganAtMicros: Math.min(...slices.map(({ beganAtMicros }) => beganAtMicros)),
    // Each of them saw the sender's whole process, over the same time.
    cpuMicros: Math.max(...slices.map(({ cpuMicros }) => cpuMicros)),
    marks: slices.flatMap(({ marks }) => marks),
  };
}

/** The same, as what one side showed: how many were answered, and what each of them cost. */
export async function measureFleet(
  load: Child<LoadCommands>,
  fleet: Fleet,
  slice: Omit<Slice, 'port'>,
): Promise<Measured & { readonly requests: number }> {
  const before = await fleetUse(fleet);
  const done = await loadFleet(load, fleet, slice);
  const after = await fleetUse(fleet);
  return {
    ...spentBetween(before, after, done.requests),
    requests: done.requests,
    perSecond: done.requests / (done.elapsedMs / 1_000),
    senderCpuMicros: done.cpuMicros / done.requests,
  };
}
