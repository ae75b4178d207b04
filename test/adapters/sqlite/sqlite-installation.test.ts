// Goal: a database file stores the facts that it was first used with, even if several processes claim it at once; a
// file of an older release can store them too.
// Method: stores over one folder, opened again, twice at once and read-only; a file with the previous schema.
import { expect } from 'chai';
import { readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { openDatabase } from '../../../adapters/sqlite/driver.js';
import { openSqlite, type SqliteOptions, type SqliteStores } from '../../../adapters/sqlite/open-sqlite.js';
import { MIGRATIONS } from '../../../adapters/sqlite/schema.js';
import { anAccount } from '../../fixtures/stored-records.js';
import { temporaryFolder } from './sqlite-subject.js';

const FACTS = { secret: 'one', objects: 'one' };

describe('SqliteInstallation', () => {
  let folder: string;
  const open: SqliteStores[] = [];
  beforeEach(() => {
    folder = temporaryFolder();
  });
  afterEach(async () => {
    await closeAll();
    rmSync(folder, { recursive: true });
  });

  async function opened(options: Partial<SqliteOptions> = {}): Promise<SqliteStores> {
    const stores = await openSqlite({ folder, role: 'tool', ...options });
    open.push(stores);
    return stores;
  }

  async function closeAll(): Promise<void> {
    for (const stores of open.splice(0)) await stores.close();
  }

  it('stores the first facts, and tells any later process which of its own differs', async () => {
    const first = await opened({ role: 'server' });
    expect(await first.installation.check({ secret: 'any', objects: 'any' }), 'before there are any').to.equal('same');
    expect(await first.installation.claim(FACTS)).to.equal('same');
    await closeAll();
    for (const options of [{ role: 'server' }, { role: 'tool' }] as const) {
      const { installation } = await opened(options);
      for (const ask of ['claim', 'check'] as const) {
        expect(await installation[ask](FACTS)).to.equal('same');
        expect(await installation[ask]({ ...FACTS, secret: 'two' })).to.deep.equal({ other: 'secret' });
        expect(await installation[ask]({ ...FACTS, objects: 'two' })).to.deep.equal({ other: 'objects' });
      }
      expect(await installation.check({ secret: 'one' })).to.equal('same');
      expect(await installation.check({})).to.equal('same');
    }
  });

  it('stores the facts of one of several concurrent processes', async () => {
    const stores = [await opened(), await opened()];
    const answers = await Promise.all(
      stores.flatMap(({ installation }, side) =>
        Array.from({ length: 8 }, (_, n) => installation.claim({ ...FACTS, secret: `secret ${side}-${n}` })),
      ),
    );
    expect(answers.filter((answer) => answer === 'same').length).to.equal(1);
  });

  it('exists in a file of the previous release, which a reader leaves unchanged', async () => {
    const path = join(folder, 'darkroom.db');
    const database = openDatabase(path);
    database.exec(`PRAGMA journal_mode = WAL; ${MIGRATIONS[0]}; PRAGMA user_version = 1`);
    const { accountId, name, currency, createdAt } = anAccount(1);
    database
      .prepare(`INSERT INTO accounts VALUES (unhex(?, '-'), 0, 0, 0, 0, 0, 0, ?, ?, ?)`)
      .run(accountId, name, currency, createdAt);
    database.exec('PRAGMA wal_checkpoint(TRUNCATE)');
    database.close();
    const bytes = readFileSync(path);
    const refused: unknown = await opened({ readOnly: true }).catch((error: unknown) => error);
    expect(refused)
      .to.have.property('message')
      .that.matches(/has schema 1 and needs \d+; run darkroom migrate or start the server to migrate it\.$/);
    expect(readFileSync(path).equals(bytes), 'nothing was written').to.equal(true);
    const after = await opened();
    expect(await after.accounts.list({ limit: 10 }).then(({ items }) => items.length)).to.equal(1);
    expect(await after.installation.claim(FACTS)).to.equal('same');
    expect(await after.installation.claim({ ...FACTS, objects: 'two' })).to.deep.equal({ other: 'objects' });
  });
});
