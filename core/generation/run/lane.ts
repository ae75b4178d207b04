import type { Model } from '../../catalog/model.js';

/** What waits for a place of its model. */
export interface PlaceRequest {
  readonly generationId: string;
  readonly accountId: string;
  /** Of a generation that runs already and lost its worker; absent for one that has yet to start. */
  readonly runDeadlineAt?: number | undefined;
  /** Names of the connected providers one of which it needs; empty for one that submits nothing. */
  readonly providers: readonly string[];
}

export type LaneLimits = Pick<Model, 'concurrency' | 'concurrencyPerAccount'>;

/** Which waiters may have a place, apart from the limits of the lane. */
export type Eligible<W> = (waiter: W) => boolean;

/** The waiters of each account, in order of whose turn is next. No list is empty. */
type Line<W> = Map<string, W[]>;

/** How many accounts whose first generation cannot go on are skipped before the line waits for them. */
const MAX_SKIPPED = 100;

/**
 * The places one model has in this process, and who waits for them. What submits nothing comes first: its result may be
 * there already. Take-overs come before new starts: their run deadline keeps running while they wait. Among take-overs the
 * earliest run deadline comes first, and accounts with equal deadlines take turns. New starts are taken from the accounts
 * in turn, so that an account with a thousand queued generations does not delay another account's first. An account that
 * has its share is skipped, and delays no other.
 */
export class Lane<W extends PlaceRequest> {
  private running = 0;
  private readonly runningByAccount = new Map<string, number>();
  /** Those that submit nothing, each account's by run deadline. */
  private readonly finishing: Line<W> = new Map();
  /** Each account's by run deadline, the earliest first. */
  private readonly takeOvers: Line<W> = new Map();
  /** Each account's in order of arrival. */
  private readonly starts: Line<W> = new Map();

  /** The limits are read whenever a place is given: a new catalog may have changed them. */
  constructor(private readonly limits: () => LaneLimits) {}

  join(waiter: W): void {
    const { accountId, runDeadlineAt } = waiter;
    const line = this.lineOf(waiter);
    const waiting = line.get(accountId);
    if (!waiting) line.set(accountId, [waiter]);
    else if (line === this.starts) waiting.push(waiter);
    else waiting.splice(indexAfter(waiting, runDeadlineAt), 0, waiter);
  }

  /** Removes one that waits. */
  leave(waiter: W): void {
    const line = this.lineOf(waiter);
    const waiting = line.get(waiter.accountId);
    const index = waiting?.indexOf(waiter) ?? -1;
    if (waiting === undefined || index < 0) return;
    waiting.splice(index, 1);
    if (waiting.length === 0) line.delete(waiter.accountId);
  }

  /** Whether nobody waits to start, and the account could have one more place. */
  hasPlaceFor(accountId: string): boolean {
    return this.starts.size === 0 && this.hasPlace() && this.hasPlaceToSpare(accountId);
  }

  /** The next of those that submit nothing. */
  nextFinishing(): W | undefined {
    return this.earliest(this.finishing, () => true);
  }

  /** The earliest run deadline of the accounts with a place to spare; of equal ones, the account whose turn is first. */
  nextTakeOver(isEligible: Eligible<W>): W | undefined {
    return this.earliest(this.takeOvers, isEligible);
  }

  /** The first account in turn with a place to spare. */
  nextStart(isEligible: Eligible<W>): W | undefined {
    if (!this.hasPlace()) return undefined;
    let skipped = 0;
    for (const [accountId, [first]] of this.starts) {
      if (first === undefined || !this.hasPlaceToSpare(accountId)) continue;
      if (isEligible(first)) return first;
      if ((skipped += 1) === MAX_SKIPPED) return undefined;
    }
    return undefined;
  }

  /** Gives a place to one that is next; its account moves to the end of the line. Answers how to give the place back. */
  admit(waiter: W): () => void {
    const { accountId } = waiter;
    takeTurn(this.lineOf(waiter), accountId);
    this.running += 1;
    this.count(accountId, 1);
    let isHeld = true;
    return () => {
      if (!isHeld) return;
      isHeld = false;
      this.running -= 1;
      this.count(accountId, -1);
    };
  }

  /** Those for which there are places: they wait for a provider alone. In no particular order. */
  heldUp(): readonly W[] {
    const held: W[] = [];
    const left = this.limits().concurrency - this.running;
    const spare = new Map<string, number>();
    for (const line of [this.takeOvers, this.starts]) {
      for (const [accountId, waiting] of line) {
        if (held.length >= left) return held;
        const share = spare.get(accountId) ?? this.limits().concurrencyPerAccount - this.runningBy(accountId);
        const those = waiting.slice(0, Math.max(0, Math.min(share, left - held.length)));
        spare.set(accountId, share - those.length);
        held.push(...those);
      }
    }
    return held;
  }

  private earliest(line: Line<W>, isEligible: Eligible<W>): W | undefined {
    let next: W | undefined;
    if (line.size === 0 || !this.hasPlace()) return undefined;
    for (const [accountId, [first]] of line) {
      if (first === undefined || !this.hasPlaceToSpare(accountId) || !isEligible(first)) continue;
      if (next === undefined || deadlineOf(first) < deadlineOf(next)) next = first;
    }
    return next;
  }

  private lineOf({ providers, runDeadlineAt }: W): Line<W> {
    if (providers.length === 0) return this.finishing;
    return runDeadlineAt === undefined ? this.starts : this.takeOvers;
  }

  private hasPlace(): boolean {
    return this.running < this.limits().concurrency;
  }

  private hasPlaceToSpare(accountId: string): boolean {
    return this.runningBy(accountId) < this.limits().concurrencyPerAccount;
  }

  private runningBy(accountId: string): number {
    return this.runningByAccount.get(accountId) ?? 0;
  }

  private count(accountId: string, by: 1 | -1): void {
    const next = this.runningBy(accountId) + by;
    if (next === 0) this.runningByAccount.delete(accountId);
    else this.runningByAccount.set(accountId, next);
  }
}

/** Removes the account's first from the line; the account moves to its end. */
function takeTurn<W>(line: Line<W>, accountId: string): void {
  const waiting = line.get(accountId) ?? [];
  waiting.shift();
  line.delete(accountId);
  if (waiting.length > 0) line.set(accountId, waiting);
}

export function deadlineOf({ runDeadlineAt = Infinity }: Pick<PlaceRequest, 'runDeadlineAt'>): number {
  return runDeadlineAt;
}

/** The position of one with this deadline: after those that are not later. */
function indexAfter(waiting: readonly PlaceRequest[], runDeadlineAt = Infinity): number {
  let [low, high] = [0, waiting.length];
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (deadlineOf(waiting[middle] as PlaceRequest) <= runDeadlineAt) low = middle + 1;
    else high = middle;
  }
  return low;
}
