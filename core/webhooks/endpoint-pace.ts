/** How many endpoints of one process are remembered. */
const MAX_ENDPOINTS = 10_000;
/** How long a message takes until one has been sent, in milliseconds. */
const GUESS_MS = 200;
/** How soon something is woken again, in milliseconds. */
const SOONEST_MS = 1_000;
/** A backlog that lasts longer than this is looked at again, in milliseconds: its endpoint may have become faster. */
const LATEST_MS = 3_600_000;
/** How much the newest message counts. */
const NEWEST_PART = 0.2;

interface Pace {
  /** How long a message takes, in milliseconds. */
  readonly tookMs: number;
  /** When the last one that found no place is woken again. */
  readonly lastAt: number;
}

/**
 * When to wake again what finds no place in this process: one after another, about as fast as their endpoint takes them. A
 * backlog costs no more than its sending, however long it is.
 */
export class EndpointPaces {
  private readonly paces = new Map<string, Pace>();

  /** `atOnce`: how many messages are sent to an endpoint at the same time. */
  constructor(private readonly atOnce: number) {}

  took(endpoint: string, durationMs: number): void {
    const { tookMs, lastAt } = this.paces.get(endpoint) ?? { tookMs: durationMs, lastAt: 0 };
    this.keep(endpoint, { tookMs: tookMs + NEWEST_PART * (durationMs - tookMs), lastAt });
  }

  /** Behind as many as wait for it here, and behind all that were put off before. */
  nextAt(endpoint: string, waiting: number, now: number): number {
    const { tookMs, lastAt } = this.paces.get(endpoint) ?? { tookMs: GUESS_MS, lastAt: 0 };
    const eachMs = Math.ceil(tookMs / this.atOnce);
    const behind = Math.max(now + SOONEST_MS, now + waiting * eachMs, lastAt + eachMs);
    const at = Math.min(behind, now + LATEST_MS);
    this.keep(endpoint, { tookMs, lastAt: at });
    return at;
  }

  /** The one that was used longest ago is forgotten first. */
  private keep(endpoint: string, pace: Pace): void {
    this.paces.delete(endpoint);
    this.paces.set(endpoint, pace);
    if (this.paces.size <= MAX_ENDPOINTS) return;
    for (const oldest of this.paces.keys()) {
      this.paces.delete(oldest);
      return;
    }
  }
}
