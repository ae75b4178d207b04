import { Agenda, backoffStrategies, type Job } from 'agenda';
import { assert } from '../../core/assert.js';
import { subjectOf, wakeUpKey } from '../../core/ids.js';
import type { Log } from '../../core/log.js';
import type { Clock } from '../../core/ports/machine.js';
import type { WakeUps, WakeUpSubject } from '../../core/ports/wake-ups.js';
import { WakeUpChannel } from './wake-up-channel.js';
import { EAGER_WAKE_UPS, WakeUpRepository } from './wake-up-repository.js';
import { AgendaRefused, JOB_NAME, type OpenWakeUpStore, type WakeUpDatabase, type WokenBy } from './wake-up-store.js';

type Handler = Parameters<WakeUps['start']>[0];

const POLL_MS = 1_000;
const HOLD_MS = 20_000;
/** A wake-up whose subject is being handled here is left alone for this long; then any process may take it. */
const PUT_BACK_MS = 1_000;
const BACKOFF = backoffStrategies.exponential({ delay: 1_000, factor: 2, maxDelay: 60_000, maxRetries: Infinity });
/** Agenda's own intervals find nothing here, but each job leaves a timer of half as long behind. */
const AGENDA_INTERVAL_MS = 1_000;
const QUIET_MS = 60_000;
const SILENT: Log = { info: () => undefined, warn: () => undefined };

export interface AgendaWakeUpsOptions {
  readonly database: WakeUpDatabase;
  readonly clock: Clock;
  readonly wokenBy: WokenBy;
  /** How often the database is polled for wake-ups; less often while MongoDB's change stream is open. */
  readonly pollMs?: number;
  /** How long after a process has died its wake-ups come due again; extended while a handler runs. */
  readonly holdMs?: number;
  /** After how long a wake-up that is being handled is stored; 0: all are stored until they are done. */
  readonly keepAfterMs?: number;
  readonly log?: Log;
}

interface Delivery {
  readonly handler: Handler;
  readonly limit: number;
  readonly agenda: Agenda;
  readonly channel: WakeUpChannel;
  readonly repository: WakeUpRepository;
}

/**
 * Wake-ups shared by any number of processes, stored in a database and delivered by Agenda. A wake-up that is already
 * due when it is scheduled is stored as taken by this process, if it has a free slot, and delivered here without a
 * poll. Times come from the clocks of the processes: a process whose clock is fast takes wake-ups early by the
 * difference, and takes over those of a silent process after `holdMs` minus the difference.
 */
export class AgendaWakeUps implements WakeUps {
  private readonly holdMs: number;
  private readonly log: Log;
  private readonly underWay = new Map<string, Promise<void>>();
  private readonly schedules = new LatestWrites((key, at) => this.write(key, at));
  private readonly toldAt = new Map<string, number>();
  private delivery: Delivery | undefined;
  private cancelKeeping: () => void = () => undefined;
  private stopped = false;
  private ended = false;

  private constructor(
    private readonly options: AgendaWakeUpsOptions,
    private readonly opened: OpenWakeUpStore,
  ) {
    this.holdMs = options.holdMs ?? HOLD_MS;
    this.log = options.log ?? SILENT;
  }

  /**
   * Throws `AgendaRefused` when the database is not ready, or cannot tell of changes though it should, and
   * `StoreUnavailable`.
   */
  static async open(options: AgendaWakeUpsOptions): Promise<AgendaWakeUps> {
    const { database, clock, wokenBy, holdMs = HOLD_MS } = options;
    const missing = await database.missing();
    if (missing.length > 0) throw new AgendaRefused(`${missing.join(' ')} Run \`darkroom migrate\` first.`);
    return new AgendaWakeUps(options, await database.open({ clock, holdMs, wokenBy }));
  }

  /** Throws `StoreUnavailable` when the database does not answer; the wake-up may then be stored or not. */
  async schedule(subject: WakeUpSubject, at: number): Promise<void> {
    await this.schedules.write(wakeUpKey(subject), at);
  }

  async start(handler: Handler, limit: number): Promise<void> {
    assert(this.delivery === undefined && !this.stopped, 'wake-ups are started once');
    assert(Number.isInteger(limit) && limit >= 1, `a limit is at least 1, not ${limit}`);
    this.delivery = this.prepare(handler, limit);
    this.keepHolding();
    await this.delivery.agenda.start();
    // Only now is there a listener.
    this.delivery.channel.ring();
  }

  async stop(): Promise<void> {
    this.stopped = true;
    await this.stopDelivery();
  }

  private prepare(handler: Handler, limit: number): Delivery {
    const { database, clock, pollMs = POLL_MS, keepAfterMs } = this.options;
    const { store: wakeUps, announcements } = this.opened;
    const channel = new WakeUpChannel({
      clock,
      ...(announcements && { announcements }),
      pollMs,
      onAnnouncementsLost: (error) => this.announcementsLost(error),
    });
    const onTrouble = (error: unknown): void => this.outOfReach(error);
    const keeping = keepAfterMs === undefined ? {} : { keepAfterMs };
    const repository = new WakeUpRepository({ clock, wakeUps, limit, channel, onTrouble, ...keeping });
    const agenda = new Agenda({
      backend: {
        name: database.name,
        repository,
        ownsConnection: false,
        connect: () => repository.connect(),
        disconnect: async () => undefined,
      },
      notificationChannel: channel,
      processEvery: AGENDA_INTERVAL_MS,
      maxConcurrency: limit,
      lockLimit: limit,
    });
    const settings = { concurrency: limit, lockLimit: limit, lockLifetime: AGENDA_INTERVAL_MS, backoff: BACKOFF };
    agenda.define(
      JOB_NAME,
      (job: Job<void>, done) => {
        void this.run(job, done);
      },
      settings,
    );
    agenda.on('error', onTrouble);
    // Agenda frees the place after it has said so, and does not look for the next one by itself.
    agenda.on('complete', () => setImmediate(() => this.placeFree()));
    return { handler, limit, agenda, channel, repository };
  }

  private async write(key: string, at: number): Promise<void> {
    const { delivery } = this;
    if (delivery !== undefined && at <= this.options.clock.now() && this.hasHandFree(delivery, key)) {
      return delivery.repository.hold(key);
    }
    await this.opened.store.put(key, at);
    delivery?.channel.ringAt(at);
  }

  private hasHandFree({ repository, limit }: Delivery, key: string): boolean {
    return !this.stopped && !this.underWay.has(key) && repository.heldCount < Math.min(limit, EAGER_WAKE_UPS);
  }

  private async run(job: Job<void>, done: (error: Error | undefined) => void): Promise<void> {
    done(await this.deliver(job).then(() => undefined, anError));
  }

  private async deliver(job: Job<void>): Promise<void> {
    assert(this.delivery !== undefined, 'nothing is delivered before the start');
    const { repository } = this.delivery;
    const { key } = repository.started(job.attrs._id);
    if (this.underWay.has(key)) {
      job.schedule(new Date(this.options.clock.now() + PUT_BACK_MS));
      return;
    }
    const handled = this.delivery.handler(subjectOf(key));
    this.underWay.set(key, handled);
    try {
      await handled;
      repository.succeeded(job.attrs._id);
    } finally {
      this.underWay.delete(key);
    }
  }

  private placeFree(): void {
    if (this.delivery === undefined) return;
    const { repository, channel } = this.delivery;
    if (repository.readyCount > 0 || channel.mayHaveMissed) channel.ring();
  }

  private keepHolding(): void {
    if (this.ended) return;
    this.cancelKeeping = this.options.clock.after(this.holdMs / 4, () => {
      const kept = this.delivery?.repository.keepHolding() ?? Promise.resolve();
      void kept.catch((error: unknown) => this.outOfReach(error)).finally(() => this.keepHolding());
    });
  }

  private async stopDelivery(): Promise<void> {
    const { delivery } = this;
    if (delivery === undefined) return;
    delivery.repository.close();
    await delivery.agenda.stop();
    await delivery.repository.handOver();
    while (this.underWay.size > 0) await Promise.allSettled(this.underWay.values());
    // Agenda ends a job a few steps after its handler.
    await new Promise((resolve) => {
      setImmediate(resolve);
    });
    await delivery.repository.handOver();
    this.ended = true;
    this.cancelKeeping();
  }

  private announcementsLost(error: unknown): void {
    if (this.isNews('announcements')) this.log.warn('wake-up stream lost', { error });
  }

  private outOfReach(error: unknown): void {
    if (this.isNews('store')) this.log.warn('wake-ups not fetched', { error });
  }

  /** Reporting the same fault once per minute is enough. */
  private isNews(trouble: string): boolean {
    const now = this.options.clock.now();
    if (now < (this.toldAt.get(trouble) ?? -Infinity) + QUIET_MS) return false;
    this.toldAt.set(trouble, now);
    return true;
  }
}

/** Agenda takes a job for done whose failure is not an error. */
function anError(error: unknown): Error {
  return error instanceof Error ? error : new Error('A wake-up handler failed.', { cause: error });
}

/**
 * Writes the times of many keys, those of one key in the order given. Times given while a write of their key is in
 * progress are written once after it, with the last time given, so that at most two writes of a key are pending.
 */
class LatestWrites {
  private readonly underWay = new Map<string, Promise<void>>();
  private readonly next = new Map<string, { at: number; readonly written: Promise<void> }>();

  constructor(private readonly writeOne: (key: string, at: number) => Promise<void>) {}

  /** Settles as the write does that carries this time, or a later one given for the same key. */
  write(key: string, at: number): Promise<void> {
    const next = this.next.get(key);
    if (next !== undefined) {
      next.at = at;
      return next.written;
    }
    const before = this.underWay.get(key);
    return before === undefined ? this.begin(key, at) : this.follow(key, at, before);
  }

  private begin(key: string, at: number): Promise<void> {
    const written = this.writeOne(key, at).finally(() => this.underWay.delete(key));
    this.underWay.set(key, written);
    return written;
  }

  private follow(key: string, at: number, before: Promise<void>): Promise<void> {
    const written: Promise<void> = before
      .catch(() => undefined)
      .then(() => {
        this.next.delete(key);
        return this.begin(key, entry.at);
      });
    const entry = { at, written };
    this.next.set(key, entry);
    return written;
  }
}
