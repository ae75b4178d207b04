import type { Boot } from '../boot.js';
import type { Ports } from '../ports/ports.js';
import { isFarAhead, MAX_CLOCK_SKEW_MS, type Settings } from '../settings.js';
import { pause } from '../waiting.js';

/** How often a process that has waits renews its lease, in milliseconds. */
const RENEW_MS = 1_000;
/** How long a lease lasts without being renewed. */
const LEASE_MS = 5_000;
const LOOK_AGAIN_MS = 250;
/** How long a process counts as alive without renewing its lease: clients without the header repeat after 2 seconds. */
const SILENT_MS = 2_000;
/** How long a process is watched after it was asked about. */
const WATCH_MS = 60_000;
const NO_LEASE = (): void => undefined;

type Parts = Pick<Ports, 'fingerprints' | 'clock'> & { readonly boot: Boot; readonly settings: Settings };

/**
 * The lease of this process, which it renews while requests wait in it, and those of the others. Where this process alone
 * uses the stores there are none: waits of earlier boots are dead.
 */
export class ProcessLeases {
  private held = 0;
  private renewals = 0;
  private beginning: Promise<void> | undefined;
  private readonly seen = new Map<string, Seen>();
  private watching: Promise<void> | undefined;

  constructor(private readonly parts: Parts) {}

  /** Returns once the lease of this process stands. It is renewed until the returned function is called. */
  async hold(): Promise<() => void> {
    if (this.parts.boot.isExclusive) return NO_LEASE;
    this.held += 1;
    this.beginning ??= this.begin();
    try {
      await this.beginning;
    } catch (error) {
      this.held -= 1;
      throw error;
    }
    return () => {
      this.held -= 1;
    };
  }

  private async begin(): Promise<void> {
    try {
      await this.renew();
    } catch (error) {
      this.beginning = undefined;
      throw error;
    }
    void this.keepRenewing();
  }

  private async keepRenewing(): Promise<void> {
    while (this.held > 0) {
      await pause(this.parts.clock, RENEW_MS);
      // During an outage of the store the lease lapses; whoever looks cannot write either.
      await this.renew().catch(() => undefined);
      // Its reads must not delay the next renewal.
      this.watching ??= this.watch().finally(() => (this.watching = undefined));
    }
    this.seen.clear();
    this.beginning = undefined;
  }

  private renew(): Promise<void> {
    const { boot, clock, fingerprints, settings } = this.parts;
    const now = clock.now();
    this.renewals += 1;
    return fingerprints.renewLease({
      bootId: boot.id,
      renewals: this.renewals,
      renewedAt: now,
      removeAt: now + settings.replayWindowMs,
    });
  }

  /**
   * Whether the process with this boot id is alive. One whose renewal was seen within 2 seconds is; of any other one this
   * waits until its lease is renewed, a second at most, or lapses. Only what this process sees counts, by its own clock:
   * those of two processes differ, and one may have died right after a renewal.
   */
  async isAlive(bootId: string): Promise<boolean> {
    const { boot, clock } = this.parts;
    if (bootId === boot.id) return true;
    if (boot.isExclusive) return false;
    const askedAt = clock.monotonic();
    const known = this.seen.get(bootId);
    if (known !== undefined) {
      known.askedAt = askedAt;
      if (wasAlive(known, askedAt)) return true;
    }
    for (let waitedMs = 0; waitedMs <= LEASE_MS; waitedMs += LOOK_AGAIN_MS) {
      if (waitedMs > 0) await pause(clock, LOOK_AGAIN_MS);
      const seen = await this.look(bootId);
      if (seen === undefined) return false;
      // Compared with the time of the question, because a slow store shows a renewal late.
      if (wasAlive(seen, askedAt)) return true;
    }
    return false;
  }

  /** Reads a lease and compares it with what was seen of it before. Undefined where it has lapsed for certain. */
  private async look(bootId: string): Promise<Seen | undefined> {
    const { clock, fingerprints } = this.parts;
    const lookedAt = clock.monotonic();
    const lease = await fingerprints.readLease(bootId);
    const ageMs = lease === null ? Infinity : clock.now() - lease.renewedAt;
    if (lease === null || ageMs > LEASE_MS + MAX_CLOCK_SKEW_MS || isFarAhead(lease.renewedAt, clock.now())) {
      this.seen.delete(bootId);
      return undefined;
    }
    const before = this.seen.get(bootId);
    if (before !== undefined && before.lookedAt > lookedAt) return before;
    const { renewals } = lease;
    const { aliveAt = -Infinity, askedAt = lookedAt } = before ?? {};
    const isRenewed = before !== undefined && before.renewals < renewals;
    // The renewal came after the look before.
    const seen = { renewals, lookedAt, aliveAt: isRenewed ? before.lookedAt : aliveAt, askedAt };
    this.seen.set(bootId, seen);
    return seen;
  }

  /** Looks at the processes that this one was asked about lately, so that it knows of them when it is asked again. */
  private async watch(): Promise<void> {
    const from = this.parts.clock.monotonic() - WATCH_MS;
    for (const [bootId, { askedAt }] of this.seen)
      if (askedAt < from) this.seen.delete(bootId);
      else await this.look(bootId).catch(() => undefined);
  }
}

function wasAlive({ aliveAt }: Seen, at: number): boolean {
  return at - aliveAt < SILENT_MS;
}

/** The lease of another process as this one has seen it. Times are those of the monotonic clock of this process. */
interface Seen {
  readonly renewals: number;
  /** When the last look began. */
  readonly lookedAt: number;
  /** The latest time at which it is known to have been alive. */
  readonly aliveAt: number;
  /** When it was asked about. */
  askedAt: number;
}
