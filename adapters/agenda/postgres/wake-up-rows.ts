import { randomUUID } from 'node:crypto';
import type { Client } from 'pg';
import type { Clock } from '../../../core/ports/machine.js';
import type { HeldWakeUp, WakeUpStore } from '../wake-up-store.js';

type SqlValue = string | number | readonly string[];

/** The part of PostgreSQL's connection that wake-ups use. */
export interface LentPostgres {
  /**
   * One statement, which is its own transaction, with a bound on its wait. Throws `StoreUnavailable` if the server was
   * unavailable or the time is over: the statement may then have happened, or may still happen. An `int8` comes as a
   * number.
   */
  ask(
    sql: string,
    values?: readonly SqlValue[],
  ): Promise<{ readonly rows: readonly Readonly<Record<string, unknown>>[]; readonly rowCount: number }>;
  /**
   * A connection of its own to the present primary, past any pooler, with a listener of its errors. The caller ends it.
   * Throws `StoreUnavailable`.
   */
  connectDirectly(options: { readonly applicationName: string }): Promise<Client>;
}

/**
 * The operations on the table, each one statement. A wake-up stays stored until it is ended: neither a process that dies
 * nor an answer that is lost loses one. Taking and ending a wake-up do not wait until they are durable: after a crash of
 * the server, the wake-up is only delivered again.
 */
export class WakeUpRows implements WakeUpStore {
  /** `announce` notifies other processes of a wake-up that was written. It resolves when that was sent, and never rejects. */
  constructor(
    private readonly lent: LentPostgres,
    private readonly clock: Clock,
    private readonly holdMs: number,
    private readonly announce: (at: number) => Promise<void>,
  ) {}

  async put(key: string, at: number): Promise<string> {
    const stamp = await this.write(key, at);
    void this.announce(at);
    return stamp;
  }

  async putHeld(key: string): Promise<HeldWakeUp> {
    return { key, stamp: await this.write(key, this.holdEnd()), failCount: 0, isStored: 'yes' };
  }

  async take(at: number, _stays: boolean, most: number): Promise<readonly HeldWakeUp[]> {
    const { rows } = await this.lent.ask(TAKE, [at, this.holdEnd(), most]);
    return rows.map((row) => ({
      key: row['subject'] as string,
      stamp: row['stamp'] as string,
      failCount: row['fail_count'] as number,
      isStored: 'yes',
    }));
  }

  /** Has nothing to do, because a wake-up that is taken stays stored. */
  async store(): Promise<boolean> {
    return true;
  }

  /** Due wake-ups that `take` did not return are being written by others: they are looked for again soon. */
  async firstAt(): Promise<number | undefined> {
    const { rows } = await this.lent.ask(FIRST);
    const at = rows[0]?.['at'] as number | undefined;
    return at === undefined ? undefined : Math.max(at, this.clock.now() + LOCKED_MS);
  }

  async end({ key, stamp }: HeldWakeUp): Promise<void> {
    await this.lent.ask(END, [key, stamp]);
  }

  async putBack({ key, stamp }: HeldWakeUp, at: number, failCount: number): Promise<void> {
    await this.lent.ask(PUT_BACK, [key, stamp, at, failCount, randomUUID()]);
  }

  async handOver(wakeUp: HeldWakeUp): Promise<void> {
    const now = this.clock.now();
    await this.putBack(wakeUp, now, wakeUp.failCount);
    await this.announce(now);
  }

  async keep(held: readonly HeldWakeUp[]): Promise<void> {
    await this.lent.ask(KEEP, [held.map(({ key }) => key), held.map(({ stamp }) => stamp), this.holdEnd()]);
  }

  private async write(key: string, at: number): Promise<string> {
    const stamp = randomUUID();
    await this.lent.ask(PUT, [key, at, stamp]);
    return stamp;
  }

  private holdEnd(): number {
    return this.clock.now() + this.holdMs;
  }
}

/** Longer than most transactions take that lock a row. */
const LOCKED_MS = 10;

export const TABLE = 'darkroom.agenda_wake_ups';

const PUT = `INSERT INTO ${TABLE} (subject, at, stamp, fail_count) VALUES ($1, $2, $3, 0)
ON CONFLICT (subject) DO UPDATE SET at = excluded.at, stamp = excluded.stamp, fail_count = 0`;

/** Evaluated for each row that is returned, so in the transaction that wrote it, before it commits. */
const NOT_WAITING = `set_config('synchronous_commit', 'off', true)`;

/** Rows that another process is writing are passed over. */
const TAKE = `UPDATE ${TABLE} SET at = $2, stamp = gen_random_uuid()
WHERE subject = ANY (ARRAY(
  SELECT subject FROM ${TABLE} WHERE at <= $1 ORDER BY at, subject LIMIT $3 FOR UPDATE SKIP LOCKED))
RETURNING subject, stamp, fail_count, ${NOT_WAITING}`;

const FIRST = `SELECT at FROM ${TABLE} ORDER BY at, subject LIMIT 1`;

const END = `DELETE FROM ${TABLE} WHERE subject = $1 AND stamp = $2 RETURNING ${NOT_WAITING}`;

const PUT_BACK = `UPDATE ${TABLE} SET at = $3, fail_count = $4, stamp = $5 WHERE subject = $1 AND stamp = $2`;

/** Locks in the order of the subjects, so that two of these cannot wait for each other. */
const KEEP = `UPDATE ${TABLE} SET at = $3
WHERE subject = ANY (ARRAY(
  SELECT w.subject FROM ${TABLE} w JOIN unnest($1::text[], $2::uuid[]) AS held (subject, stamp)
    ON w.subject = held.subject AND w.stamp = held.stamp
  ORDER BY w.subject FOR UPDATE OF w))`;

/** Every statement, for a test that prepares them. */
export const STATEMENTS = [PUT, TAKE, FIRST, END, PUT_BACK, KEEP] as const;
