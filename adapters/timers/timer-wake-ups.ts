import { assert } from '../../core/assert.js';
import { subjectOf, wakeUpKey } from '../../core/ids.js';
import type { Clock } from '../../core/ports/machine.js';
import type { WakeUps, WakeUpSubject } from '../../core/ports/wake-ups.js';

type Handler = Parameters<WakeUps['start']>[0];

/** How often the table is polled for wake-ups stored by other processes, such as an operator's tools. */
const POLL_MS = 1_000;
const FIRST_RETRY_MS = 1_000;
const LAST_RETRY_MS = 60_000;
const MAX_DUE = 1_000;

/** Keeps scheduled wake-ups over a restart, one per subject. Any store of such a shape will do. */
export interface WakeUpTable {
  /**
   * Sets the time of a subject's wake-up. Durable on return. Writes of one process apply in the order they were made.
   */
  upsert(key: string, at: number): Promise<void>;

  /** Wake-ups at or before `now`, earliest first; at most `limit`, 1 to 1,000. */
  due(now: number, limit: number): readonly ScheduledWakeUp[] | Promise<readonly ScheduledWakeUp[]>;

  /** Removes the wake-up, unless its time has changed. */
  done(key: string, at: number): Promise<void>;

  /** The time of the first wake-up after `now`. */
  nextAt(now: number): number | undefined | Promise<number | undefined>;
}

export interface ScheduledWakeUp {
  /** The key of its subject. */
  readonly key: string;
  readonly at: number;
}

/**
 * Wake-ups kept in a table and delivered by this process's timers. A wake-up that is due when it is scheduled is delivered as
 * soon as it is durable, without asking the table.
 */
export class TimerWakeUps implements WakeUps {
  private readonly table: WakeUpTable;
  private readonly clock: Clock;
  private delivery: { readonly handler: Handler; readonly limit: number } | undefined;
  /** Deliveries whose handler is running, and whether their subject was scheduled again meanwhile. */
  private readonly underWay = new Map<string, { timesScheduledAnew: number }>();
  /** Subjects whose new time is being written: the table still has the one before. */
  private readonly scheduling = new Map<string, number>();
  /** Wake-ups that are done but may still stand in the table, by key. */
  private readonly ending = new Map<string, number>();
  /** Subjects whose handler failed: how often in a row, and until when they rest. */
  private readonly failed = new Map<string, { readonly times: number; readonly until: number }>();
  private readonly promises = new Set<Promise<void>>();
  private timer: { readonly at: number; readonly cancel: () => void } | undefined;
  private looking = false;
  private moreIsDue = false;
  private stopped = false;

  constructor({ table, clock }: { readonly table: WakeUpTable; readonly clock: Clock }) {
    this.table = table;
    this.clock = clock;
  }

  async schedule(subject: WakeUpSubject, at: number): Promise<void> {
    const key = wakeUpKey(subject);
    // A running handler may have read the subject before the event it is scheduled for now, so it is called again.
    const delivered = this.underWay.get(key);
    if (delivered !== undefined) delivered.timesScheduledAnew += 1;
    try {
      await this.write(key, at);
    } catch (error) {
      // Nothing was scheduled: were the handler called again for it, one that schedules would be called for ever.
      if (delivered !== undefined) delivered.timesScheduledAnew -= 1;
      throw error;
    }
    this.failed.delete(key);
    const deliveredNow = this.underWay.get(key);
    if (deliveredNow !== undefined && deliveredNow !== delivered) deliveredNow.timesScheduledAnew += 1;
    if (this.delivery === undefined || this.stopped) return;
    if (at > this.clock.now()) this.lookAt(at);
    else this.deliver({ key, at });
  }

  /** Meanwhile nothing is delivered by the time that it replaces: a handler that schedules again would be called for ever. */
  private async write(key: string, at: number): Promise<void> {
    this.scheduling.set(key, (this.scheduling.get(key) ?? 0) + 1);
    try {
      await this.table.upsert(key, at);
    } finally {
      const others = (this.scheduling.get(key) ?? 1) - 1;
      if (others > 0) this.scheduling.set(key, others);
      else this.scheduling.delete(key);
    }
  }

  async start(handler: Handler, limit: number): Promise<void> {
    assert(this.delivery === undefined && !this.stopped, 'wake-ups are started once');
    assert(Number.isInteger(limit) && limit >= 1, `a limit is at least 1, not ${limit}`);
    this.delivery = { handler, limit };
    this.look();
  }

  async stop(): Promise<void> {
    this.stopped = true;
    this.timer?.cancel();
    // A handler that ends leaves the removal of its wake-up behind it.
    while (this.promises.size > 0) await Promise.all(this.promises);
  }

  /** Sets the timer to `at`, unless it is set to an earlier time. */
  private lookAt(at: number): void {
    if (this.stopped || (this.timer !== undefined && this.timer.at <= at)) return;
    this.timer?.cancel();
    const delayMs = Math.max(0, at - this.clock.now());
    const cancel = this.clock.after(delayMs, () => {
      this.timer = undefined;
      this.look();
    });
    this.timer = { at, cancel };
  }

  /** Delivers what the table says is due, and sets the timer to what is due next. */
  private look(): void {
    this.moreIsDue = true;
    if (this.looking || this.stopped) return;
    this.looking = true;
    this.keep(this.lookUntilDone());
  }

  private async lookUntilDone(): Promise<void> {
    const now = this.clock.now();
    let next = now + POLL_MS;
    try {
      while (this.moreIsDue && this.free() > 0 && !this.stopped) {
        this.moreIsDue = false;
        // A wake-up that is skipped may be listed before one that is not.
        const skipped = this.underWay.size + this.scheduling.size + this.ending.size + this.failed.size;
        const limit = Math.min(this.free() + skipped, MAX_DUE);
        const due = await this.table.due(now, limit);
        const delivered = due.filter((wakeUp) => this.deliver(wakeUp));
        if (due.length === limit && delivered.length > 0) this.moreIsDue = true;
      }
      next = Math.min(next, (await this.table.nextAt(now)) ?? next, this.nextRetryAt(now));
    } catch {
      // A table that cannot be read now is read again at the next poll.
    }
    this.looking = false;
    if (this.moreIsDue && this.free() > 0) this.look();
    else this.lookAt(Math.max(next, now + 1));
  }

  /** When the first paused subject may be tried again. One that has not been retried for a long time is forgotten. */
  private nextRetryAt(now: number): number {
    let next = Infinity;
    for (const [key, { until }] of this.failed) {
      if (until > now) next = Math.min(next, until);
      else if (until < now - 2 * LAST_RETRY_MS) this.failed.delete(key);
    }
    return next;
  }

  private free(): number {
    return (this.delivery?.limit ?? 0) - this.underWay.size;
  }

  /** Calls the handler, unless there is a reason not to; returns whether it did. */
  private deliver({ key, at }: ScheduledWakeUp): boolean {
    if (this.stopped || this.delivery === undefined || this.underWay.has(key)) return false;
    if (this.scheduling.has(key) || this.ending.get(key) === at || this.rests(key)) return false;
    if (this.free() <= 0) {
      this.moreIsDue = true;
      return false;
    }
    const delivered = { timesScheduledAnew: 0 };
    this.underWay.set(key, delivered);
    this.keep(this.handle({ key, at }, delivered, this.delivery.handler));
    return true;
  }

  private rests(key: string): boolean {
    const failure = this.failed.get(key);
    return failure !== undefined && failure.until > this.clock.now();
  }

  private async handle(
    wakeUp: ScheduledWakeUp,
    delivered: { readonly timesScheduledAnew: number },
    handler: Handler,
  ): Promise<void> {
    const { key } = wakeUp;
    try {
      await handler(subjectOf(key));
      this.failed.delete(key);
      if (delivered.timesScheduledAnew === 0) this.keep(this.end(wakeUp));
    } catch {
      if (delivered.timesScheduledAnew === 0) this.rest(key);
    }
    this.underWay.delete(key);
    if (this.moreIsDue || delivered.timesScheduledAnew > 0) this.look();
  }

  /** Does not wait for the removal: it joins the next batch, and if it is lost the handler is called once more. */
  private async end({ key, at }: ScheduledWakeUp): Promise<void> {
    this.ending.set(key, at);
    try {
      await this.table.done(key, at);
    } catch {
      // The wake-up is still stored, and is delivered again.
    }
    if (this.ending.get(key) === at) this.ending.delete(key);
  }

  private rest(key: string): void {
    const times = (this.failed.get(key)?.times ?? 0) + 1;
    const until = this.clock.now() + Math.min(FIRST_RETRY_MS * 2 ** (times - 1), LAST_RETRY_MS);
    this.failed.set(key, { times, until });
    this.lookAt(until);
  }

  /** Keeps a reference to work in progress, so that stopping can wait for it. */
  private keep(promise: Promise<void>): void {
    const kept: Promise<void> = promise.finally(() => this.promises.delete(kept));
    this.promises.add(kept);
  }
}
