// Goal: what was deleted or replaced is in no byte of the data folder once its remains are removed, and removing them fills
// neither the disk nor the folder of temporary files, whoever reads meanwhile.
// Method: thousands of generations with texts of all sizes, written and replaced in random order by a server, so that pages are
// reorganised; the texts of some are removed, and all files are searched. Others read beside it, and the sizes of the files are
// measured; the open files of this process are watched while a large file is written again.
import { expect } from 'chai';
import { readdirSync, readFileSync, readlinkSync, rmSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { configureWriter, type Database, openDatabase, rewriteFile } from '../../../adapters/sqlite/database.js';
import { openSqlite, type SqliteStores } from '../../../adapters/sqlite/open-sqlite.js';
import { entryOf } from '../../../core/search/words.js';
import { SeededIds } from '../../fixtures/memory-stores.js';
import { aGeneration, aPerson, uuidAt } from '../../fixtures/stored-records.js';
import { temporaryFolder } from './sqlite-subject.js';

const COUNT = 4_000;
const MIB = 1024 * 1024;

interface Place {
  readonly folder: string;
  readonly stores: SqliteStores;
  /** Another connection to the database. */
  readonly beside: () => Database;
  /** The bytes of a file of the folder. */
  readonly sizeOf: (name: string) => number;
}

async function withServer(test: (place: Place) => Promise<void>): Promise<void> {
  const folder = temporaryFolder();
  const stores = await openSqlite({ folder, role: 'server' });
  const opened: Database[] = [];
  const beside = () => {
    const database = openDatabase(join(folder, 'darkroom.db'));
    configureWriter(database);
    opened.push(database);
    return database;
  };
  try {
    await test({ folder, stores, beside, sizeOf: (name) => statSync(join(folder, name)).size });
  } finally {
    for (const database of opened) database.close();
    await stores.close();
    rmSync(folder, { recursive: true });
  }
}

/** Fills the file with this many MiB. */
function fill(database: Database, mebibytes: number): void {
  database.exec(`
    CREATE TABLE filler AS WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ${mebibytes * 16})
    SELECT randomblob(65536) FROM n;
    PRAGMA wal_checkpoint(TRUNCATE)`);
}

describe('remains of deleted content in a data folder', () => {
  it('are removed from the database and its log', () =>
    withServer(async ({ folder, stores }) => {
      const ids = new SeededIds(7);
      const drawn = () => ids.random(2).reduce((sum, byte) => sum * 256 + byte, 0);
      const isSecret = (n: number) => n % 20 === 0;
      const generation = (n: number, version: number) => {
        const text = isSecret(n) ? `SECRET-${n}-PROMPT concealedword` : 'plain';
        const clientTraceId = isSecret(n) ? `SECRET-${n}-TRACE` : `plain-${n}`;
        return aGeneration(n, { version, clientTraceId, prompt: `${text} ${'x'.repeat(drawn() % 6_000)}` });
      };
      // Pages of people hold many short records, and so are reorganised often.
      const person = (n: number, version: number) => {
        const email = `${n}-${isSecret(n) ? 'SECRET-' : 'plain'}@example.org`;
        return aPerson(n, { version, email, sessionEpoch: 'x'.repeat(drawn() % 400), passkeys: [] });
      };
      const order = Array.from({ length: COUNT }, (_, n) => n).sort(
        (a, b) => ((a * 7_919) % COUNT) - ((b * 7_919) % COUNT),
      );
      await Promise.all(order.map((n) => stores.generations.insert(generation(n, 0))));
      await Promise.all(order.map((n) => stores.people.insert(person(n, 0))));
      for (let at = 0; at < COUNT; at += 500)
        await stores.generationSearch.add(order.slice(at, at + 500).map((n) => entryOf(generation(n, 0))));
      const replaced = order.filter((n) => n % 3 === 0);
      await Promise.all(replaced.map((n) => stores.generations.replace(generation(n, 1), 0)));
      await Promise.all(replaced.map((n) => stores.people.replace(person(n, 1), 0)));
      const files = () => readdirSync(folder).map((name) => readFileSync(join(folder, name)));
      const hasSecrets = () =>
        files().some((bytes) => ['SECRET-', 'concealedword'].some((text) => bytes.includes(text)));
      const versionOf = (n: number) => (n % 3 === 0 ? 1 : 0);
      const secret = order.filter(isSecret);
      await stores.generationSearch.remove(secret.map((n) => uuidAt(n)));
      await Promise.all(secret.map((n) => stores.generations.remove(uuidAt(n), versionOf(n))));
      await Promise.all(secret.map((n) => stores.people.remove(uuidAt(n), versionOf(n))));
      expect(await stores.erasures.emptyLog()).to.equal('done');
      expect(hasSecrets(), 'in space that is not in use').to.equal(true);
      expect(await stores.erasures.removeRemains()).to.equal('done');
      expect(await stores.erasures.emptyLog()).to.equal('done');
      expect(hasSecrets()).to.equal(false);
    }));

  it('wait for a reader of an earlier state, without another copy of the file in each try', () =>
    withServer(async ({ stores, beside, sizeOf }) => {
      fill(beside(), 4);
      await stores.generations.insert(aGeneration(1));
      const reader = beside();
      reader.exec('BEGIN; SELECT count(*) FROM generations');
      await stores.generations.insert(aGeneration(2));
      for (let tries = 0; tries < 3; tries += 1) expect(await stores.erasures.removeRemains()).to.equal('later');
      expect(sizeOf('darkroom.db-wal')).to.be.below(MIB);
      reader.exec('COMMIT');
      expect(await stores.erasures.removeRemains()).to.equal('done');
      reader.exec('BEGIN; SELECT count(*) FROM generations');
      await stores.generations.insert(aGeneration(3));
      for (let tries = 0; tries < 3; tries += 1) expect(await stores.erasures.emptyLog()).to.equal('later');
      expect(sizeOf('darkroom.db-wal')).to.be.below(6 * MIB);
      reader.exec('COMMIT');
      expect(await stores.erasures.emptyLog()).to.equal('done');
      expect(sizeOf('darkroom.db-wal')).to.equal(0);
    }));

  it('stay where the disk has no room for another file, its log and 64 MiB, and the database stays as it is', () =>
    withServer(async ({ beside, sizeOf }) => {
      const database = beside();
      fill(database, 4);
      const needed = 2 * sizeOf('darkroom.db') + 64 * MIB;
      expect(rewriteFile(database, () => needed - 1)).to.equal('no-space');
      expect(sizeOf('darkroom.db-wal')).to.equal(0);
      expect(rewriteFile(database, () => needed)).to.equal('done');
    }));

  it('are removed from a large file by way of a temporary file in the data folder', async function () {
    if (process.platform !== 'linux') this.skip();
    await withServer(async ({ folder, stores, beside }) => {
      fill(beside(), 70);
      const seen = new Set<string>();
      const ended = new AbortController();
      const removal = stores.erasures.removeRemains().finally(() => ended.abort());
      while (!ended.signal.aborted) {
        for (const path of temporaryFiles()) seen.add(path);
        await new Promise((resolve) => setImmediate(resolve));
      }
      expect(await removal).to.equal('done');
      expect([...seen]).to.not.deep.equal([]);
      for (const path of seen) expect(path.startsWith(`${folder}/`), path).to.equal(true);
      expect(await stores.erasures.emptyLog()).to.equal('done');
      expect(readdirSync(folder).filter((name) => name.startsWith('etilqs'))).to.deep.equal([]);
    });
  });
});

/** The temporary files of SQLite that this process has open. */
function temporaryFiles(): string[] {
  return readdirSync('/proc/self/fd').flatMap((fd) => {
    try {
      const path = readlinkSync(`/proc/self/fd/${fd}`);
      return path.includes('etilqs') ? [path] : [];
    } catch {
      // It was closed since it was listed.
      return [];
    }
  });
}
