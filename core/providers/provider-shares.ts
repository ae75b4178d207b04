import type { Clock } from '../ports/machine.js';
import type { Ports } from '../ports/ports.js';
import { MAX_CLOCK_SKEW_MS } from '../settings.js';
import {
  type Given,
  type Moment,
  newProviderUse,
  type ProviderLimits,
  renewShare,
  SHARE_MS,
  type ShareRequest,
  type WorkerShare,
} from './provider-use.js';

/**
 * This process's share of a provider with limits, until the share expires, and the holders that use it. A holder is one
 * run. It submits only with a slot of the share that is valid then, and with a submission that was given no longer ago
 * than a share is valid. This is checked by the monotonic clock, as the wall clock may be set back, and by the wall
 * clock, as the monotonic clock may stop while the machine sleeps.
 */
export class OwnShare {
  private given = NOTHING;
  /** Submissions that were given and not yet taken, the oldest first. */
  private lots: readonly Lot[] = [];
  /** Holders with a submission that has not started, and the lot it was taken from. */
  private readonly unused = new Map<object, Lot>();
  /** Holders that have submitted, or came with a task, each in a slot. */
  private readonly submitted = new Set<object>();
  /** Holders that have no submission. They come before those that wait for a slot. */
  private readonly again = new Set<object>();

  get slots(): number {
    return this.given.slots;
  }

  /** The number of waiters when the share was requested. */
  get waiting(): number {
    return this.given.waiting;
  }

  /** Whether another worker wants a slot and has none. */
  get isShort(): boolean {
    return this.given.isShort;
  }

  /** How many holders have no submission. */
  get lacking(): number {
    return this.again.size;
  }

  /** The number of remaining submissions that may start now. */
  submissions(now: Moment): number {
    return this.lots.reduce((sum, { left, expiresAt }) => (isBefore(now, expiresAt) ? sum + left : sum), 0);
  }

  isCurrent(now: Moment): boolean {
    return isBefore(now, this.given.expiresAt);
  }

  /** Whether the next renewal may give room to one more than the `inUse` that have a slot. */
  mayGrow(inUse: number, now: Moment): boolean {
    const { slots, wanted, isDry } = this.given;
    if (!this.isCurrent(now) || (slots <= inUse && slots >= wanted)) return true;
    return slots > inUse && !isDry;
  }

  /** The slots that a renewal gives replace those before; its submissions are added to those that are left. */
  renew(given: GivenShare, now: Moment): void {
    this.given = given;
    const { submissions: left, expiresAt } = given;
    const lots = left > 0 ? [...this.lots, { left, expiresAt }] : this.lots;
    this.lots = lots.filter((lot) => isBefore(now, lot.expiresAt));
  }

  /** Until a renewal is known to be stored, usage is limited to what both the old share and the new one allow. */
  lowerTo(slots: number): void {
    this.given = { ...this.given, slots: Math.min(this.given.slots, slots) };
  }

  /** Nothing may be used until then. */
  lose(expiresAt: Moment): void {
    this.given = { ...NOTHING, wanted: 1, expiresAt };
  }

  /** Takes a slot and a submission, where `inUse` have one. */
  take(holder: object, inUse: number, now: Moment): boolean {
    if (!this.isCurrent(now) || this.given.slots <= inUse) return false;
    return this.submissions(now) > this.again.size && this.takeSubmission(holder, now);
  }

  /**
   * Whether the holder has both a slot and a submission now; takes what it lacks. While it has no slot, the slot that it had
   * is another holder's.
   */
  maySubmit(holder: object, now: Moment): boolean {
    // The next share decides whether another holder may have its slot, because an earlier submission of it may have
    // been taken.
    if (!this.isCurrent(now)) return false;
    const isInSlot = this.submitted.has(holder);
    if (this.submitted.size - (isInSlot ? 1 : 0) >= this.given.slots) {
      this.submitted.delete(holder);
      this.again.delete(holder);
      return false;
    }
    if (isBefore(now, this.unused.get(holder)?.expiresAt ?? LONG_AGO)) return true;
    const isTaken = this.takeSubmission(holder, now);
    if (isTaken) this.again.delete(holder);
    else this.again.add(holder);
    return isTaken;
  }

  /** The holder has a task at the provider already, which takes a slot. */
  occupy(holder: object): void {
    this.submitted.add(holder);
  }

  /** Called when the holder's submission starts. */
  submitting(holder: object): void {
    this.unused.delete(holder);
    this.submitted.add(holder);
  }

  /** Takes back what the holder has not used. */
  release(holder: object): void {
    this.again.delete(holder);
    this.submitted.delete(holder);
    const lot = this.unused.get(holder);
    if (lot !== undefined) lot.left += 1;
    this.unused.delete(holder);
  }

  private takeSubmission(holder: object, now: Moment): boolean {
    const lot = this.lots.find(({ left, expiresAt }) => left >= 1 && isBefore(now, expiresAt));
    if (lot === undefined) return false;
    lot.left -= 1;
    this.unused.set(holder, lot);
    return true;
  }
}

/** Whether it is before the end by both clocks. */
function isBefore(now: Moment, end: Moment): boolean {
  return now.monotonic < end.monotonic && now.wall < end.wall;
}

/** The result of one renewal for this process. */
interface GivenShare {
  readonly slots: number;
  readonly submissions: number;
  readonly wanted: number;
  /** How many waited then. */
  readonly waiting: number;
  readonly expiresAt: Moment;
  readonly isShort: boolean;
  readonly isDry: boolean;
}

/** Submissions that one renewal has given and that were not taken. */
interface Lot {
  left: number;
  readonly expiresAt: Moment;
}

const LONG_AGO: Moment = { wall: -Infinity, monotonic: -Infinity };

const NOTHING: GivenShare = {
  slots: 0,
  submissions: 0,
  wanted: 0,
  waiting: 0,
  expiresAt: LONG_AGO,
  isShort: false,
  isDry: false,
};

const MAX_TRIES = 5;

export interface RenewalOptions {
  readonly provider: string;
  /** Names this process, unlike any other one that ever ran. */
  readonly worker: string;
  /** Whether every other process that ever used these stores has ended: then the shares of others are void. */
  readonly isExclusive: boolean;
  /** The longest call of any process to this provider, in milliseconds. */
  readonly longestCallMs: () => number;
}

/** A renewal that is stored. */
interface Renewed {
  /** When the renewal started; what it gave is valid from then. */
  readonly at: Moment;
  readonly given: Given;
  readonly request: ShareRequest;
}

/** Renews one process's share of one provider, and keeps what a renewal needs to know of those before. */
export class ShareRenewals {
  private readonly others = new OtherShares();
  /** The newest renewal that is known to be stored, and when it started by the monotonic clock. */
  private last: { readonly counted: number; readonly at: number } | undefined;

  constructor(
    private readonly ports: Pick<Ports, 'clock' | 'providerUses'>,
    private readonly options: RenewalOptions,
  ) {}

  /**
   * Asks anew after each lost race; undefined after too many. `onDecided` is called with the slots before they are written.
   * Throws `StoreUnavailable`: it is then unknown whether the renewal is stored.
   */
  async renew(
    limits: ProviderLimits,
    requestAt: (at: Moment) => ShareRequest,
    onDecided: (slots: number) => void,
  ): Promise<Renewed | undefined> {
    const { clock, providerUses } = this.ports;
    const { provider } = this.options;
    for (let tries = 0; tries < MAX_TRIES; tries += 1) {
      const at = momentOf(clock);
      const stored = await providerUses.read(provider);
      const request = { ...requestAt(at), ...this.lastRenewal(at) };
      // A read may take long: the shares of others are seen when it has ended. If one was renewed since, the write conflicts.
      const others = this.sharesOfOthers(stored?.shares ?? [], momentOf(clock));
      const terms = { limits, now: at.wall, others };
      const given = renewShare(stored ?? newProviderUse(provider, terms), request, terms);
      onDecided(given.slots);
      if ((await providerUses.replace(given.next, stored?.version ?? 0)) === 'conflict') continue;
      this.last = { counted: given.counted, at: at.monotonic };
      return { at, given, request };
    }
    return undefined;
  }

  private lastRenewal({ monotonic }: Moment): Pick<ShareRequest, 'last'> {
    if (this.last === undefined) return {};
    const { counted, at } = this.last;
    return { last: { counted, passedMs: monotonic - at } };
  }

  /** Those whose slots are taken, of all shares as seen at `at`. */
  private sharesOfOthers(shares: readonly WorkerShare[], at: Moment): readonly WorkerShare[] {
    const { isExclusive, worker, longestCallMs } = this.options;
    return isExclusive ? [] : this.others.current(shares, worker, at, longestCallMs());
  }
}

interface Seen {
  readonly renewedAt: number;
  readonly since: number;
}

/**
 * Decides which shares of other workers have expired, as this process sees it. A share expires when it was not renewed for
 * the time that its worker may use it plus the longest call, counted from when this process first saw it: its worker no
 * longer submits with it, and no submission is in flight. Only the monotonic clock is used, so setting a wall clock has no
 * effect.
 *
 * A share that this process finds at its first look may have been left long ago. If its wall times say so, with an allowance
 * for the skew between two clocks, the process waits only as long as a live worker takes to renew a share.
 */
export class OtherShares {
  /** The newest renewal of each worker, and when this process first saw it, by the monotonic clock. */
  private seen: ReadonlyMap<string, Seen> = new Map();
  private hasLooked = false;

  /** Those of all shares, as seen at `at`, that are not over. `longestCallMs` is any worker's longest call to the provider. */
  current(shares: readonly WorkerShare[], own: string, at: Moment, longestCallMs: number): readonly WorkerShare[] {
    const isCurrent = new Set<string>();
    const seen = new Map<string, Seen>();
    for (const { worker, renewedAt, expiresAt } of shares) {
      if (worker === own) continue;
      const before = this.seen.get(worker);
      const wasLeftLongAgo = !this.hasLooked && expiresAt + longestCallMs + MAX_CLOCK_SKEW_MS <= at.wall;
      const now = { renewedAt, since: at.monotonic - (wasLeftLongAgo ? longestCallMs : 0) };
      const one = before?.renewedAt === renewedAt ? before : now;
      seen.set(worker, one);
      if (at.monotonic < one.since + SHARE_MS + longestCallMs) isCurrent.add(worker);
    }
    this.seen = seen;
    this.hasLooked = true;
    return shares.filter(({ worker }) => isCurrent.has(worker));
  }
}

export function momentOf(clock: Clock): Moment {
  return { wall: clock.now(), monotonic: clock.monotonic() };
}
