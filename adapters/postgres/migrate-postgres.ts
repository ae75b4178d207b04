import { setTimeout as wait } from 'node:timers/promises';
import type pg from 'pg';
import type { PostgresConnection } from './connection.js';
import { PostgresRefused, SCHEMA_MISSING, sqlStateOf, storeError, TABLE_MISSING } from './errors.js';
import { MIGRATIONS } from './schema.js';

/** The migrations that a database has: the number of the last one, and of the oldest that its data allows. */
export interface SchemaState {
  readonly version: number;
  readonly readableFrom: number;
}

/** Reads the state of the schema; version 0 if there is none. Throws `StoreUnavailable`. */
export async function schemaState(connection: PostgresConnection): Promise<SchemaState> {
  try {
    const { rows } = await connection.ask(READ_STATE);
    return rows[0] as unknown as SchemaState;
  } catch (error) {
    if ([TABLE_MISSING, SCHEMA_MISSING].includes(sqlStateOf(error) ?? '')) return { version: 0, readableFrom: 0 };
    throw error;
  }
}

const READ_STATE = `SELECT coalesce(max(number), 0)::int AS version, coalesce(max(readable_from), 0)::int AS "readableFrom"
  FROM darkroom.migrations`;

/** Marks a database that an installation is copied into, in a way that every release refuses to use it. */
const COPYING = { number: 0, readableFrom: 2_147_483_647 } as const;

/** Whether a copy into this database was started and is not complete. */
export function isBeingCopied({ readableFrom }: SchemaState): boolean {
  return readableFrom === COPYING.readableFrom;
}

export const BEGIN_COPY = `INSERT INTO darkroom.migrations (number, name, readable_from)
  VALUES (${COPYING.number}, 'An installation is being copied', ${COPYING.readableFrom}) ON CONFLICT DO NOTHING`;
export const END_COPY = `DELETE FROM darkroom.migrations WHERE number = ${COPYING.number}`;

/** Refuses a database that a newer release has changed so that this one would damage it, and one that is not copied yet. */
export function checkReadable(connection: PostgresConnection, state: SchemaState): void {
  const { version, readableFrom } = state;
  if (isBeingCopied(state))
    throw new PostgresRefused(
      `The copy of an installation into database ${connection.address.database} has not finished; run darkroom copy again.`,
    );
  if (readableFrom > MIGRATIONS.length)
    throw new PostgresRefused(
      `Database ${connection.address.database} has schema ${version}, which this release cannot read; use the release that wrote it, or a later one.`,
    );
}

/** Refuses a database that `migratePostgres` has not brought up to date. */
export function checkMigrated(connection: PostgresConnection, state: SchemaState): void {
  checkReadable(connection, state);
  if (state.version < MIGRATIONS.length)
    throw new PostgresRefused(
      `Database ${connection.address.database} has schema ${state.version} and needs ${MIGRATIONS.length}; run darkroom migrate first, or correct postgres.url.`,
    );
}

/** One migration at a time in a database, by a lock of its own name. */
export const LOCK = `SELECT pg_advisory_xact_lock(hashtextextended('darkroom migrations', 0))`;
/**
 * How long a migration waits for the statements of running processes. While an `ALTER TABLE` waits, everything behind it waits
 * too, so it gives up soon and tries again.
 */
const LOCK_TIMEOUT_MS = 2_000;
const TRIES = 30;
const RETRY_MS = 500;

/**
 * Applies the migrations that are missing, each as a transaction of its own, also beside running processes; returns a line for
 * each. Throws `PostgresRefused` and `StoreUnavailable`.
 */
export async function migratePostgres(connection: PostgresConnection): Promise<readonly string[]> {
  checkReadable(connection, await schemaState(connection));
  return applyMigrations(connection);
}

/** The same without a look at what the database holds. */
export async function applyMigrations(connection: PostgresConnection): Promise<readonly string[]> {
  const lines: string[] = [];
  const client = await connection.connectDirectly({ applicationName: 'darkroom migrate' });
  try {
    await client.query(PREPARE);
    for (const index of MIGRATIONS.keys()) if (await applied(client, index)) lines.push(lineOf(index));
    return lines;
  } catch (error) {
    throw storeError(error);
  } finally {
    await client.end().catch(() => undefined);
  }
}

function lineOf(index: number): string {
  return `Applied migration ${index + 1}: ${MIGRATIONS[index]?.name ?? ''}.`;
}

/** Two processes that create the same thing at the same moment may both fail: each does it under the lock. */
const PREPARE = `BEGIN; ${LOCK}; CREATE SCHEMA IF NOT EXISTS darkroom;
  CREATE TABLE IF NOT EXISTS darkroom.migrations (
    number int PRIMARY KEY, name text NOT NULL, readable_from int NOT NULL, at timestamptz NOT NULL DEFAULT now()
  ); COMMIT`;

const LOCK_NOT_AVAILABLE = '55P03';

async function applied(client: pg.Client, index: number): Promise<boolean> {
  for (let left = TRIES; ; left -= 1) {
    try {
      return await applyNow(client, index);
    } catch (error) {
      await client.query('ROLLBACK');
      if (sqlStateOf(error) !== LOCK_NOT_AVAILABLE || left === 0) throw error;
      await wait(RETRY_MS);
    }
  }
}

async function applyNow(client: pg.Client, index: number): Promise<boolean> {
  const migration = MIGRATIONS[index];
  if (migration === undefined) return false;
  await client.query(`BEGIN; ${LOCK}; SET LOCAL lock_timeout = ${LOCK_TIMEOUT_MS}`);
  const { rowCount } = await client.query('SELECT FROM darkroom.migrations WHERE number = $1', [index + 1]);
  const isNew = rowCount === 0;
  if (isNew) {
    await client.query(migration.sql);
    await client.query('INSERT INTO darkroom.migrations (number, name, readable_from) VALUES ($1, $2, $3)', [
      index + 1,
      migration.name,
      migration.readableFrom,
    ]);
  }
  await client.query('COMMIT');
  return isNew;
}
