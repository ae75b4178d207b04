import { between, type Draw, drawsFrom, oneOf, shuffled } from '../draws.js';
import type { Direction, Toxic } from '../harness/toxiproxy.js';
import type { Trouble } from '../harness/troubled-s3.js';
import type { ReceiverName, ReceiverTrouble } from '../receivers/receivers.js';
import type { VendorName } from '../vendors/vendor-models.js';
import type { VendorTrouble } from '../vendors/vendor-trouble.js';

export const REST = ['rest-1', 'rest-2'] as const;
export const WORKERS = ['worker-1', 'worker-2', 'worker-3'] as const;
export const PROCESSES = [...REST, ...WORKERS] as const;
export type RestName = (typeof REST)[number];
export type ProcessName = (typeof PROCESSES)[number];
export type StoreName = 'database' | 's3';
/** The database of the processes: one MongoDB server, or PostgreSQL servers. */
export type DatabaseName = 'mongo' | 'postgres';

/** The trouble of a link, of a share of its connections. */
interface Poison {
  readonly toxic: Toxic;
  readonly directions: readonly Direction[];
  readonly toxicity: number;
}

/** A fault's action and its targets. Targets of `streams` are the processes that clients follow. */
export type Action =
  | {
      readonly to: 'processes';
      readonly does: 'SIGKILL' | 'SIGTERM' | 'freeze';
      readonly targets: readonly ProcessName[];
    }
  | { readonly to: 'store'; readonly does: 'SIGKILL' | 'freeze'; readonly targets: readonly [StoreName] }
  | {
      readonly to: 'cluster';
      readonly does: 'kill' | 'freeze' | 'cut off' | 'exhaust' | 'fail over, killed' | 'fail over, frozen';
      readonly targets: readonly ('primary' | 'replicas' | 'a replica')[];
    }
  | { readonly to: 's3'; readonly trouble: Trouble; readonly targets: readonly ProcessName[] }
  | { readonly to: 'vendors'; readonly trouble: VendorTrouble; readonly targets: readonly VendorName[] }
  | { readonly to: 'receivers'; readonly trouble: ReceiverTrouble; readonly targets: readonly ReceiverName[] }
  | (Poison & { readonly to: 'links'; readonly store: StoreName; readonly targets: readonly ProcessName[] })
  | (Poison & { readonly to: 'vendor-links'; readonly targets: readonly VendorName[] })
  | (Poison & { readonly to: 'receiver-links'; readonly targets: readonly ReceiverName[] })
  | (Poison & { readonly to: 'streams'; readonly targets: readonly RestName[] });

export interface Fault {
  /** A name in one of the tables of kinds. */
  readonly kind: string;
  readonly action: Action;
  /** Milliseconds from the beginning of the round; it is undone after `forMs`. */
  readonly afterMs: number;
  readonly forMs: number;
}

/** A fault under way. */
export interface Performed {
  /** Hits so far: processes and stores that were struck, requests in trouble, and chunks sent into a bad link. */
  hits(): number;
  /** For a vendor trouble, whether it has hit enough to show something. */
  hasHitEnough?(): boolean;
  /** Removes only this fault. Restarts the processes it ended, if they can start by now. */
  undo(): Promise<void>;
}

export interface Round {
  readonly number: number;
  readonly faults: readonly Fault[];
  /** When, in the round, the poor account's clients send their burst. */
  readonly burstAfterMs: number;
  readonly revokeAfterMs: number;
}

/** A fault without its name and its beginning. */
export type Drawn = Pick<Fault, 'action' | 'forMs'>;
/** Kinds of fault by name. */
export type Kinds = Readonly<Record<string, (draw: Draw) => Drawn>>;

/** Longer than a worker's lease and a claim's, so that another process takes over from one that is still alive. */
const PAST_THE_LEASES_MS = 6_000;
/** In the middle of a round's load. */
const REPLACED_AFTER_MS = 1_500;

const KINDS: Kinds = {
  'a REST process killed': (draw) => processes('SIGKILL', [oneOf(draw, REST)], between(draw, 0, 2_000)),
  'a worker killed': (draw) => processes('SIGKILL', [oneOf(draw, WORKERS)], between(draw, 0, 4_000)),
  'several processes killed': (draw) => processes('SIGKILL', several(draw), between(draw, 0, 2_000)),
  'a REST process stopped': (draw) => processes('SIGTERM', [oneOf(draw, REST)], between(draw, 0, 2_000)),
  'a worker stopped': (draw) => processes('SIGTERM', [oneOf(draw, WORKERS)], between(draw, 0, 2_000)),
  'a REST process frozen': (draw) => processes('freeze', [oneOf(draw, REST)], PAST_THE_LEASES_MS + draw(1_000)),
  'a worker frozen': (draw) => processes('freeze', [oneOf(draw, WORKERS)], PAST_THE_LEASES_MS - 2_000 + draw(2_000)),
  'S3 killed': (draw) => store('SIGKILL', 's3', between(draw, 0, 3_000)),
  'a link slowed': (draw) =>
    links(draw, { type: 'latency', attributes: { latency: between(draw, 50, 800), jitter: 50 } }, 4_000),
  'a link narrowed': (draw) => links(draw, { type: 'bandwidth', attributes: { rate: between(draw, 1, 20) } }, 4_000),
  'a link cut': (draw) => links(draw, { type: 'reset_peer', attributes: { timeout: draw(300) } }, 3_000),
  'a link black-holed': (draw) => links(draw, { type: 'timeout', attributes: { timeout: 0 } }, 5_000),
  'a link that ends early': (draw) =>
    links(draw, { type: 'limit_data', attributes: { bytes: between(draw, 500, 20_000) } }, 4_000),
  'S3 asks to slow down': (draw) => trouble(draw, 'slow-down', usersOfS3(draw)),
  'S3 fails': (draw) => trouble(draw, 'internal-error', usersOfS3(draw)),
  // REST processes do not send bodies to the store: clients do, at its own address.
  'S3 takes half': (draw) => trouble(draw, 'half-requests', oneOrAll(draw, WORKERS)),
  // Reads are rare, so the fault affects all processes.
  'S3 gives half': (draw) => trouble(draw, 'half-answers', PROCESSES),
};

/** Faults of a database with one server; cluster-faults.ts has those of several servers. */
const SERVER_KINDS: Kinds = {
  'MongoDB killed': (draw) => store('SIGKILL', 'database', between(draw, 0, 3_000)),
  'MongoDB frozen': (draw) => store('freeze', 'database', between(draw, 500, 4_000)),
};

const KINDS_ON: Readonly<Record<DatabaseName, Kinds>> = { mongo: { ...KINDS, ...SERVER_KINDS }, postgres: KINDS };

/** Fault kinds of processes and stores. */
export function faultKinds(database: DatabaseName): readonly string[] {
  return Object.keys(KINDS_ON[database]);
}

/** Gives this fault its name and its beginning. */
export function begun(draw: Draw, kind: string, drawn: Drawn): Fault {
  return { kind, ...drawn, afterMs: between(draw, 300, 2_000) };
}

/**
 * Deals kinds like cards, so that a run of enough rounds has each of them: a fault that happens not to be drawn proves
 * nothing.
 */
export function dealer(draw: Draw, kinds: Kinds): () => Fault {
  let deck: [string, Kinds[string]][] = [];
  return () => {
    if (deck.length === 0) deck = shuffled(draw, Object.entries(kinds));
    const [kind, drawn] = deck.pop() as (typeof deck)[number];
    return begun(draw, kind, drawn(draw));
  };
}

/** The rounds of one seed, each with one to three faults that overlap, all of different kinds. */
export function drawRounds(seed: number, count: number, database: DatabaseName = 'mongo'): Round[] {
  const draw = drawsFrom(seed);
  const deal = dealer(draw, KINDS_ON[database]);
  return Array.from({ length: count }, (_, index) => {
    const dealt = Array.from({ length: between(draw, 1, 3) }, deal);
    const faults = [...new Map(dealt.map((fault) => [fault.kind, fault])).values()];
    return {
      number: index + 1,
      faults,
      burstAfterMs: between(draw, 200, 3_000),
      revokeAfterMs: between(draw, 200, 3_000),
    };
  });
}

/** The processes that an upgrade replaces with the other build in every round. */
const REPLACED = [
  ['a REST process stopped', 'rest-2'],
  ['a worker stopped', 'worker-3'],
] as const;

/** The same rounds in the middle of an upgrade: in each, two processes are stopped gracefully to be replaced. */
export function withReplacements(rounds: readonly Round[]): Round[] {
  const faults = REPLACED.map(([kind, name]): Fault => ({
    kind,
    action: { to: 'processes', does: 'SIGTERM', targets: [name] },
    afterMs: REPLACED_AFTER_MS,
    forMs: 0,
  }));
  return rounds.map((round) => ({ ...round, faults: [...faults, ...round.faults] }));
}

/** A round in one line, for a human reader. */
export function describeRound({ number, faults }: Round): string {
  return `round ${number}: ${faults.map(({ kind, action, afterMs, forMs }) => `${kind} (${describeTargets(action)}) from ${afterMs} ms for ${forMs} ms`).join('; ')}`;
}

function describeTargets(action: Action): string {
  const targets = `${'store' in action ? `${action.store} of ` : ''}${action.targets.join(', ')}`;
  if (!('toxic' in action)) return targets;
  const { toxic, directions, toxicity } = action;
  const share = toxicity === 1 ? '' : ` on ${toxicity} of the connections`;
  return `${targets}, ${directions.join(' and ')}, ${JSON.stringify(toxic.attributes)}${share}`;
}

function processes(does: 'SIGKILL' | 'SIGTERM' | 'freeze', names: readonly ProcessName[], forMs: number): Drawn {
  return { action: { to: 'processes', does, targets: names }, forMs };
}

function store(does: 'SIGKILL' | 'freeze', name: StoreName, forMs: number): Drawn {
  return { action: { to: 'store', does, targets: [name] }, forMs };
}

function several(draw: Draw): ProcessName[] {
  return shuffled(draw, PROCESSES).slice(0, between(draw, 2, PROCESSES.length));
}

/** The toxic, in one direction or both. */
export function poisonOf(draw: Draw, toxic: Toxic, toxicity: number): Poison {
  const directions = oneOf<readonly Direction[]>(draw, [['upstream'], ['downstream'], ['upstream', 'downstream']]);
  return { toxic, directions, toxicity };
}

/** The links of one process to a store, or of all processes. */
function links(draw: Draw, toxic: Toxic, atMostMs: number): Drawn {
  const poison = poisonOf(draw, toxic, 1);
  const to = oneOf<StoreName>(draw, ['database', 's3']);
  const whom = to === 's3' ? usersOfS3(draw) : oneOrAll(draw, PROCESSES);
  return {
    action: { to: 'links', store: to, targets: whom, ...poison },
    forMs: between(draw, 1_000, atMostMs),
  };
}

function trouble(draw: Draw, what: Trouble, whom: readonly ProcessName[]): Drawn {
  return { action: { to: 's3', trouble: what, targets: whom }, forMs: between(draw, 2_000, 4_000) };
}

/** A REST process calls S3 so rarely that a fault on one alone would hardly be noticed. */
function usersOfS3(draw: Draw): readonly ProcessName[] {
  return draw(2) === 0 ? PROCESSES : [oneOf(draw, WORKERS)];
}

function oneOrAll(draw: Draw, whom: readonly [ProcessName, ...ProcessName[]]): readonly ProcessName[] {
  return draw(2) === 0 ? whom : [oneOf(draw, whom)];
}
