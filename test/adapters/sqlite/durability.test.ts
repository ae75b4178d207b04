import { expect } from 'chai';
import { existsSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { DataFolderRefused } from '../../../adapters/sqlite/data-folder.js';
import { isUnreadable } from '../../../adapters/sqlite/database.js';
import { BackgroundCheck, type CheckOutcome, SMALL_BYTES } from '../../../adapters/sqlite/integrity.js';
import { openSqlite, type SqliteOptions, type SqliteStores } from '../../../adapters/sqlite/open-sqlite.js';
import { StoreUnavailable } from '../../../core/errors.js';
import {
  aChange,
  aClaim,
  aGeneration,
  anAccount,
  anApiKey,
  anApp,
  anUpload,
  uuidAt,
} from '../../fixtures/stored-records.js';
import { ServerProcess } from './child-process.js';
import { fillFolder, temporaryFolder } from './sqlite-subject.js';

// Goal: acknowledged writes survive a restart, and a SIGKILL in the middle of writing.
// Method: a data folder closed and opened again; then a process that writes under load and is killed, several rounds on
// one folder.

describe('SQLite durability', () => {
  let folder: string;
  beforeEach(() => {
    folder = temporaryFolder();
  });
  afterEach(() => rmSync(folder, { recursive: true }));

  it('finds everything again after it was closed and opened', async () => {
    const hold = { generationId: uuidAt(5), credits: 3, heldAt: 4 };
    const first = await openSqlite({ folder, role: 'server' });
    await first.accounts.create(anAccount(1));
    await first.accounts.apply(aChange(anAccount(1), { issued: 3, reserved: 3, holdsOpened: [hold] }));
    await Promise.all([
      first.generations.insert(aGeneration(1)),
      first.uploads.insert(anUpload(1)),
      first.claims.insert(aClaim(1)),
      first.credentials.insertApp(anApp(1)),
      first.credentials.insertKey(anApiKey(1)),
      first.wakeUpTable.upsert(uuidAt(1), 7),
    ]);
    await first.close();
    const second = await openSqlite({ folder, role: 'server' });
    expect(await second.accounts.read(uuidAt(1))).to.deep.include({
      version: 1,
      issued: 3,
      reserved: 3,
      holds: new Map([[uuidAt(5), hold]]),
    });
    expect(await second.generations.read(uuidAt(1))).to.deep.equal(aGeneration(1));
    expect(await second.uploads.read(uuidAt(1))).to.deep.equal(anUpload(1));
    expect(await second.claims.insert(aClaim(1, { version: 2 }))).to.deep.equal({
      inserted: false,
      existing: aClaim(1),
    });
    expect(await second.credentials.readApp(uuidAt(1))).to.deep.equal(anApp(1));
    expect(await second.credentials.findKey({ keyId: uuidAt(1) })).to.deep.equal(anApiKey(1));
    expect(second.wakeUpTable.due(7, 10)).to.deep.equal([{ key: uuidAt(1), at: 7 }]);
    await second.close();
  });

  it('completes writes requested before the close, and refuses later ones', async () => {
    const first = await openSqlite({ folder, role: 'server' });
    const writes = Array.from({ length: 5_000 }, (_, n) => first.generations.insert(aGeneration(n)));
    const closed = first.close();
    const late = await first.uploads.insert(anUpload(1)).then(
      () => undefined,
      (error: unknown) => error,
    );
    expect(late).to.have.property('name', 'StoreUnavailable');
    expect((await Promise.all(writes)).every(({ inserted }) => inserted)).to.equal(true);
    await closed;
    const second = await openSqlite({ folder, role: 'server' });
    for (const n of [0, 2_500, 4_999]) expect(await second.generations.read(uuidAt(n))).to.deep.equal(aGeneration(n));
    await second.close();
  });

  it('loses no acknowledged write to a SIGKILL under load', async () => {
    const acknowledged = new Set<number>();
    for (const lines of [40, 400, 1_500, 3_000]) {
      const server = new ServerProcess(folder, 'write');
      await server.toldLines(lines);
      await server.kill();
      expect(server.lines.length).to.be.at.least(lines);
      for (const line of server.lines) acknowledged.add(Number(line));
    }
    const stores = await openSqlite({ folder, role: 'server' });
    for (const n of acknowledged)
      expect(await stores.generations.read(uuidAt(n)), `record ${n}`).to.deep.equal(aGeneration(n));
    await stores.close();
  });
});

// Goal: concurrent writes share transactions; a full disk causes writes to be refused and nothing else, and the store
// works again afterwards.
// Method: the counters of acknowledged writes and commits; a file with a limited number of pages.

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

// Goal: a large database is used at once where it cannot have lost writes, is checked meanwhile, and refuses writes when it is damaged.
// A start that fails does not hide that the server before it was cut off.
// Method: files that count as large, whole or cut; servers that stop, are killed, or ran before the machine was started; files that
// the check cannot read, and notes that cannot be written.

describe('the check of a large database', () => {
  let folder: string;
  let path: string;
  beforeEach(() => {
    folder = temporaryFolder();
    path = join(folder, 'darkroom.db');
  });
  afterEach(() => rmSync(folder, { recursive: true }));

  /** Opens it as a server, and returns the outcome of the concurrent check, if there is one. */
  async function served(
    options: Partial<SqliteOptions> = {},
  ): Promise<{ readonly stores: SqliteStores; readonly outcome: Promise<CheckOutcome> }> {
    let checked: (outcome: CheckOutcome) => void = () => undefined;
    const outcome = new Promise<CheckOutcome>((resolve) => (checked = resolve));
    const stores = await openSqlite({ folder, role: 'server', smallBytes: 0, checked, ...options });
    return { stores, outcome };
  }

  /** Leaves the folder as a server does that was killed before the machine rebooted. */
  const cutOff = (): void => {
    writeFileSync(join(folder, 'server.pid'), '1');
    writeFileSync(join(folder, 'server.boot'), 'another start');
  };

  /**
   * Overwrites the last pages. SQLite detects a file that is shorter than its header says, at the start or later, so the
   * length is kept.
   */
  const damage = (): void => {
    const bytes = readFileSync(path);
    writeFileSync(path, bytes.fill(0xff, bytes.byteLength - 4_096 * 3));
  };
  const failure = async (promise: Promise<unknown>) =>
    promise.then(
      () => 'done',
      (error: unknown) => error,
    );

  it('finds a whole one whole while it is used', async () => {
    await fillFolder(folder);
    const { stores, outcome } = await served();
    expect(await stores.generations.insert(aGeneration(50))).to.deep.equal({ inserted: true });
    expect(await outcome).to.deep.equal({ fault: null });
    expect(stores.isWritable()).to.equal(true);
    await stores.close();
  });

  it('stops all writes of a damaged one, and has the next server refuse it', async () => {
    await fillFolder(folder);
    damage();
    const { stores, outcome } = await served();
    expect(await outcome)
      .to.have.property('fault')
      .that.is.a('string');
    expect(stores.isWritable()).to.equal(false);
    const refused = await failure(stores.generations.insert(aGeneration(51)));
    expect(refused).to.be.instanceOf(StoreUnavailable);
    expect((refused as Error).message).to.include('restore it from a backup');
    await stores.close();
    expect(await failure(served())).to.be.instanceOf(DataFolderRefused);
  });

  it('comes before its use where the machine was started since a server was cut off', async () => {
    await fillFolder(folder);
    cutOff();
    damage();
    expect(await failure(served())).to.be.instanceOf(DataFolderRefused);
  });

  it('comes before its use at each start until it has passed', async () => {
    await fillFolder(folder);
    cutOff();
    const whole = readFileSync(path);
    damage();
    for (let start = 1; start <= 3; start += 1) expect(await failure(served())).to.be.instanceOf(DataFolderRefused);
    writeFileSync(path, whole);
    const { stores } = await served();
    await stores.close();
    expect(existsSync(join(folder, 'server.pid'))).to.equal(false);
    damage();
    const later = await served();
    expect(await later.outcome)
      .to.have.property('fault')
      .that.is.a('string');
    await later.stores.close();
  });

  it('comes before its use after a start that failed for another reason', async () => {
    await fillFolder(folder);
    cutOff();
    const whole = readFileSync(path);
    writeFileSync(path, 'no database, but longer than a header of one'.repeat(100));
    expect(await failure(served())).to.be.instanceOf(DataFolderRefused);
    writeFileSync(path, whole);
    damage();
    expect(await failure(served())).to.be.instanceOf(DataFolderRefused);
  });

  it('comes before its use where nothing says when a server was cut off', async () => {
    await fillFolder(folder);
    writeFileSync(join(folder, 'server.pid'), '1');
    rmSync(join(folder, 'server.boot'));
    damage();
    expect(await failure(served())).to.be.instanceOf(DataFolderRefused);
  });

  it('does not delay the server after one that was killed on a machine that ran on', async function sameBoot() {
    if (!existsSync('/proc/sys/kernel/random/boot_id')) this.skip();
    const killed = new ServerProcess(folder, 'hold');
    await killed.toldLines(1);
    await killed.kill();
    expect(readFileSync(join(folder, 'server.pid'), 'utf8')).to.include(String(killed.pid));
    const { stores, outcome } = await served();
    expect(await outcome).to.deep.equal({ fault: null });
    await stores.close();
  });

  it('ends with the stores', async () => {
    await fillFolder(folder);
    const { stores, outcome } = await served();
    await stores.close();
    expect(['not-finished', { fault: null }]).to.deep.include(await outcome);
    const again = await served();
    expect(await again.outcome).to.deep.equal({ fault: null });
    await again.stores.close();
  });

  for (const [what, smallBytes] of [
    ['of a small file', SMALL_BYTES],
    ['of a large one', 0],
  ] as const)
    it(`${what} is reported, and does not stop a server, where it cannot be noted`, async () => {
      await fillFolder(folder);
      rmSync(join(folder, 'server.boot'));
      symlinkSync(join(folder, 'no folder', 'server.boot'), join(folder, 'server.boot'));
      let noteFailed: (error: unknown) => void = () => undefined;
      const notNoted = new Promise<unknown>((resolve) => (noteFailed = resolve));
      const { stores } = await served({ smallBytes, noteFailed });
      expect(await notNoted).to.have.property('code', 'ENOENT');
      expect(await stores.generations.insert(aGeneration(50))).to.deep.equal({ inserted: true });
      await stores.close();
    });

  describe('that fails', () => {
    const outcomeOf = async (file: string): Promise<CheckOutcome> =>
      new Promise((resolve) => new BackgroundCheck(file, resolve));

    it('says why', async () => {
      expect(await outcomeOf(join(folder, 'missing.db')))
        .to.have.property('failed')
        .that.includes('open');
    });

    it('reports damage where the file is not a database', async () => {
      writeFileSync(path, 'no database, but longer than a header of one'.repeat(100));
      expect(await outcomeOf(path))
        .to.have.property('fault')
        .that.includes('not a database');
    });

    it('reports damage only where the disk cannot be read', () => {
      const withCode = (errcode: number) => Object.assign(new Error('disk I/O error'), { errcode });
      const [read, shortRead, corruptFileSystem, write, memory, lock] = [266, 522, 8_458, 778, 7, 3_850];
      expect([read, shortRead, corruptFileSystem].map(withCode).map(isUnreadable)).to.deep.equal([true, true, true]);
      expect([write, memory, lock].map(withCode).map(isUnreadable)).to.deep.equal([false, false, false]);
    });
  });
});
