/**
 * Goal: a copy from SQLite or MongoDB to PostgreSQL includes the whole installation, and every port returns the same records
 * there. A target in use is refused. A target with an unfinished copy cannot be opened, and the copy can be started again.
 * Method: records of every kind are written through the ports of one database, copied, read through the ports of the other, and
 * compared. The tables of each schema are compared with the list of copied tables.
 */
import { expect } from 'chai';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { COPIED_TABLE_NAMES, COPIED_TABLES, type CopiedTableName } from '../../../adapters/copied-tables.js';
import type { CopyTarget, DatabaseStores } from '../../../adapters/driver.js';
import { schemaCollections } from '../../../adapters/mongo/schema.js';
import { PostgresConnection } from '../../../adapters/postgres/connection.js';
import { openCopyTarget } from '../../../adapters/postgres/postgres-copy.js';
import { lookIntoPostgres, migrated, openPostgres } from '../../../adapters/postgres/open-postgres.js';
import { openSqlite } from '../../../adapters/sqlite/open-sqlite.js';
import { openDatabase } from '../../../adapters/sqlite/database.js';
import { contentOf, fillStores, MANY } from '../../fixtures/filled-stores.js';
import { freshPostgresDatabase, type FreshPostgresDatabase } from '../../servers/fresh-places.js';
import { orSkip, postgresServer } from '../../servers/servers.js';
import { onMongo } from '../mongo/on-mongo.js';

/** Tables that are rebuilt from copied ones, or that belong to the database itself. */
const LEFT_OUT = [
  'installation',
  'migrations',
  'wake_ups',
  'search_accounts',
  'search_entries',
  'search_terms',
  'search_progress',
];

type CopyTargetRows = ReturnType<CopyTarget['rows']>;

interface Source {
  readonly stores: DatabaseStores;
  rows(table: CopiedTableName): CopyTargetRows;
  close(): Promise<void>;
}

async function copied(from: Source, to: CopyTarget): Promise<void> {
  await to.begin();
  for (const table of COPIED_TABLE_NAMES)
    for await (const rows of from.rows(table)) {
      await to.write(table, rows);
    }
}

async function allRows(parts: CopyTargetRows): Promise<string[]> {
  const found: string[] = [];
  for await (const rows of parts) found.push(...rows.map((row) => JSON.stringify(row)));
  return found.toSorted();
}

function copies(title: string, source: () => Promise<Source>) {
  for (const version of ['18', '15'] as const)
    describe(`a copy from ${title} to PostgreSQL ${version}`, () => {
      let database: FreshPostgresDatabase;
      let from: Source;

      before(async function server() {
        database = await freshPostgresDatabase(await orSkip(this, postgresServer(version)));
        from = await source();
        await fillStores(from.stores);
      });
      after(async () => {
        await from?.close();
        await database?.drop();
      });

      it('that is interrupted cannot be opened, and starts again', async () => {
        const target = await openCopyTarget({ url: database.url });
        await copied(from, target);
        const second = await openCopyTarget({ url: database.url }).catch((error: Error) => error.message);
        expect(second).to.match(/^Another process copies into database /);
        await target.close();
        for (const open of [openPostgres, lookIntoPostgres, migrated])
          expect(await open({ url: database.url }).catch((error: Error) => error.message)).to.match(
            /^The copy of an installation into database darkroom-test-\w+ has not finished; run darkroom copy again\.$/,
          );
      });

      it('has every row, and returns the same records from every port', async () => {
        const target = await openCopyTarget({ url: database.url });
        await copied(from, target);
        for (const table of COPIED_TABLE_NAMES) {
          const rows = await allRows(target.rows(table));
          expect(rows, table).to.deep.equal(await allRows(from.rows(table)));
          expect(rows.length, table).to.be.above(0);
        }
        expect((await allRows(target.rows('generations'))).length).to.equal(MANY + 3);
        await target.finish();
        await target.close();
        const stores = await openPostgres({ url: database.url });
        try {
          expect(await contentOf(stores)).to.deep.equal(await contentOf(from.stores));
        } finally {
          await stores.close();
        }
      });

      it('into a database in use is refused', async () => {
        const refused = await openCopyTarget({ url: database.url }).catch((error: Error) => error.message);
        expect(refused).to.match(/ is in use \(it has rows in \w+\); name an empty one in postgres\.url\.$/);
      });
    });
}

describe('copying', () => {
  const folder = mkdtempSync(join(tmpdir(), 'darkroom-copied-'));
  after(() => rmSync(folder, { recursive: true, force: true }));

  copies('SQLite', async () => {
    const stores = await openSqlite({ folder: mkdtempSync(join(folder, 'source-')), role: 'server' });
    return { stores, rows: (table) => stores.rows(table), close: () => stores.close() };
  });

  it('knows every table of SQLite', async () => {
    const stores = await openSqlite({ folder, role: 'tool' });
    await stores.close();
    const tables = openDatabase(join(folder, 'darkroom.db'), { readOnly: true })
      .prepare(`SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%'`)
      .all();
    expect([...COPIED_TABLE_NAMES, ...LEFT_OUT]).to.include.members(tables.map(({ name }) => name));
  });

  it('knows every collection of MongoDB', () => {
    expect([...COPIED_TABLE_NAMES, ...LEFT_OUT]).to.include.members(schemaCollections().map(([name]) => name));
  });

  it('knows every table and column of PostgreSQL', async function server() {
    const database = await freshPostgresDatabase(await orSkip(this, postgresServer('18')));
    const connection = new PostgresConnection({ url: database.url });
    try {
      await migrated({ url: database.url });
      const { rows } = await connection.ask(
        `SELECT table_name AS table, column_name AS column FROM information_schema.columns WHERE table_schema = 'darkroom'`,
      );
      const columns = rows.map((row) => [row['table'] as string, row['column'] as string] as const);
      const tables = new Set(columns.map(([table]) => table));
      for (const left of LEFT_OUT) tables.delete(left);
      expect([...tables]).to.have.members([...COPIED_TABLE_NAMES]);
      for (const [table, column] of columns) {
        const known = COPIED_TABLES[table as CopiedTableName]?.columns.map(({ name }) => name);
        if (known !== undefined && !known.includes('doc')) expect(known, table).to.include(column);
      }
    } finally {
      await connection.close();
      await database.drop();
    }
  });
});

onMongo('Rows', (place) =>
  copies('MongoDB', async () => {
    const stores = await place().open();
    return { stores, rows: (table) => stores.rows(table), close: () => Promise.resolve() };
  }),
);
