import { compareText, OrderedList } from './ordered-list.js';

/** One scheduled call, and the number of the schedule that asked for it. */
export interface WakeUp {
  readonly key: string;
  readonly at: number;
  readonly scheduled: number;
}

/**
 * Wake-ups by the key of their subject, in order of time. Several `MemoryWakeUps` may share one, as processes share a
 * store: a wake-up that one takes is hidden from the others for a while, and reappears if it is never done.
 */
export class MemoryWakeUpTable {
  private readonly byKey = new Map<string, WakeUp>();
  private readonly byTime = new OrderedList<WakeUp>((a, b) => a.at - b.at || compareText(a.key, b.key));
  private readonly listeners = new Set<() => void>();
  private lastScheduled = 0;

  /** Replaces any wake-up under this key. */
  schedule(key: string, at: number): void {
    this.lastScheduled += 1;
    this.put({ key, at, scheduled: this.lastScheduled });
    for (const listener of this.listeners) listener();
  }

  /** Takes the first wake-up that is due and not in `except`, and hides it until `hiddenUntil`. */
  take(now: number, hiddenUntil: number, except: ReadonlySet<string>): WakeUp | undefined {
    for (let index = 0; ; index += 1) {
      const [found] = this.byTime.slice(index, 1);
      if (found === undefined || found.at > now) return undefined;
      if (except.has(found.key)) continue;
      this.put({ ...found, at: hiddenUntil });
      return found;
    }
  }

  /** Removes the wake-up, unless it was scheduled again since it was taken. */
  done(taken: WakeUp): void {
    const current = this.byKey.get(taken.key);
    if (current?.scheduled !== taken.scheduled) return;
    this.byKey.delete(taken.key);
    this.byTime.remove(current);
  }

  /** Makes a taken wake-up due again at `at`, unless it was scheduled again since. */
  putBack(taken: WakeUp, at: number): void {
    if (this.byKey.get(taken.key)?.scheduled === taken.scheduled) this.put({ ...taken, at });
  }

  /** When the first wake-up that is not in `except` is due. */
  nextAt(except: ReadonlySet<string>): number | undefined {
    for (let index = 0; ; index += 1) {
      const [found] = this.byTime.slice(index, 1);
      if (found === undefined || !except.has(found.key)) return found?.at;
    }
  }

  /** Calls back after every schedule, until the returned function is called. */
  listen(listener: () => void): () => void {
    this.listeners.add(listener);
    return () => this.listeners.delete(listener);
  }

  private put(wakeUp: WakeUp): void {
    const current = this.byKey.get(wakeUp.key);
    if (current !== undefined) this.byTime.remove(current);
    this.byKey.set(wakeUp.key, wakeUp);
    this.byTime.insert(wakeUp);
  }
}
