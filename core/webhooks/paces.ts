/** How many destinations of one process are remembered. */
const MAX_KNOWN = 10_000;
/** How long a message takes until one has been sent, in milliseconds. */
const GUESS_MS = 200;
/** How soon something is woken again, in milliseconds. */
const SOONEST_MS = 1_000;
/** What would wait longer is woken after so long, in milliseconds: its receivers may have become faster. */
const EARLY_MS = 300_000;
/** Of what is woken earlier than its turn, one at most in so many milliseconds: that costs something, and sends nothing. */
const EARLY_EVERY_MS = 50;
/** However many are before it, a message is woken after so long, in milliseconds. */
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
 * When to wake again what finds no place in this process: one after another, about as fast as its receivers take messages,
 * and within minutes, should they become faster. The cost of a backlog is bounded, however long it is.
 */
export class Paces {
  private readonly paces = new Map<string, Pace>();

  /** `atOnce`: how many messages are sent to a destination at the same time. */
  constructor(private readonly atOnce: number) {}

  /** A message to the destination has been sent, and took so long. */
  took(destination: string, durationMs: number): void {
    const { tookMs, lastAt } = this.paces.get(destination) ?? { tookMs: durationMs, lastAt: 0 };
    this.keep(destination, { tookMs: tookMs + NEWEST_PART * (durationMs - tookMs), lastAt });
  }

  /** Behind as many as wait for it here, and behind all that were put off before. */
  nextAt(destination: string, waiting: number, now: number): number {
    const { tookMs, lastAt } = this.paces.get(destination) ?? { tookMs: GUESS_MS, lastAt: 0 };
    const eachMs = Math.ceil(tookMs / this.atOnce);
    const inTurn = Math.max(now + SOONEST_MS, now + waiting * eachMs, lastAt + eachMs);
    const early = Math.max(now + EARLY_MS, lastAt + EARLY_EVERY_MS);
    const at = Math.min(inTurn, early, now + LATEST_MS);
    this.keep(destination, { tookMs, lastAt: at });
    return at;
  }

  /** The one that was used longest ago is forgotten first. */
  private keep(destination: string, pace: Pace): void {
    this.paces.delete(destination);
    this.paces.set(destination, pace);
    if (this.paces.size <= MAX_KNOWN) return;
    for (const oldest of this.paces.keys()) {
      this.paces.delete(oldest);
      return;
    }
  }
}
