import type { Boot } from '../boot.js';
import type { Ports } from '../ports/ports.js';
import { isFarAhead, MAX_CLOCK_SKEW_MS, type Settings } from '../settings.js';
import { pause } from '../waiting.js';

/** How often a process that has waits renews its lease, in milliseconds. */
const RENEW_MS = 1_000;
/** How long a lease lasts without being renewed. */
const LEASE_MS = 5_000;
const LOOK_AGAIN_MS = 250;

type Parts = Pick<Ports, 'fingerprints' | 'clock'> & { readonly boot: Boot; readonly settings: Settings };

/**
 * The lease of this process, which it renews while requests wait in it, and those of the others. Where this process alone
 * uses the stores there are none: waits of earlier boots are dead.
 */
export class ProcessLeases {
  private held = 0;
  private renewals = 0;
  private beginning: Promise<void> | undefined;

  constructor(private readonly parts: Parts) {}

  /** Returns once the lease of this process stands. It is renewed until the returned function is called. */
  async hold(): Promise<() => void> {
    if (this.parts.boot.isExclusive) return () => undefined;
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
    }
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
   * Whether the process with this boot id is alive. Waits until its lease is renewed, a second at most, or lapses: a process
   * may have died right after a renewal, and the clocks of two processes differ, so that only a renewal that is seen counts.
   */
  async isAlive(bootId: string): Promise<boolean> {
    const { boot, clock, fingerprints } = this.parts;
    if (bootId === boot.id) return true;
    if (boot.isExclusive) return false;
    const first = await fingerprints.readLease(bootId);
    if (first === null) return false;
    const ageMs = clock.now() - first.renewedAt;
    if (ageMs > LEASE_MS + MAX_CLOCK_SKEW_MS || isFarAhead(first.renewedAt, clock.now())) return false;
    for (let waitedMs = 0; waitedMs < LEASE_MS; waitedMs += LOOK_AGAIN_MS) {
      await pause(clock, LOOK_AGAIN_MS);
      const seen = await fingerprints.readLease(bootId);
      if (seen !== null && seen.renewals !== first.renewals) return true;
    }
    return false;
  }
}
