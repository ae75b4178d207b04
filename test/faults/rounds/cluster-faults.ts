import { between, type Draw, drawsFrom, shuffled } from '../draws.js';
import type { PostgresUnderFaults } from '../harness/databases.js';
import {
  type Action,
  dealer,
  type Drawn,
  type Fault,
  type Kinds,
  type Performed,
  PROCESSES,
  type Round,
} from './schedule.js';

type ClusterAction = Extract<Action, { readonly to: 'cluster' }>;
type Does = ClusterAction['does'];
type Part = ClusterAction['targets'][number];

/** Longer than the two seconds after which a process considers its database unavailable. */
const PAST_THE_LIMIT_MS = 2_500;
/** How long a former primary runs beside the new primary before it becomes a replica. */
const BESIDE_MS = 1_500;

/** Faults of a primary and its replicas, one at a time, because an operator fails over only while the replicas are running. */
export const CLUSTER_FAULTS: Kinds = {
  'the primary killed': (draw) => cluster('kill', ['primary'], between(draw, 0, 3_000)),
  'a replica killed': (draw) => cluster('kill', ['a replica'], between(draw, 500, 4_000)),
  'all replicas killed': (draw) => cluster('kill', ['replicas'], between(draw, 500, 4_000)),
  'primary and replicas killed': (draw) => cluster('kill', ['primary', 'replicas'], between(draw, 0, 3_000)),
  'the primary frozen': (draw) => cluster('freeze', ['primary'], between(draw, 500, 4_000)),
  'a replica frozen': (draw) => cluster('freeze', ['a replica'], between(draw, 500, 4_000)),
  'all replicas frozen': (draw) => cluster('freeze', ['replicas'], between(draw, 500, 6_000)),
  'primary and replicas frozen': (draw) => cluster('freeze', ['primary', 'replicas'], between(draw, 500, 4_000)),
  'replicas cut off': (draw) => cluster('cut off', ['replicas'], between(draw, 500, 5_000)),
  'failover from a killed primary': (draw) => cluster('fail over, killed', ['primary'], between(draw, 500, 3_000)),
  'failover from a frozen primary': (draw) => cluster('fail over, frozen', ['primary'], between(draw, 500, 3_000)),
  'connections exhausted': (draw) => cluster('exhaust', ['primary'], between(draw, 1_000, 5_000)),
};

/** Kinds that end with another primary. */
export const FAILOVERS = Object.keys(CLUSTER_FAULTS).filter((kind) => kind.startsWith('failover'));

/**
 * Adds a cluster fault to each round, a failover in every second round, and a kill of several processes before, during or after
 * the cluster fault.
 */
export function withClusterFaults(rounds: readonly Round[], seed: number): Round[] {
  const draw = drawsFrom(seed ^ 0x70_67_63_6c);
  const isFailover = (kind: string) => FAILOVERS.includes(kind);
  const part = (is: (kind: string) => boolean) =>
    Object.fromEntries(Object.entries(CLUSTER_FAULTS).filter(([kind]) => is(kind)));
  const [dealFailover, dealOther] = [
    dealer(draw, part(isFailover)),
    dealer(
      draw,
      part((kind) => !isFailover(kind)),
    ),
  ];
  return rounds.map((round) => ({
    ...round,
    faults: [...round.faults, round.number % 2 === 0 ? dealOther() : dealFailover(), killed(draw)],
  }));
}

function killed(draw: Draw): Fault {
  return {
    kind: 'several processes killed',
    action: { to: 'processes', does: 'SIGKILL', targets: shuffled(draw, PROCESSES).slice(0, between(draw, 2, 5)) },
    afterMs: between(draw, 300, 4_000),
    forMs: between(draw, 0, 2_000),
  };
}

function cluster(does: Does, targets: readonly Part[], forMs: number): Drawn {
  return { action: { to: 'cluster', does, targets }, forMs };
}

export async function troubleCluster(
  database: PostgresUnderFaults,
  { does, targets }: ClusterAction,
  pause: (ms: number) => Promise<void>,
): Promise<Performed> {
  const { cluster: servers } = database;
  const { primary } = servers;
  const names = targets.flatMap((part) => namesOf(database, part));
  const all = (act: (name: string) => Promise<void>) => Promise.all(names.map(act));
  const hits = () => names.length;
  switch (does) {
    case 'kill':
      await all((name) => servers.kill(name));
      return { hits, undo: async () => void (await all((name) => servers.restart(name))) };
    case 'freeze':
      await all((name) => servers.freeze(name));
      return { hits, undo: async () => names.forEach((name) => servers.thaw(name)) };
    case 'cut off':
      servers.disconnect(primary);
      return { hits, undo: async () => servers.connect(primary) };
    case 'exhaust': {
      const stranger = await database.exhaust();
      return { hits: () => stranger.held, undo: () => stranger.release() };
    }
    case 'fail over, killed':
      await servers.kill(primary);
      await database.failOver();
      return { hits, undo: () => comeBack(() => servers.restart(primary)) };
    case 'fail over, frozen':
      await servers.freeze(primary);
      await pause(PAST_THE_LIMIT_MS);
      await database.failOver();
      return { hits, undo: () => comeBack(() => servers.thaw(primary)) };
  }

  /** Runs the former primary as a second primary for a while, and then makes it a replica of the new one. */
  async function comeBack(start: () => Promise<void> | void): Promise<void> {
    await start();
    await pause(BESIDE_MS);
    await database.rejoin(primary);
  }
}

function namesOf({ cluster: { primary }, replicas }: PostgresUnderFaults, part: Part): readonly string[] {
  if (part === 'primary') return [primary];
  return part === 'replicas' ? replicas : replicas.slice(0, 1);
}
