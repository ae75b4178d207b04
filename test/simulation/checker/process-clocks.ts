interface Seen {
  readonly offset: number;
  readonly jumpedAt: number;
}

/** How far two looks at a clock may disagree before it has jumped, in milliseconds. */
const JITTER_MS = 5;
/** A call may take effect this long after the clock was read for it, and longer only where nothing hangs on it. */
const MEMORY_MS = 120_000;

/**
 * How far apart the clocks of two machines may be. What is further ahead than that was left by a clock that was wrong.
 */
export const MAX_SKEW_MS = 60_000;
/** So no clock is further off true time than this, but for a leap, which nobody may believe. */
const FARTHEST_OFF_MS = MAX_SKEW_MS / 2;

/** Whether it can be so late already by the clock of any process that has not leapt. */
export function canBeDue(time: number, at: number): boolean {
  return at + FARTHEST_OFF_MS >= time;
}

/**
 * What is known of every process's clock. A check of ours that says "too early by the writer's clock" knows the clock
 * when the write took effect, and not when it was decided; if the clock jumped in between, it says nothing.
 */
export class ProcessClocks {
  private readonly seen = new Map<string, Seen>();
  private least = Infinity;
  private most = -Infinity;
  private lastJumpAt = -Infinity;

  /** How far apart any two clocks were, or one and itself before and after a jump, in milliseconds. */
  get spreadMs(): number {
    return Math.max(0, this.most - this.least);
  }

  /** Whether no clock has been set for a while. They may differ. */
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

  /** Whether this process's clock has kept its pace for a while. */
  isSteady(process: string, at: number): boolean {
    return (this.seen.get(process)?.jumpedAt ?? -Infinity) < at - MEMORY_MS;
  }
}
