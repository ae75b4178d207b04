import { assert } from '../../../core/assert.js';
import { subjectOf, wakeUpKey } from '../../../core/ids.js';
import type { Clock } from '../../../core/ports/machine.js';
import type { WakeUps, WakeUpSubject } from '../../../core/ports/wake-ups.js';
import { compareText, OrderedList } from './records.js';

type Handler = Parameters<WakeUps['start']>[0];

/** How long a taken wake-up stays hidden from other processes that share the table. */
const TAKEN_MS = 60_000;
const FIRST_RETRY_MS = 1_000;
const LAST_RETRY_MS = 60_000;
const LONGEST_TIMER_MS = 2 ** 31 - 1;

/** Wake-ups in memory, on the clock it is given: the same calls in the same order make the same deliveries. */
export class MemoryWakeUps implements WakeUps {
  private readonly clock: Clock;
  private readonly table: MemoryWakeUpTable;
  private readonly underWay = new Map<string, Promise<void>>();
  private readonly failures = new Map<string, number>();
  private delivery: { readonly handler: Handler; readonly limit: number; readonly unlisten: () => void } | undefined;
  private cancelTimer: () => void = () => undefined;
  private stopped = false;

  constructor({
    clock,
    table = new MemoryWakeUpTable(),
  }: {
    readonly clock: Clock;
    readonly table?: MemoryWakeUpTable;
  }) {
    this.clock = clock;
    this.table = table;
  }

  async schedule(subject: WakeUpSubject, at: number): Promise<void> {
    this.table.schedule(wakeUpKey(subject), at);
  }

  async start(handler: Handler, limit: number): Promise<void> {
    assert(this.delivery === undefined && !this.stopped, 'wake-ups are started once');
    assert(Number.isInteger(limit) && limit >= 1, `a limit is at least 1, not ${limit}`);
    this.delivery = { handler, limit, unlisten: this.table.listen(() => this.arm()) };
    this.arm();
  }

  async stop(): Promise<void> {
    this.stopped = true;
    this.delivery?.unlisten();
    this.cancelTimer();
    await Promise.all(this.underWay.values());
  }

  /** Sets the one timer to when the next wake-up is due that this process may deliver. */
  private arm(): void {
    this.cancelTimer();
    this.cancelTimer = () => undefined;
    if (this.stopped || this.delivery === undefined || this.underWay.size >= this.delivery.limit) return;
    const at = this.table.nextAt(new Set(this.underWay.keys()));
    if (at === undefined) return;
    const delayMs = Math.min(Math.max(0, at - this.clock.now()), LONGEST_TIMER_MS);
    this.cancelTimer = this.clock.after(delayMs, () => this.deliver());
  }

  private deliver(): void {
    const { delivery } = this;
    if (this.stopped || delivery === undefined) return;
    const now = this.clock.now();
    while (this.underWay.size < delivery.limit) {
      const taken = this.table.take(now, now + TAKEN_MS, new Set(this.underWay.keys()));
      if (taken === undefined) break;
      this.underWay.set(taken.key, this.handle(taken, delivery.handler));
    }
    this.arm();
  }

  private async handle(taken: WakeUp, handler: Handler): Promise<void> {
    const { key } = taken;
    const succeeded = await settled(() => handler(subjectOf(key)));
    if (succeeded) {
      this.failures.delete(key);
      this.table.done(taken);
    } else {
      const failures = (this.failures.get(key) ?? 0) + 1;
      this.failures.set(key, failures);
      const delayMs = Math.min(FIRST_RETRY_MS * 2 ** (failures - 1), LAST_RETRY_MS);
      this.table.putBack(taken, this.clock.now() + delayMs);
    }
    this.underWay.delete(key);
    this.arm();
  }
}

/** One scheduled call, and the number of the schedule that asked for it. */
interface WakeUp {
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

/** Whether the call resolved; a call that throws synchronously counts as rejected. */
async function settled(call: () => Promise<void>): Promise<boolean> {
  try {
    await call();
    return true;
  } catch {
    return false;
  }
}
