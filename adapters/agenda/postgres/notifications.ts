import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Client, Notification } from 'pg';
import type { Clock } from '../../../core/ports/machine.js';
import type { AnnouncementListener, Announcements } from '../wake-up-store.js';
import type { LentPostgres } from './wake-up-rows.js';

const CHANNEL = 'darkroom_wake_ups';
/** At most one notification is sent in this time. */
const GAP_MS = 5;
/** Later wake-ups are found by then without having been announced. */
const ANNOUNCED_WITHIN_MS = 60_000;
/** How often a process checks that it receives its own notifications. */
const CHECK_MS = 15_000;
/** The client of PostgreSQL knows this limit, and its types do not. */
const LISTEN = { text: `LISTEN ${CHANNEL}`, query_timeout: 5_000 };
/** A transaction that does nothing else has nothing to write before its commit, which then waits for no disk or replica. */
const NOTIFY = `SELECT pg_notify('${CHANNEL}', $1)`;

/**
 * Announces wake-ups by NOTIFY. A notification is sent after the writes, because within their transactions it would make
 * commits wait for each other, and one notification stands for all writes of a few milliseconds. It carries the time of the
 * first of them; every process finds the next one by itself. One connection listens. A process also receives its own
 * notifications, so it detects a silent connection: behind a pooler, or to a server that is no longer the primary.
 */
export class Notifications implements Announcements {
  // A lost notification is noticed late, and polling costs little.
  readonly pollFactor = 1;
  readonly longestPauseMs = 30_000;
  private readonly id = randomUUID();
  private earliest = Infinity;
  private sending: Promise<void> | undefined;

  constructor(
    private readonly lent: LentPostgres,
    private readonly clock: Clock,
  ) {}

  /** Resolves when the notification was sent. Never rejects, because a poll finds wake-ups that were not announced. */
  async announce(at: number): Promise<void> {
    if (at > this.clock.now() + ANNOUNCED_WITHIN_MS) return;
    this.earliest = Math.min(this.earliest, at);
    this.sending ??= this.send();
    await this.sending;
  }

  listen(listener: AnnouncementListener): { close(): void } {
    const ear = new Ear(this.id, this.lent, this.clock, listener, () => this.notify(this.id));
    return { close: () => ear.close() };
  }

  private async send(): Promise<void> {
    while (this.earliest < Infinity) {
      const at = this.earliest;
      this.earliest = Infinity;
      await this.notify(`${this.id} ${at}`);
      await sleep(GAP_MS);
    }
    // In the same turn as the last look, so that nothing is announced in between.
    this.sending = undefined;
  }

  private async notify(payload: string): Promise<void> {
    await this.lent.ask(NOTIFY, [payload]).catch(() => undefined);
  }
}

/** The connection that listens. */
class Ear {
  private client: Client | undefined;
  private isClosed = false;
  private hasHeardItself = true;
  private cancelCheck: () => void = () => undefined;

  /** `speak` sends a notification that only this process heeds. */
  constructor(
    private readonly id: string,
    private readonly lent: LentPostgres,
    private readonly clock: Clock,
    private readonly listener: AnnouncementListener,
    private readonly speak: () => Promise<void>,
  ) {
    this.open().catch((error: unknown) => this.lost(error));
  }

  close(): void {
    this.isClosed = true;
    this.cancelCheck();
    this.hangUp();
  }

  private async open(): Promise<void> {
    const client = await this.lent.connectDirectly({ applicationName: 'darkroom wake-ups' });
    this.client = client;
    if (this.isClosed) return this.hangUp();
    client.on('error', (error) => this.lost(error));
    client.on('end', () => this.lost(new Error('The server closed the connection that listens.')));
    client.on('notification', (notification) => this.hear(notification));
    await client.query({ ...LISTEN });
    if (this.isClosed) return;
    // Earlier announcements were not received.
    this.listener.heard(this.clock.now());
    this.checkLater();
  }

  private hear({ payload = '' }: Notification): void {
    const [id, at] = payload.split(' ');
    if (id === this.id) this.hasHeardItself = true;
    else if (at !== undefined) this.listener.heard(Number(at));
  }

  private checkLater(): void {
    this.cancelCheck = this.clock.after(CHECK_MS, () => {
      if (!this.hasHeardItself) return this.lost(new Error('The connection that listens does not hear this process.'));
      this.hasHeardItself = false;
      void this.speak();
      this.checkLater();
    });
  }

  private lost(error: unknown): void {
    if (!this.isClosed) this.listener.lost(error);
  }

  /** Without a farewell, for which a server that is gone would have to be waited for. */
  private hangUp(): void {
    this.client?.connection.stream.destroy();
  }
}
