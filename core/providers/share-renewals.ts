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
  /** When it began: what was given is valid from then. */
  readonly at: Moment;
  readonly given: Given;
  readonly request: ShareRequest;
}

/** Renews one process's share of one provider, and keeps what a renewal needs to know of those before. */
export class ShareRenewals {
  private readonly others = new OtherShares();
  /** The newest renewal that is known to be stored, and when it began by the monotonic clock. */
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
