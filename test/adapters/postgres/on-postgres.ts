import { PostgresConnection, type PostgresOptions } from '../../../adapters/postgres/connection.js';
import { migratePostgres } from '../../../adapters/postgres/migrate-postgres.js';
import { type PostgresStores, storesOver } from '../../../adapters/postgres/open-postgres.js';
import type { ContractSubject } from '../../contracts/subject.js';
import { freshPostgresDatabase, type FreshPostgresDatabase } from '../../servers/fresh-places.js';
import { orSkip, postgresServer } from '../../servers/servers.js';

export type PostgresVersion = '18' | '15';
export const POSTGRES_VERSIONS: readonly PostgresVersion[] = ['18', '15'];

/** Far longer than the server takes on a busy machine. */
const PATIENCE_MS = 120_000;

/** A database of a suite's own, ready to be used, and the stores that the suite opened on it. */
export class PostgresPlace {
  private constructor(
    private readonly database: FreshPostgresDatabase,
    readonly connection: PostgresConnection,
    private readonly emptying: string,
  ) {}

  static async prepare(database: FreshPostgresDatabase): Promise<PostgresPlace> {
    const connection = new PostgresConnection({ url: database.url, timeoutMs: PATIENCE_MS });
    await migratePostgres(connection);
    const { rows } = await connection.ask(
      `SELECT tablename AS name FROM pg_tables WHERE schemaname = 'darkroom' AND tablename <> 'migrations'`,
    );
    const emptying = rows.map((row, index) => `t${index} AS (DELETE FROM darkroom.${row['name'] as string})`);
    return new PostgresPlace(database, connection, `WITH ${emptying.join(', ')} SELECT`);
  }

  get options(): PostgresOptions {
    return { url: this.database.url };
  }

  /** The stores over the emptied database. */
  async open(): Promise<PostgresStores> {
    await this.connection.ask(this.emptying);
    return this.another();
  }

  /** The stores of another process, over the same connections. */
  another(): PostgresStores {
    return storesOver(this.connection);
  }

  async remove(): Promise<void> {
    await this.connection.close();
    await this.database.drop();
  }
}

/** A suite for each version of the server, with its own database, which is dropped afterwards. */
export function onPostgres(title: string, suite: (place: () => PostgresPlace, version: PostgresVersion) => void): void {
  for (const version of POSTGRES_VERSIONS) {
    describe(`${title} on PostgreSQL ${version}`, () => {
      let place: PostgresPlace | undefined;
      before(async function server() {
        place = await PostgresPlace.prepare(await freshPostgresDatabase(await orSkip(this, postgresServer(version))));
      });
      after(() => place?.remove());
      suite(() => {
        if (place === undefined) throw new Error('The suite has no database.');
        return place;
      }, version);
    });
  }
}

/** One of the stores of a place, for a contract. */
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
