interface Seen {
  readonly offset: number;
  readonly jumpedAt: number;
}

/** The difference between two readings of a clock beyond which it has jumped, in milliseconds. */
const JITTER_MS = 5;
/** The longest time from reading the clock to a call's effect; it is exceeded only where nothing depends on it. */
const MEMORY_MS = 120_000;

/**
 * The largest difference between the clocks of two machines. A time further ahead was written by a clock that was
 * wrong.
 */
export const MAX_SKEW_MS = 60_000;
/** So no clock is further off true time than this, except in a leap, whose time must not be believed. */
const FARTHEST_OFF_MS = MAX_SKEW_MS / 2;

/** Whether the time may have come by the clock of any process that has not leapt. */
export function canBeDue(time: number, at: number): boolean {
  return at + FARTHEST_OFF_MS >= time;
}

/**
 * The known properties of every process's clock. A check for "too early by the writer's clock" knows the clock when the
 * write took effect, rather than when it was decided; if the clock jumped in between, the check is skipped.
 */
export class ProcessClocks {
  private readonly seen = new Map<string, Seen>();
  private least = Infinity;
  private most = -Infinity;
  private lastJumpAt = -Infinity;

  /** The largest difference between any two clocks, or between one clock before and after a jump, in milliseconds. */
  get spreadMs(): number {
    return Math.max(0, this.most - this.least);
  }

  /** Whether no clock has been set for some time. They may differ. */
  areSteady(at: number): boolean {
    return this.lastJumpAt < at - MEMORY_MS;
  }

  note({
    at,
    process,
    processNow,
  }: {
    readonly at: number;
    readonly process: string;
    readonly processNow: number;
  }): void {
    const offset = processNow - at;
    this.least = Math.min(this.least, offset);
    this.most = Math.max(this.most, offset);
    const last = this.seen.get(process);
    if (last === undefined) this.seen.set(process, { offset, jumpedAt: -Infinity });
    else if (Math.abs(last.offset - offset) > JITTER_MS) {
      this.seen.set(process, { offset, jumpedAt: at });
      this.lastJumpAt = at;
    }
  }

  /** Whether this process's clock has kept its pace for some time. */
  isSteady(process: string, at: number): boolean {
    return (this.seen.get(process)?.jumpedAt ?? -Infinity) < at - MEMORY_MS;
  }
}
