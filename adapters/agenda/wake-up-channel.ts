import { BaseNotificationChannel, toJobId } from 'agenda';
import type { Clock } from '../../core/ports/machine.js';
import { type AnnouncementListener, type Announcements, JOB_NAME } from './wake-up-store.js';

/** How many wake-ups are queried for concurrently; each query takes one. */
const MAX_ASKING = 4;
/** Alarms further away than this are set later. */
const MAX_ALARM_MS = 60_000;
/** Before listening again. */
const FIRST_PAUSE_MS = 1_000;

export interface WakeUpChannelOptions {
  readonly clock: Clock;
  /** Absent where the database is only polled. */
  readonly announcements?: Announcements;
  readonly pollMs: number;
  readonly onAnnouncementsLost: (error: unknown) => void;
}

/**
 * Makes Agenda look for a wake-up: on a poll, on a timer for the next known one, when a slot becomes free, and when
 * another process announces what it has scheduled. Announcements that are lost are listened to anew; the poll finds
 * whatever was missed in between.
 */
export class WakeUpChannel extends BaseNotificationChannel {
  private readonly options: WakeUpChannelOptions;
  private alarm: { readonly at: number; readonly cancel: () => void } | undefined;
  private asking = 0;
  private askAgain = false;
  /** How often it was rung, and that count at the time of the last poll that found nothing. */
  private rings = 0;
  private answeredRings = 0;
  private listener: AnnouncementListener | undefined;
  private listening: { close(): void } | undefined;
  private pauseMs = FIRST_PAUSE_MS;
  private cancelReopening: () => void = () => undefined;
  private cancelPoll: () => void = () => undefined;

  constructor(options: WakeUpChannelOptions) {
    super();
    this.options = options;
  }

  async connect(): Promise<void> {
    this.setState('connected');
    this.listen();
    this.pollLater();
  }

  async disconnect(): Promise<void> {
    this.setState('disconnected');
    this.alarm?.cancel();
    this.alarm = undefined;
    this.cancelReopening();
    this.cancelPoll();
    this.closeListening();
  }

  /** The store announces what it writes, so there is nothing to publish. */
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
    const { clock, pollMs, announcements } = this.options;
    const factor = this.listening === undefined ? 1 : (announcements?.pollFactor ?? 1);
    this.cancelPoll = clock.after(pollMs * factor, () => {
      this.ring();
      this.pollLater();
    });
  }

  private listen(): void {
    const listener: AnnouncementListener = {
      heard: (at) => {
        this.pauseMs = FIRST_PAUSE_MS;
        this.ringAt(at);
      },
      lost: (error) => this.lost(listener, error),
    };
    this.listener = listener;
    this.listening = this.options.announcements?.listen(listener);
    if (this.listening !== undefined) this.ring();
  }

  private lost(listener: AnnouncementListener, error: unknown): void {
    if (this.listener !== listener || this.state !== 'connected') return;
    this.closeListening();
    this.options.onAnnouncementsLost(error);
    const { clock, announcements } = this.options;
    this.cancelReopening = clock.after(this.pauseMs, () => this.listen());
    this.pauseMs = Math.min(2 * this.pauseMs, announcements?.longestPauseMs ?? this.pauseMs);
  }

  private closeListening(): void {
    this.listener = undefined;
    this.listening?.close();
    this.listening = undefined;
  }
}
