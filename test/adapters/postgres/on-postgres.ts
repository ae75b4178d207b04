import type { PostgresOptions } from '../../../adapters/postgres/connection.js';
import { migratePostgres } from '../../../adapters/postgres/migrate-postgres.js';
import { type PostgresStores, storesOver } from '../../../adapters/postgres/open-postgres.js';
import type { ContractSubject } from '../../contracts/subject.js';
import { sizeOf } from '../../harness/run-sizes.js';
import { freshPostgresDatabase, type FreshPostgresDatabase } from '../../servers/fresh-places.js';
import { queryOnce, withClient } from '../../servers/postgres-client.js';
import { ServerProcess } from '../../servers/server-process.js';
import { orSkip, postgresServer } from '../../servers/servers.js';
import { RecordedConnection, StatementChecks } from './recorded-statements.js';

export type PostgresVersion = '18' | '15';

interface PostgresLane {
  readonly title: string;
  readonly version: PostgresVersion;
  /** Whether a PgBouncer that pools by transaction is in front of the server. */
  readonly isPooled: boolean;
}

/** The PostgreSQL setups of this run; every run includes the first. */
export const POSTGRES_LANES: readonly PostgresLane[] = [
  { title: 'PostgreSQL 18', version: '18', isPooled: false } as const,
  { title: 'PostgreSQL 15', version: '15', isPooled: false } as const,
  { title: 'PostgreSQL 18 behind PgBouncer', version: '18', isPooled: true } as const,
].slice(0, sizeOf('postgresLanes'));

/** Far longer than the server needs on a busy machine. */
const PATIENCE_MS = 120_000;

/** A migrated database for one suite, and the stores that the suite opens on it. */
export class PostgresPlace {
  private constructor(
    private readonly database: FreshPostgresDatabase,
    readonly options: PostgresOptions,
    readonly connection: RecordedConnection,
    private readonly emptying: string,
  ) {}

  static async prepare(database: FreshPostgresDatabase, pooler?: ServerProcess): Promise<PostgresPlace> {
    const options = pooler === undefined ? { url: database.url } : await optionsBehind(pooler, database);
    const connection = new RecordedConnection({ ...options, timeoutMs: PATIENCE_MS });
    await migratePostgres(connection);
    const { rows } = await connection.ask(
      `SELECT tablename::text AS name FROM pg_tables WHERE schemaname = 'darkroom' AND tablename <> 'migrations'`,
    );
    const emptying = rows.map((row, index) => `t${index} AS (DELETE FROM darkroom.${row['name'] as string})`);
    connection.texts.clear();
    return new PostgresPlace(database, options, connection, `WITH ${emptying.join(', ')} SELECT`);
  }

  /** Empties the database, and opens the stores. */
  async open(): Promise<PostgresStores> {
    await this.connection.ask(this.emptying);
    this.connection.texts.delete(this.emptying);
    return this.another();
  }

  /** Opens the stores of another process over the same connections. */
  another(): PostgresStores {
    return storesOver(this.connection);
  }

  /** Checks all statements that were sent so far. */
  checkStatements(check: (checks: StatementChecks) => Promise<void>): Promise<void> {
    return withClient(this.database.url, (client) => check(new StatementChecks(client, [...this.connection.texts])));
  }

  async remove(): Promise<void> {
    await this.connection.close();
    await this.database.drop();
  }
}

/** The options behind a pooler: statements are prepared if it supports that, as PgBouncer 1.21 and later can. */
async function optionsBehind(
  pooler: ServerProcess,
  { url, database }: FreshPostgresDatabase,
): Promise<PostgresOptions> {
  const rows = await queryOnce(pooler.url.replace(/postgres$/, 'pgbouncer'), 'SHOW CONFIG');
  const kept = rows.find((row) => row['key'] === 'max_prepared_statements')?.['value'] ?? '0';
  return { url: pooler.url.replace(/postgres$/, database), directUrl: url, prepared: kept !== '0' };
}

/**
 * Runs a suite for each PostgreSQL setup, on a new database that is dropped afterwards. At the end every statement is checked
 * against the schema and must use an index.
 */
export function onPostgres(title: string, suite: (place: () => PostgresPlace, version: PostgresVersion) => void): void {
  for (const lane of POSTGRES_LANES) {
    describe(`${title} on ${lane.title}`, () => {
      let place: PostgresPlace | undefined;
      let pooler: ServerProcess | undefined;
      before(async function server() {
        const own = await orSkip(this, postgresServer(lane.version));
        if (lane.isPooled) {
          const { hostname, port } = new URL(own.url);
          const lines = `* = host=${hostname} port=${port}`;
          pooler = await orSkip(this, ServerProcess.start('pgbouncer', { lines }));
        }
        place = await PostgresPlace.prepare(await freshPostgresDatabase(own), pooler);
      });
      after(async () => {
        await place?.remove();
        await pooler?.stop();
      });
      const prepared = (): PostgresPlace => {
        if (place === undefined) throw new Error('The suite has no database.');
        return place;
      };

      suite(prepared, lane.version);

      // In a separate suite, because mocha runs tests beside suites before those suites.
      if (!lane.isPooled) describe('every statement', () => checking(prepared, lane.version));
    });
  }
}

function checking(place: () => PostgresPlace, version: PostgresVersion): void {
  it('is valid on the server, and returns the types that the stores read', () =>
    place().checkStatements((checks) => checks.expectTypes()));

  // Version 15 cannot explain a statement without its values.
  if (version === '18')
    it('finds rows by an index and lists them in its order, with and without table statistics', () =>
      place().checkStatements(async (checks) => {
        await checks.fill();
        await checks.expectIndexes();
        await checks.analyse();
        await checks.expectIndexes();
      }));
}

/** One store of a place, as the subject of a contract. */
export function postgresSubject<Port extends object>(
  place: () => PostgresPlace,
  pick: (stores: PostgresStores) => Port,
): ContractSubject<Port> {
  return {
    name: 'postgres',
    supports: {},
    open: async () => pick(await place().open()),
    close: () => Promise.resolve(),
  };
}
