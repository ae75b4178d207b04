import type { Settings } from '../settings.js';

/** A request that waits for the answer to a create. */
export interface Wait {
  /** Boot id of the process that the request waits in. */
  readonly bootId: string;
  /** Differs from that of every other wait of this process. */
  readonly number: number;
}

/** A create that requests with one fingerprint have in common. */
export interface SharedCreate {
  /** Its idempotency key. */
  readonly key: string;
  readonly createdAt: number;
  /** The requests that wait for its answer. */
  readonly waits: readonly Wait[];
  /** When an answer was written completely for the last time; absent while it has reached nobody. */
  readonly deliveredAt?: number;
  /** Whether that answer was an error. */
  readonly isFailure?: true;
  /** When the generation ends at the latest; absent where it had ended when that answer was written. */
  readonly endsBy?: number;
}

/**
 * The creates that were requested with one fingerprint: a digest of the credential, the path, the fields and the files of a
 * request. Clients repeat requests silently, and a repeated request must not buy again.
 */
export interface Fingerprint {
  /** 64 hexadecimal digits. */
  readonly fingerprint: string;
  readonly accountId: string;
  /** Starts anywhere, 1 to 2^48, so that a record that was removed and made again has another version. */
  readonly version: number;
  /** Oldest first. */
  readonly creates: readonly SharedCreate[];
  readonly removeAt: number;
}

/** Shows that a process is alive, so that the waits which name its boot count. */
export interface ProcessLease {
  readonly bootId: string;
  /** Grows with each renewal. */
  readonly renewals: number;
  /** By the clock of that process. */
  readonly renewedAt: number;
  readonly removeAt: number;
}

/**
 * How long a record lives after its last write at least, in milliseconds: a write that was given up may still arrive, and must
 * find a newer version then.
 */
const LATE_WRITE_MS = 300_000;

/** How long after the end of a generation an equal request is matched with its create, in milliseconds. */
export const MATCH_AFTER_END_MS = 600_000;

/**
 * The state of a create. `none`: its key is not claimed, or the claim was given up; `begun`: its key is claimed, and it has
 * no generation yet; `over`: its generation was deleted, or ended too long ago to be matched.
 */
export type CreateState = 'none' | 'begun' | 'open' | 'succeeded' | 'failed' | 'over';

/** What is known beside the record itself. */
export interface Facts {
  readonly now: number;
  /** Whether a wait's process lives. */
  readonly isAlive: (wait: Wait) => boolean;
  readonly stateOf: (create: SharedCreate) => CreateState;
}

/** The generation of an answer: whether it has failed, and when it ends at the latest, if it has not ended. */
export interface Answered {
  readonly isFailure: boolean;
  readonly endsBy?: number;
}

/** A change of a record that one request makes. */
export type Change =
  /** A request arrives. `key` is that of the create, if it becomes a new one. */
  | { readonly kind: 'begin'; readonly wait: Wait; readonly isRetry: boolean; readonly key: string }
  /** The answer to a request was written completely. `key` is that of its create, whose wait may be gone. */
  | ({ readonly kind: 'deliver'; readonly wait: Wait; readonly key: string } & Answered)
  /** The client has disconnected before the whole answer was written, or the answer was cut. */
  | { readonly kind: 'leave'; readonly wait: Wait }
  /** The request was refused before its create. `key` is that of the create, if it was a new one. */
  | { readonly kind: 'withdraw'; readonly wait: Wait; readonly key?: string };

/** The creates of a record after a change; for `begin` also the key of the create that the request waits for. */
export interface Changed {
  readonly creates: readonly SharedCreate[];
  readonly key?: string;
}

/**
 * Applies the change of one request. One that begins is given, in this order: the oldest create whose answer has reached
 * nobody and that nobody waits for, preferably one with a generation, or else one that was begun; if the request says that
 * it is a retry, a create that somebody waits for and that nobody has received as a failure, or else the one that was
 * delivered last and has not failed; a new create.
 */
export function change(creates: readonly SharedCreate[], made: Change, facts: Facts): Changed {
  switch (made.kind) {
    case 'begin':
      return begin(creates, made, facts);
    case 'deliver':
      return {
        creates: creates.map((create) => (create.key === made.key ? delivered(create, made, facts.now) : create)),
      };
    case 'leave':
      return { creates: creates.map((create) => without(create, made.wait)) };
    case 'withdraw':
      return {
        creates: creates.flatMap((create) => {
          const left = without(create, made.wait);
          // The request that brought it here may still create, even if its process was taken for dead.
          const isUnused = create.key === made.key && isUnheard(left, facts) && facts.stateOf(create) === 'none';
          return isUnused ? [] : [left];
        }),
      };
  }
}

function begin(
  creates: readonly SharedCreate[],
  { wait, isRetry, key }: Extract<Change, { kind: 'begin' }>,
  facts: Facts,
): Changed {
  const found = findUnheard(creates, facts) ?? (isRetry ? findRepeatable(creates, facts) : undefined);
  if (found !== undefined) {
    const joined: SharedCreate = { ...found, waits: [...found.waits, wait] };
    return { creates: creates.map((create) => (create === found ? joined : create)), key: found.key };
  }
  return { creates: [...creates, { key, createdAt: facts.now, waits: [wait] }], key };
}

/** One that is paid for, or else one that may be, or else one whose process died before its create. */
function findUnheard(creates: readonly SharedCreate[], facts: Facts): SharedCreate | undefined {
  const unheard = creates.filter((create) => isUnheard(create, facts) && facts.stateOf(create) !== 'over');
  const first = (states: readonly CreateState[]) => unheard.find((create) => states.includes(facts.stateOf(create)));
  return first(['open', 'succeeded', 'failed']) ?? first(['begun']) ?? unheard[0];
}

/** Whether nobody has the answer to a create, and nobody waits for it. */
export function isUnheard({ deliveredAt, waits }: SharedCreate, { isAlive }: Pick<Facts, 'isAlive'>): boolean {
  return deliveredAt === undefined && !waits.some(isAlive);
}

function findRepeatable(creates: readonly SharedCreate[], facts: Facts): SharedCreate | undefined {
  // A failure that somebody has is not given again, though others still wait for it.
  const waitedFor = creates.find(({ isFailure, waits }) => isFailure !== true && waits.some(facts.isAlive));
  if (waitedFor !== undefined) return waitedFor;
  const last = lastDelivered(creates);
  return last !== undefined && ['open', 'succeeded'].includes(facts.stateOf(last)) ? last : undefined;
}

/** The create that was delivered last as a success. */
export function lastDelivered(creates: readonly SharedCreate[]): SharedCreate | undefined {
  return creates
    .filter(({ deliveredAt, isFailure }) => deliveredAt !== undefined && isFailure !== true)
    .reduce<SharedCreate | undefined>(
      (last, create) => (last === undefined || (create.deliveredAt ?? 0) >= (last.deliveredAt ?? 0) ? create : last),
      undefined,
    );
}

function delivered(
  create: SharedCreate,
  { wait, isFailure, endsBy }: Extract<Change, { kind: 'deliver' }>,
  now: number,
): SharedCreate {
  const { key, createdAt, waits } = without(create, wait);
  const answered = { ...(isFailure ? { isFailure } : {}), ...(endsBy === undefined ? {} : { endsBy }) };
  return { key, createdAt, waits, deliveredAt: now, ...answered };
}

function isWaitedForBy({ waits }: SharedCreate, wait: Wait): boolean {
  return waits.some((one) => isSame(one, wait));
}

function without(create: SharedCreate, wait: Wait): SharedCreate {
  if (!isWaitedForBy(create, wait)) return create;
  return { ...create, waits: create.waits.filter((one) => !isSame(one, wait)) };
}

function isSame(one: Wait, other: Wait): boolean {
  return one.number === other.number && one.bootId === other.bootId;
}

/** The creates that a later request may still be given, without the waits of dead processes. */
export function pruned(creates: readonly SharedCreate[], facts: Facts): readonly SharedCreate[] {
  const last = lastDelivered(creates);
  return creates.flatMap((create) => {
    const waits = create.waits.every(facts.isAlive) ? create.waits : create.waits.filter(facts.isAlive);
    if (waits.length > 0) return [waits === create.waits ? create : { ...create, waits }];
    if (create !== last && create.deliveredAt !== undefined) return [];
    return facts.stateOf(create) === 'over' ? [] : [{ ...create, waits }];
  });
}

/**
 * When a record is no longer needed: a create that was delivered, for as long as its generation may be matched; any other
 * for the replay window of its key.
 */
export function removeAtOf(creates: readonly SharedCreate[], now: number, settings: Settings): number {
  const times = creates.map(({ deliveredAt, endsBy = deliveredAt, waits, createdAt }) =>
    endsBy !== undefined && waits.length === 0 ? endsBy + MATCH_AFTER_END_MS : createdAt + settings.replayWindowMs,
  );
  return Math.max(now + LATE_WRITE_MS, ...times);
}
