import { type JobParameters, type JobRepository, toJobId } from 'agenda';
import { assert } from '../../core/assert.js';
import type { Clock } from '../../core/ports/machine.js';
import type { WakeUpChannel } from './wake-up-channel.js';
import { type HeldWakeUp, JOB_NAME, type WakeUpStore } from './wake-up-store.js';

/**
 * A process takes this many wake-ups as soon as they are due. Beyond that it leaves due wake-ups to others for a while,
 * and takes one only if no other process did: a process that cannot start what it holds would otherwise withhold the
 * whole queue from those that can.
 */
export const EAGER_WAKE_UPS = 50;
const PATIENCE_MS = 1_000;
/** Agenda must not end a job by itself: the stamp decides whether we still hold it. */
const NEVER = new Date(8_640_000_000_000_000);

/**
 * Taking a wake-up removes it from the database. If its handler runs longer than this, in milliseconds, it is stored again. While
 * there is such a handler, wake-ups that are taken stay stored, as most of them will take as long.
 */
export const KEEP_AFTER_MS = 1_000;

interface Held {
  readonly wakeUp: HeldWakeUp;
  state: 'waiting' | 'under way' | 'succeeded';
  /** Settles once it is known whether it is stored by now; never rejects. */
  storing?: Promise<HeldWakeUp>;
  cancelStoring?: () => void;
}

export interface WakeUpRepositoryOptions {
  readonly clock: Clock;
  /** After how long a wake-up that is being handled is stored, in milliseconds; 0: all are stored until they are done. */
  readonly keepAfterMs?: number;
  readonly wakeUps: WakeUpStore;
  /** How many handlers run at once. */
  readonly limit: number;
  readonly channel: WakeUpChannel;
  readonly onTrouble: (error: unknown) => void;
}

/**
 * Agenda's view of the wake-ups. Agenda would save a job before and after its run without regard to concurrent changes,
 * and so undo a schedule made during the run; here every write names the stamp that was read, and the write after a
 * successful run is the removal itself.
 */
export class WakeUpRepository implements JobRepository {
  private readonly options: WakeUpRepositoryOptions;
  /** Keyed by stamp, which is also Agenda's id of a job: two deliveries of one document are two jobs. */
  private readonly held = new Map<string, Held>();
  private readonly keepAfterMs: number;
  /** Held, and waiting for a free slot in Agenda. */
  private readonly ready: HeldWakeUp[] = [];
  private readonly writes = new Set<Promise<void>>();
  private readonly takes = new Set<Promise<void>>();
  private holding = 0;
  /** How many are being asked for. */
  private asked = 0;
  private gaveOne = false;
  private closed = false;

  constructor(options: WakeUpRepositoryOptions) {
    this.options = options;
    this.keepAfterMs = options.keepAfterMs ?? KEEP_AFTER_MS;
  }

  async connect(): Promise<void> {}

  /** How many wake-ups this process holds, or is about to take. */
  get heldCount(): number {
    return this.held.size + this.holding;
  }

  get readyCount(): number {
    return this.ready.length;
  }

  /** Schedules the subject for now, for this process. */
  async hold(key: string): Promise<void> {
    this.holding += 1;
    try {
      const wakeUp = await this.options.wakeUps.putHeld(key);
      if (this.closed) return await this.options.wakeUps.handOver(wakeUp);
      this.keep(wakeUp);
      this.ready.push(wakeUp);
    } finally {
      this.holding -= 1;
    }
    this.options.channel.ring();
  }

  /** The wake-up that Agenda runs as this job; it counts as being handled from now on. */
  started(jobId: unknown): HeldWakeUp {
    const entry = this.held.get(String(jobId));
    assert(entry !== undefined, 'what is started is held');
    entry.state = 'under way';
    return entry.wakeUp;
  }

  /** The job's handler resolved. */
  succeeded(jobId: unknown): void {
    const entry = this.held.get(String(jobId));
    assert(entry !== undefined, 'what is under way is held');
    entry.state = 'succeeded';
  }

  async keepHolding(): Promise<void> {
    const known = [...this.held.values()].map(async ({ wakeUp, storing }) => storing ?? wakeUp);
    const held = (await Promise.all(known)).filter(({ isStored }) => isStored === 'yes');
    for (let from = 0; from < held.length; from += 1_000)
      await this.options.wakeUps.keep(held.slice(from, from + 1_000));
  }

  /** Takes no more. */
  close(): void {
    this.closed = true;
  }

  /** Gives back the wake-ups that are held but not being handled, or just being taken, and waits for what is in progress. */
  async handOver(): Promise<void> {
    this.ready.length = 0;
    for (const entry of this.held.values())
      if (entry.state === 'waiting') void this.release(entry, (wakeUp) => this.options.wakeUps.handOver(wakeUp));
    while (this.writes.size + this.takes.size > 0) await Promise.all([...this.writes, ...this.takes]);
  }

  /** One at a time: Agenda would take all there are before it runs the first. */
  async getNextJobToRun(): Promise<JobParameters | undefined> {
    if (this.closed || !this.options.channel.isAsking) return undefined;
    if (this.gaveOne) {
      this.gaveOne = false;
      this.options.channel.ring();
      return undefined;
    }
    const wakeUp = this.ready.shift() ?? (await this.takeOrRetry());
    if (wakeUp === undefined) return undefined;
    this.gaveOne = true;
    const { key, stamp, failCount } = wakeUp;
    return {
      _id: toJobId(stamp),
      name: JOB_NAME,
      type: 'normal',
      priority: 0,
      nextRunAt: null,
      lockedAt: NEVER,
      failCount,
      data: { key },
    };
  }

  /**
   * Agenda calls this before a run, with a lock, and after it, without. It must not wait for the write: Agenda takes a
   * run during its write for one that has lost its lock, and reports it as an error after half a second.
   */
  async saveJobState({ _id, lockedAt, nextRunAt, failCount }: JobParameters): Promise<void> {
    const entry = this.held.get(String(_id));
    if (lockedAt !== undefined || entry === undefined) return;
    const { wakeUps } = this.options;
    if (entry.state === 'succeeded') return void this.release(entry, (wakeUp) => wakeUps.end(wakeUp));
    const at = nextRunAt?.getTime() ?? this.options.clock.now() + PATIENCE_MS;
    void this.release(entry, (wakeUp) => wakeUps.putBack(wakeUp, at, failCount ?? 0)).then(() =>
      this.options.channel.ringAt(at),
    );
  }

  /** Agenda has no place for it after all. It does not wait for the answer. */
  async unlockJob({ _id }: JobParameters): Promise<void> {
    const entry = this.held.get(String(_id));
    if (entry?.state === 'waiting') this.ready.unshift(entry.wakeUp);
  }

  /** Agenda calls it when it stops; `handOver` does the work, including the jobs that Agenda was just being given. */
  async unlockJobs(): Promise<void> {}

  // Agenda calls none of the following for jobs that it did not make itself.
  queryJobs = unused;
  getJobsOverview = unused;
  getDistinctJobNames = unused;
  getJobById = unused;
  getQueueSize = unused;
  removeJobs = unused;
  saveJob = unused;
  lockJob = unused;
  disableJobs = unused;
  enableJobs = unused;
  purgeAllJobs = unused;

  /** A failed query is repeated soon: the poll may be slow, and a stream may have survived the outage. */
  private async takeOrRetry(): Promise<HeldWakeUp | undefined> {
    const taken = this.take();
    const over: Promise<void> = taken.then(ignored, ignored).finally(() => this.takes.delete(over));
    this.takes.add(over);
    try {
      return await taken;
    } catch (error) {
      this.options.channel.ringAt(this.options.clock.now() + PATIENCE_MS);
      throw error;
    }
  }

  private async take(): Promise<HeldWakeUp | undefined> {
    const { wakeUps, clock, channel } = this.options;
    const patienceMs = this.heldCount >= EAGER_WAKE_UPS ? PATIENCE_MS : 0;
    const answered = channel.question();
    const [first, ...others] = await this.takeSome(clock.now() - patienceMs);
    if (first === undefined) {
      if (patienceMs === 0) answered();
      const firstAt = await wakeUps.firstAt();
      if (firstAt !== undefined) channel.ringAt(firstAt + patienceMs);
      return undefined;
    }
    if (this.closed) {
      await Promise.all([first, ...others].map((wakeUp) => this.write(wakeUps.handOver(wakeUp))));
      return undefined;
    }
    for (const wakeUp of [first, ...others]) this.keep(wakeUp);
    this.ready.push(...others);
    return first;
  }

  /** Takes as many as there are free slots, so that other processes get the rest; takes one if there are none. */
  private async takeSome(at: number): Promise<readonly HeldWakeUp[]> {
    const most = Math.max(1, Math.min(this.options.limit, EAGER_WAKE_UPS) - this.heldCount - this.asked);
    this.asked += most;
    try {
      return await this.options.wakeUps.take(at, this.keepAfterMs === 0 || this.hasLasting, most);
    } finally {
      this.asked -= most;
    }
  }

  /** Whether a handler has taken so long that its wake-up is stored. */
  private get hasLasting(): boolean {
    for (const { wakeUp, storing } of this.held.values())
      if (storing !== undefined || wakeUp.isStored !== 'no') return true;
    return false;
  }

  private keep(wakeUp: HeldWakeUp): void {
    const entry: Held = { wakeUp, state: 'waiting' };
    this.held.set(wakeUp.stamp, entry);
    if (wakeUp.isStored === 'no')
      entry.cancelStoring = this.options.clock.after(this.keepAfterMs, () => {
        entry.storing = this.store(wakeUp);
        void this.write(entry.storing.then(() => undefined));
      });
  }

  private store(wakeUp: HeldWakeUp): Promise<HeldWakeUp> {
    return this.options.wakeUps.store(wakeUp).then(
      (isStored) => ({ ...wakeUp, isStored: isStored ? 'yes' : 'no' }),
      (error: unknown) => {
        this.options.onTrouble(error);
        return { ...wakeUp, isStored: 'perhaps' };
      },
    );
  }

  /** Holds it no more. */
  private release(entry: Held, how: (wakeUp: HeldWakeUp) => Promise<void>): Promise<void> {
    this.held.delete(entry.wakeUp.stamp);
    entry.cancelStoring?.();
    return this.write(entry.storing === undefined ? how(entry.wakeUp) : entry.storing.then(how));
  }

  /** A write that is lost leaves the wake-up to come due again by itself, so it is reported and no more. */
  private write(written: Promise<void>): Promise<void> {
    const kept: Promise<void> = written
      .catch((error: unknown) => this.options.onTrouble(error))
      .finally(() => this.writes.delete(kept));
    this.writes.add(kept);
    return kept;
  }
}

function ignored(): void {}

async function unused(): Promise<never> {
  throw new Error('Agenda is given its jobs, and asks for nothing else.');
}
