import type { Child } from './child.js';
import { comparisonOf, Side, type Measured } from './compare.js';
import { fleetUse, loadFleet, spentBetween, type Fleet } from './fleet.js';
import type { Mark } from './load/generator.js';
import { micros, ratioText, whole, type Line } from './report.js';
import type { Run, Subject } from './run.js';
import { createRequests } from './servers/sample.js';
import type { CommandCounts, SlowDatabaseCommands } from './servers/slow-database.js';
import { median, percentile } from './statistics.js';

/** Long enough for the quick database behind, and the program's own work, to be little beside it. */
export const DELAY_MS = 200;
const SLICE_MS = 20 * DELAY_MS;
const LEAST_TOLD = 0.05;
const LINKS = ['fronts', 'workers'] as const;

/** REST processes and workers on a database with added latency. */
export interface SlowFleet extends Fleet<Subject> {
  readonly workers: readonly Subject['child'][];
  readonly database: Child<SlowDatabaseCommands>;
  /** The prefix of the names of its links. */
  readonly name: string;
}

/** The measurements of one slice, in addition to its cost. */
interface SlowShown {
  /** Commands per operation. */
  readonly writes: number;
  readonly reads: number;
  /** Account writes that lost to another process, per operation. */
  readonly conflicts: number;
  /** Commands per operation, by kind of process, command and collection. */
  readonly named: Readonly<Record<string, number>>;
}

export interface SlowCase {
  /** The measured stage and the subject of the measurement. */
  readonly stage: string;
  readonly what: string;
  readonly fleet: SlowFleet;
  /** Clients of each REST process, each with one request at a time. */
  readonly clients: number;
  readonly nextSecrets: () => readonly string[];
  /** Resolves when each generation has reached the measured stage. */
  readonly untilDone: (marks: readonly Mark[]) => Promise<ReadonlyMap<string, number>>;
}

export function linkOf({ name }: Pick<SlowFleet, 'name'>, link: (typeof LINKS)[number]): string {
  return `${name} ${link}`;
}

/**
 * One side of a comparison. Each REST process has this number of clients, so that more processes receive more
 * requests.
 */
export class SlowSide extends Side {
  readonly more: SlowShown[] = [];

  constructor(
    run: Run,
    readonly of: SlowCase,
  ) {
    super(async () => {
      const { measured, ...more } = await measureSlowly(run, of);
      this.more.push(more);
      return measured;
    });
  }

  middle(of: Exclude<keyof SlowShown, 'named'>): number {
    return median(this.more.map((shown) => shown[of]));
  }

  /** The average numbers of the commands that are frequent enough to be reported. */
  named(): Record<string, number> {
    const names = [...new Set(this.more.flatMap(({ named }) => Object.keys(named)))].toSorted();
    const means = names.map((name) => [
      name,
      this.more.reduce((sum, { named }) => sum + (named[name] ?? 0), 0) / this.more.length,
    ]);
    return Object.fromEntries(means.filter(([, mean]) => Number(mean) >= LEAST_TOLD)) as Record<string, number>;
  }
}

async function measureSlowly(run: Run, one: SlowCase): Promise<SlowShown & { readonly measured: Measured }> {
  const { fleet } = one;
  const counted = async () => ({
    use: await fleetUse(fleet),
    commands: await commandsOf(fleet),
    conflicts: await conflictsOf(fleet),
  });
  const before = await counted();
  const { marks, ...done } = await loadFleet(run.load, fleet, {
    kind: createRequests(...one.nextSecrets()),
    connections: one.clients * fleet.fronts.length,
    durationMs: SLICE_MS,
    isMarked: true,
  });
  const doneAt = await one.untilDone(marks);
  const after = await counted();
  const times = marks.map(({ generationId, sentAtMicros }) => (doneAt.get(generationId) ?? Number.NaN) - sentAtMicros);
  const lastAtMicros = Math.max(...doneAt.values());
  return {
    measured: {
      ...spentBetween(before.use, after.use, done.requests),
      perSecond: done.requests / ((lastAtMicros - done.beganAtMicros) / 1_000_000),
      senderCpuMicros: done.cpuMicros / done.requests,
      p50Micros: percentile(times, 0.5),
      p99Micros: percentile(times, 0.99),
    },
    writes: (after.commands.writes - before.commands.writes) / done.requests,
    reads: (after.commands.reads - before.commands.reads) / done.requests,
    conflicts: (after.conflicts - before.conflicts) / done.requests,
    named: Object.fromEntries(
      Object.entries(after.commands.named).map(([name, count]) => [
        name,
        (count - (before.commands.named[name] ?? 0)) / done.requests,
      ]),
    ),
  };
}

/** The totals of all links of the fleet. */
export async function commandsOf(fleet: SlowFleet): Promise<CommandCounts> {
  const counts = await Promise.all(LINKS.map((link) => fleet.database.ask('counts', { link: linkOf(fleet, link) })));
  return {
    writes: counts.reduce((sum, { writes }) => sum + writes, 0),
    reads: counts.reduce((sum, { reads }) => sum + reads, 0),
    named: Object.fromEntries(
      counts.flatMap(({ named }, index) =>
        Object.entries(named).map(([name, count]) => [`${LINKS[index]}: ${name}`, count]),
      ),
    ),
  };
}

async function conflictsOf({ fronts, workers }: SlowFleet): Promise<number> {
  const children = [...fronts.map(({ child }) => child), ...workers];
  const counts = await Promise.all(children.map((child) => child.ask('accountWrites', undefined)));
  return counts.reduce((sum, { conflicts }) => sum + conflicts, 0);
}

export function titleOf({ of: { stage, what } }: SlowSide): string {
  return `${stage}, ${what}`;
}

export function besideText(side: SlowSide, control: SlowSide): string {
  return `${titleOf(side)} not ${control.of.what}`;
}

/** A side beside its control: rates and CPU as ratios, times as multiples of the delay. */
export function slowLines(side: SlowSide, control: SlowSide, unit: string): Line[] {
  const { subject, control: other, cpu, rate } = comparisonOf(side, control);
  const what = besideText(side, control);
  return [
    {
      what: `${what}: ${unit}s/s`,
      measured: whole(subject.perSecond),
      control: whole(other.perSecond),
      ratio: ratioText(rate),
    },
    {
      what: `${what}: CPU a ${unit}`,
      measured: micros(subject.cpuMicros),
      control: micros(other.cpuMicros),
      ratio: ratioText(cpu),
    },
    { what: `${what}: p50 and p99, in delays`, measured: delays(subject), control: delays(other) },
    {
      what: `${what}: writes + reads of the database a ${unit}`,
      measured: commandsText(side),
      control: commandsText(control),
    },
    {
      what: `${what}: account writes lost to others a ${unit}`,
      measured: side.middle('conflicts').toFixed(2),
      control: control.middle('conflicts').toFixed(2),
    },
  ];
}

/** The database commands per operation. */
export function namedLines(side: SlowSide): Line[] {
  return Object.entries(side.named()).map(([name, count]) => ({
    what: `${titleOf(side)}: ${name}`,
    measured: count.toFixed(2),
  }));
}

export function slowFigures(side: SlowSide, control: SlowSide): object {
  const of = (one: SlowSide) => ({
    writes: one.middle('writes'),
    reads: one.middle('reads'),
    conflicts: one.middle('conflicts'),
  });
  return { delayMs: DELAY_MS, ...comparisonOf(side, control), subjectMore: of(side), controlMore: of(control) };
}

function delays({ p50Micros = Number.NaN, p99Micros = Number.NaN }: Measured): string {
  return [p50Micros, p99Micros].map((time) => (time / 1_000 / DELAY_MS).toFixed(1)).join(', ');
}

function commandsText(side: SlowSide): string {
  return `${side.middle('writes').toFixed(1)} + ${side.middle('reads').toFixed(1)}`;
}
