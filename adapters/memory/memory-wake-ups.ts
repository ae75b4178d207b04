import { assert } from '../../core/assert.js';
import { subjectOf, wakeUpKey } from '../../core/ids.js';
import type { Clock } from '../../core/ports/machine.js';
import type { WakeUps, WakeUpSubject } from '../../core/ports/wake-ups.js';
import { MemoryWakeUpTable, type WakeUp } from './wake-up-table.js';

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

/** Whether the call resolved; a call that throws synchronously counts as rejected. */
async function settled(call: () => Promise<void>): Promise<boolean> {
  try {
    await call();
    return true;
  } catch {
    return false;
  }
}
