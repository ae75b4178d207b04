import { MongoChangeStreamNotificationChannel } from '@agendajs/mongo-backend';
import { BaseNotificationChannel, toJobId } from 'agenda';
import type { Db } from 'mongodb';
import type { Clock } from '../../core/ports/machine.js';
import { type AgendaDatabase, AgendaRefused, COLLECTION, JOB_NAME } from './wake-up-collection.js';

/** How many wake-ups are queried for concurrently; each query takes one. */
const MAX_ASKING = 4;
/** Alarms further away than this are set later. */
const MAX_ALARM_MS = 60_000;
const REOPEN_AFTER_MS = 1_000;
/** With a change stream, polls only find what the stream did not report, so they may be slower by this factor. */
const POLLS_WITH_STREAM = 5;
/**
 * If it were disabled, a stream closed by the server would end silently; with no attempts left it fails with an
 * error.
 */
const NO_RECONNECT = { enabled: true, maxAttempts: 0 };

export interface WakeUpChannelOptions {
  readonly db: Db;
  readonly clock: Clock;
  /** Whether the server has a change stream. */
  readonly streams: boolean;
  readonly pollMs: number;
  readonly onStreamLost: (error: unknown) => void;
}

/**
 * Makes Agenda look for a wake-up: on a poll, on a timer for the next known one, when a slot becomes free, and on the
 * change stream, which reports what other processes have scheduled. A stream that breaks is replaced by a new one,
 * because resuming at a point that the server no longer remembers would fail forever; the poll finds whatever was
 * missed in between.
 */
export class WakeUpChannel extends BaseNotificationChannel {
  private readonly options: WakeUpChannelOptions;
  private alarm: { readonly at: number; readonly cancel: () => void } | undefined;
  private asking = 0;
  private askAgain = false;
  /** How often it was rung, and that count at the time of the last poll that found nothing. */
  private rings = 0;
  private answeredRings = 0;
  private stream: MongoChangeStreamNotificationChannel | undefined;
  private cancelReopening: () => void = () => undefined;
  private cancelPoll: () => void = () => undefined;

  constructor(options: WakeUpChannelOptions) {
    super();
    this.options = options;
  }

  async connect(): Promise<void> {
    this.setState('connected');
    if (this.options.streams) this.openStream();
    this.pollLater();
  }

  async disconnect(): Promise<void> {
    this.setState('disconnected');
    this.alarm?.cancel();
    this.alarm = undefined;
    this.cancelReopening();
    this.cancelPoll();
    this.closeStream();
  }

  /** Other processes are notified through the change stream, so there is nothing to publish. */
  async publish(): Promise<void> {}

  /** Makes Agenda take a wake-up that is due now. */
  ring(): void {
    if (this.state !== 'connected') return;
    this.rings += 1;
    if (this.asking >= MAX_ASKING) {
      this.askAgain = true;
      return;
    }
    this.asking += 1;
    const notification = {
      jobId: toJobId(''),
      jobName: JOB_NAME,
      nextRunAt: null,
      priority: 0,
      timestamp: new Date(this.options.clock.now()),
    };
    void this.notifyHandlers(notification).finally(() => this.asked());
  }

  /** Rings at that time, or now if it is past. */
  ringAt(at: number): void {
    const { clock } = this.options;
    const delayMs = at - clock.now();
    if (delayMs <= 0) return this.ring();
    if (this.state !== 'connected' || delayMs > MAX_ALARM_MS) return;
    if (this.alarm !== undefined && this.alarm.at <= at) return;
    this.alarm?.cancel();
    const cancel = clock.after(delayMs, () => {
      this.alarm = undefined;
      this.ring();
    });
    this.alarm = { at, cancel };
  }

  /** Whether Agenda, having no place, may have passed over a wake-up that is due. */
  get mayHaveMissed(): boolean {
    return this.rings > this.answeredRings;
  }

  /** To be called before the question, and what it answers when there was nothing. */
  question(): () => void {
    const { rings } = this;
    return () => {
      this.answeredRings = Math.max(this.answeredRings, rings);
    };
  }

  /**
   * Agenda also polls by its own timers, which would outlive it by half of their interval; those polls are not
   * answered.
   */
  get isAsking(): boolean {
    return this.asking > 0;
  }

  private asked(): void {
    this.asking -= 1;
    if (!this.askAgain) return;
    this.askAgain = false;
    this.ring();
  }

  private pollLater(): void {
    const { clock, pollMs } = this.options;
    this.cancelPoll = clock.after(this.stream === undefined ? pollMs : pollMs * POLLS_WITH_STREAM, () => {
      this.ring();
      this.pollLater();
    });
  }

  private openStream(): void {
    const stream = new MongoChangeStreamNotificationChannel({
      db: this.options.db,
      collection: COLLECTION,
      fullDocument: false,
      reconnect: NO_RECONNECT,
    });
    this.stream = stream;
    stream.on('error', (error) => this.lost(stream, error));
    stream.subscribe(({ nextRunAt }) => {
      if (nextRunAt !== null) this.ringAt(nextRunAt.getTime());
    });
    stream.connect().catch((error: unknown) => this.lost(stream, error));
    this.ring();
  }

  private lost(stream: MongoChangeStreamNotificationChannel, error: unknown): void {
    if (this.stream !== stream || this.state !== 'connected') return;
    this.closeStream();
    this.options.onStreamLost(error);
    this.cancelReopening = this.options.clock.after(REOPEN_AFTER_MS, () => this.openStream());
  }

  /**
   * Does not wait for the server's confirmation: with the connection lost that may take long, and no more events come
   * from it.
   */
  private closeStream(): void {
    const { stream } = this;
    this.stream = undefined;
    stream?.disconnect().catch(() => undefined);
  }
}

/** How a process learns of wake-ups that others have scheduled. */
export type WokenBy = 'auto' | 'change-streams' | 'polling';

/**
 * Whether there is to be a change stream. Throws `AgendaRefused` if one is configured for a server that has none, and
 * `StoreUnavailable`.
 */
export async function hearsOfChanges(database: AgendaDatabase, wokenBy: WokenBy): Promise<boolean> {
  if (wokenBy === 'polling') return false;
  const hello = await database.ask(() => database.db.command({ hello: 1 }));
  // Only members of a replica set report its name, and only a router responds with this message.
  const tells = hello['setName'] !== undefined || hello['msg'] === 'isdbgrid';
  if (wokenBy === 'change-streams' && !tells) {
    throw new AgendaRefused(
      'The MongoDB server is not part of a replica set, so it has no change streams; set agenda.woken_by to auto or polling.',
    );
  }
  return tells;
}
