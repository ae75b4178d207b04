import type { Model } from '../../catalog/model.js';

/** What waits for a place of its model. */
export interface PlaceRequest {
  readonly generationId: string;
  readonly accountId: string;
  /** Of a generation that runs already and lost its worker; absent for one that has yet to start. */
  readonly runDeadlineAt?: number | undefined;
}

export interface Place {
  /** Gives the place back. Giving it back again does nothing. */
  readonly release: () => void;
}

interface Waiter extends PlaceRequest {
  readonly admit: (place: Place) => void;
  readonly refuse: (reason: Error) => void;
}

export type LaneLimits = Pick<Model, 'concurrency' | 'concurrencyPerAccount'>;

/** The waiters of each account, in order of whose turn is next. No list is empty. */
type Line = Map<string, Waiter[]>;

/**
 * The places one model has in this process. Take-overs come before new starts: their run deadline keeps running while
 * they wait. Among take-overs the earliest run deadline comes first, and accounts with equal deadlines take turns. New
 * starts are taken from the accounts in turn, so that an account with a thousand queued generations does not delay
 * another account's first. An account that has its share is skipped, and delays no other.
 */
export class FairSemaphore {
  private running = 0;
  private readonly runningByAccount = new Map<string, number>();
  /** Each account's by run deadline, the earliest first. */
  private readonly takeOvers: Line = new Map();
  /** Each account's in order of arrival. */
  private readonly starts: Line = new Map();

  /** The limits are read whenever a place is given: a new catalog may have changed them. */
  constructor(private readonly limits: () => LaneLimits) {}

  /** A place, once there is one. Give it back exactly once. */
  enter(request: PlaceRequest): Promise<Place> {
    return new Promise((admit, refuse) => {
      this.join({ ...request, admit, refuse });
      this.admitWhoMay();
    });
  }

  /** Has a generation that waits for its start wait as a take-over from now on; does nothing when it does not wait. */
  advance(generationId: string, accountId: string, runDeadlineAt: number): void {
    const waiting = this.starts.get(accountId);
    const index = waiting?.findIndex((waiter) => waiter.generationId === generationId) ?? -1;
    if (waiting === undefined || index < 0) return;
    const [waiter] = waiting.splice(index, 1);
    if (waiting.length === 0) this.starts.delete(accountId);
    if (waiter) this.join({ ...waiter, runDeadlineAt });
  }

  refuseAll(reason: Error): void {
    const waiters = [...this.takeOvers.values(), ...this.starts.values()].flat();
    this.takeOvers.clear();
    this.starts.clear();
    for (const waiter of waiters) waiter.refuse(reason);
  }

  private join(waiter: Waiter): void {
    const { accountId, runDeadlineAt } = waiter;
    const line = runDeadlineAt === undefined ? this.starts : this.takeOvers;
    const waiting = line.get(accountId);
    if (!waiting) line.set(accountId, [waiter]);
    else if (runDeadlineAt === undefined) waiting.push(waiter);
    else waiting.splice(indexAfter(waiting, runDeadlineAt), 0, waiter);
  }

  /**
   * To be called when the limits may have been raised; the semaphore itself checks whenever a generation arrives or
   * leaves.
   */
  admitWhoMay(): void {
    while (this.running < this.limits().concurrency) {
      const waiter = this.nextTakeOver() ?? this.nextStart();
      if (!waiter) return;
      this.running += 1;
      this.count(waiter.accountId, 1);
      waiter.admit({ release: this.releaseOnce(waiter.accountId) });
    }
  }

  /**
   * The earliest run deadline of the accounts with a place to spare; of equal ones, the account whose turn is first.
   */
  private nextTakeOver(): Waiter | undefined {
    let next: Waiter | undefined;
    for (const [accountId, [first]] of this.takeOvers) {
      if (first && this.hasPlaceToSpare(accountId) && deadlineOf(first) < (next ? deadlineOf(next) : Infinity))
        next = first;
    }
    return next && takeTurn(this.takeOvers, next.accountId);
  }

  /** The first account in turn with a place to spare. */
  private nextStart(): Waiter | undefined {
    for (const accountId of this.starts.keys()) {
      if (this.hasPlaceToSpare(accountId)) return takeTurn(this.starts, accountId);
    }
    return undefined;
  }

  private hasPlaceToSpare(accountId: string): boolean {
    return (this.runningByAccount.get(accountId) ?? 0) < this.limits().concurrencyPerAccount;
  }

  private releaseOnce(accountId: string): () => void {
    let isHeld = true;
    return () => {
      if (!isHeld) return;
      isHeld = false;
      this.running -= 1;
      this.count(accountId, -1);
      this.admitWhoMay();
    };
  }

  private count(accountId: string, by: 1 | -1): void {
    const next = (this.runningByAccount.get(accountId) ?? 0) + by;
    if (next === 0) this.runningByAccount.delete(accountId);
    else this.runningByAccount.set(accountId, next);
  }
}

/** Removes the account's first from the queue; the account moves to its end. */
function takeTurn(line: Line, accountId: string): Waiter | undefined {
  const waiting = line.get(accountId) ?? [];
  const waiter = waiting.shift();
  line.delete(accountId);
  if (waiting.length > 0) line.set(accountId, waiting);
  return waiter;
}

function deadlineOf({ runDeadlineAt = Infinity }: PlaceRequest): number {
  return runDeadlineAt;
}

/** The position of one with this deadline: after those that are not later. */
function indexAfter(waiting: readonly Waiter[], runDeadlineAt: number): number {
  let [low, high] = [0, waiting.length];
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (deadlineOf(waiting[middle] as Waiter) <= runDeadlineAt) low = middle + 1;
    else high = middle;
  }
  return low;
}
