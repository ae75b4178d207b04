interface Seen {
  readonly offset: number;
  readonly jumpedAt: number;
}

/** How far two looks at a clock may disagree before it has jumped, in milliseconds. */
const JITTER_MS = 5;
/** A call may take effect this long after the clock was read for it, and longer only where nothing hangs on it. */
const MEMORY_MS = 120_000;

/**
 * What is known of every process's clock. A check of ours that says "too early by the writer's clock" knows the clock when
 * the write took effect, and not when it was decided; if the clock jumped in between, it says nothing.
 */
export class ProcessClocks {
  private readonly seen = new Map<string, Seen>();
  /** The most any clock was ever ahead of true time. */
  mostAheadMs = 0;

  note({ at, process, processNow }: { readonly at: number; readonly process: string; readonly processNow: number }): void {
    const offset = processNow - at;
    const last = this.seen.get(process);
    if (offset > this.mostAheadMs) this.mostAheadMs = offset;
    if (last === undefined) this.seen.set(process, { offset, jumpedAt: -Infinity });
    else if (Math.abs(last.offset - offset) > JITTER_MS) this.seen.set(process, { offset, jumpedAt: at });
  }

  /** Whether this process's clock has kept its pace for a while. */
  isSteady(process: string, at: number): boolean {
    return (this.seen.get(process)?.jumpedAt ?? -Infinity) < at - MEMORY_MS;
  }
}
