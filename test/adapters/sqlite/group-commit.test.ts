// Goal: concurrent writes share transactions; a full disk causes writes to be refused and nothing else, and the store
// works again afterwards.
// Method: the counters of acknowledged writes and commits; a file with a limited number of pages.
import { rmSync } from 'node:fs';
import { expect } from 'chai';
import { StoreUnavailable } from '../../../core/errors.js';
import { openSqlite, type SqliteStores } from '../../../adapters/sqlite/open-sqlite.js';
import { aChange, aGeneration, anAccount, uuidAt } from '../../fixtures/stored-records.js';
import { temporaryFolder } from './sqlite-subject.js';

const LARGE = { prompt: 'x'.repeat(8_000) };

describe('SQLite group commit', () => {
  let folder: string;
  let stores: SqliteStores;
  beforeEach(() => {
    folder = temporaryFolder();
  });
  afterEach(async () => {
    await stores.close();
    rmSync(folder, { recursive: true });
  });

  it('takes far fewer commits than writes under concurrency', async () => {
    stores = await openSqlite({ folder, role: 'server' });
    await Promise.all(
      Array.from({ length: 64 }, async (_, writer) => {
        for (let n = 0; n < 20; n += 1) await stores.generations.insert(aGeneration(writer * 100 + n));
      }),
    );
    expect(stores.counters.writes).to.equal(1_280);
    expect(stores.counters.commits).to.be.below(128);
  });

  it('takes one commit for each write when they come one after the other', async () => {
    stores = await openSqlite({ folder, role: 'server' });
    for (let n = 0; n < 10; n += 1) await stores.generations.insert(aGeneration(n));
    expect(stores.counters).to.deep.equal({ writes: 10, commits: 10 });
  });

  it('refuses writes beyond the queue limit, and accepts them again afterwards', async () => {
    stores = await openSqlite({ folder, role: 'server' });
    const outcomes = await Promise.all(
      Array.from({ length: 100_010 }, (_, n) =>
        stores.wakeUpTable.upsert(uuidAt(n % 50), n).then(
          () => 'written',
          (error: unknown) => error,
        ),
      ),
    );
    expect(outcomes.slice(0, 100_000).every((outcome) => outcome === 'written')).to.equal(true);
    for (const outcome of outcomes.slice(100_000)) expect(outcome).to.be.instanceOf(StoreUnavailable);
    await stores.wakeUpTable.upsert(uuidAt(60), 1);
  });

  it('refuses writes on a full disk, keeps its data, and works again once there is space', async () => {
    stores = await openSqlite({ folder, role: 'server', maxPages: 120 });
    await stores.accounts.create(anAccount(1));
    let count = 0;
    let failure: unknown;
    while (failure === undefined) {
      failure = await stores.generations.insert(aGeneration(count, LARGE)).then(
        () => undefined,
        (error: unknown) => error,
      );
      if (failure === undefined) count += 1;
    }
    expect(failure).to.be.instanceOf(StoreUnavailable);
    expect(count).to.be.within(5, 119);
    expect(await stores.generations.read(uuidAt(count))).to.equal(null);
    expect(await stores.generations.read(uuidAt(count - 1))).to.deep.equal(aGeneration(count - 1, LARGE));
    const batch = await Promise.allSettled([
      stores.generations.insert(aGeneration(900, LARGE)),
      stores.accounts.apply(aChange(anAccount(1))),
    ]);
    expect(batch.map(({ status }) => status)).to.deep.equal(['rejected', 'rejected']);
    for (let n = 0; n < 3; n += 1) expect(await stores.generations.remove(uuidAt(n), 0)).to.equal('applied');
    expect(await stores.generations.insert(aGeneration(count, LARGE))).to.deep.equal({ inserted: true });
    expect(await stores.accounts.apply(aChange(anAccount(1)))).to.equal('applied');
  });
});
