import type pg from 'pg';
import type { CopyTarget } from '../driver.js';
import { COPIED_TABLE_NAMES } from '../copied-tables.js';
import { PostgresConnection, type PostgresOptions } from './connection.js';
import { isWrongData, PostgresRefused, storeError } from './errors.js';
import {
  applyMigrations,
  BEGIN_COPY,
  checkReadable,
  END_COPY,
  isBeingCopied,
  LOCK,
  schemaState,
} from './migrate-postgres.js';
import { checkServer, type ServerNeeds, storesOver } from './open-postgres.js';
import { insertRows, rowsOf } from './postgres-rows.js';

/** No caller waits for a statement of a copy. */
const PATIENCE_MS = 300_000;

/** The tables that may have rows before a copy: the database was migrated, and may be claimed by this installation. */
const KEPT = ['migrations', 'installation'];

/** Opens a database that an installation is to be copied into. Throws as `openPostgres` does. */
export async function openCopyTarget({ replicas = 0, ...options }: PostgresOptions & ServerNeeds): Promise<CopyTarget> {
  const connection = new PostgresConnection({ ...options, timeoutMs: PATIENCE_MS });
  let client: pg.Client | undefined;
  try {
    await checkServer(connection, replicas);
    client = await connection.connectDirectly({ applicationName: 'darkroom copy' });
    await requireAlone(connection, client);
    await requireUnused(connection);
    await applyMigrations(connection);
  } catch (error) {
    await client?.end().catch(() => undefined);
    await connection.close();
    throw connection.refusalOf(error);
  }
  const copying = client;
  const { installation, accounts, generations, usage } = storesOver(connection);
  return {
    stores: { accounts, generations, usage },
    installation,
    begin: () => begin(connection, copying),
    rows: (table) => rowsOf(connection, table),
    async write(table, rows) {
      try {
        await insertRows(connection, table, rows);
      } catch (error) {
        if (!isWrongData(error)) throw error;
        throw new PostgresRefused(`PostgreSQL cannot keep a row of ${table}: ${(error as Error).message}.`, error);
      }
    },
    async finish() {
      // Lists are read by the wrong index until the server knows how many rows there are.
      for (const table of COPIED_TABLE_NAMES) await connection.ask(`ANALYZE darkroom.${table}`);
      await connection.ask(END_COPY);
    },
    async close() {
      await copying.end().catch(() => undefined);
      await connection.close();
    },
  };
}

/** Two copies at a time would remove each other's rows. The lock ends with its connection. */
async function requireAlone(connection: PostgresConnection, client: pg.Client): Promise<void> {
  const { rows } = await client.query<{ taken: boolean }>(
    `SELECT pg_try_advisory_lock(hashtextextended('darkroom copy', 0)) AS taken`,
  );
  if (rows[0]?.taken !== true)
    throw new PostgresRefused(
      `Another process copies into database ${connection.address.database}; wait until it ends.`,
    );
}

/** Refuses a database that holds anything, unless it is from a copy that did not finish. */
async function requireUnused(connection: PostgresConnection): Promise<void> {
  const state = await schemaState(connection);
  if (isBeingCopied(state)) return;
  checkReadable(connection, state);
  for (const table of await emptiedTables(connection)) {
    const { rowCount } = await connection.ask(`SELECT FROM darkroom.${table} LIMIT 1`);
    if (rowCount > 0)
      throw new PostgresRefused(
        `Database ${connection.address.database} is in use (it has rows in ${table}); name an empty one in postgres.url.`,
      );
  }
}

async function emptiedTables(connection: PostgresConnection): Promise<readonly string[]> {
  const { rows } = await connection.ask(
    `SELECT quote_ident(tablename) AS name FROM pg_tables WHERE schemaname = 'darkroom' AND tablename <> ALL ($1)`,
    [KEPT],
  );
  return rows.map((row) => row['name'] as string);
}

/**
 * Marks the database and removes what an earlier copy has left, at one moment, and never what a server has written since the
 * database was looked at.
 */
async function begin(connection: PostgresConnection, client: pg.Client): Promise<void> {
  try {
    await client.query(`BEGIN; ${LOCK}`);
    if (!isBeingCopied(await schemaState(connection))) await requireUnused(connection);
    const tables = (await emptiedTables(connection)).map((name) => `darkroom.${name}`);
    await client.query(`${BEGIN_COPY}; TRUNCATE ${tables.join(', ')}; COMMIT`);
  } catch (error) {
    throw storeError(error);
  }
}
