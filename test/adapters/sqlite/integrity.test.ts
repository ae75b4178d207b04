// Goal: a large database is used at once where it cannot have lost writes, is checked meanwhile, and refuses writes when it is damaged.
// A start that fails does not hide that the server before it was cut off.
// Method: files that count as large, whole or cut; servers that stop, are killed, or ran before the machine was started; files that
// the check cannot read, and notes that cannot be written.
import { expect } from 'chai';
import { existsSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { DataFolderRefused } from '../../../adapters/sqlite/data-folder.js';
import { isUnreadable } from '../../../adapters/sqlite/driver.js';
import { BackgroundCheck, type CheckOutcome, SMALL_BYTES } from '../../../adapters/sqlite/integrity.js';
import { openSqlite, type SqliteOptions, type SqliteStores } from '../../../adapters/sqlite/open-sqlite.js';
import { StoreUnavailable } from '../../../core/errors.js';
import { aGeneration } from '../../fixtures/stored-records.js';
import { ServerProcess } from './child-process.js';
import { fillFolder, temporaryFolder } from './sqlite-subject.js';

describe('the check of a large database', () => {
  let folder: string;
  let path: string;
  beforeEach(() => {
    folder = temporaryFolder();
    path = join(folder, 'darkroom.db');
  });
  afterEach(() => rmSync(folder, { recursive: true }));

  /** Opens it as a server, and answers what the check beside it says, if there is one. */
  async function served(
    options: Partial<SqliteOptions> = {},
  ): Promise<{ readonly stores: SqliteStores; readonly outcome: Promise<CheckOutcome> }> {
    let checked: (outcome: CheckOutcome) => void = () => undefined;
    const outcome = new Promise<CheckOutcome>((resolve) => (checked = resolve));
    const stores = await openSqlite({ folder, role: 'server', smallBytes: 0, checked, ...options });
    return { stores, outcome };
  }

  /** As a server leaves the folder that is cut off before the machine is started again. */
  const cutOff = (): void => {
    writeFileSync(join(folder, 'server.pid'), '1');
    writeFileSync(join(folder, 'server.boot'), 'another start');
  };

  /** Its last pages are none. Of a file that is shorter than its header says, SQLite finds that out at the start, or later. */
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
    it(`${what} is told, and stops no server, where it cannot be noted`, async () => {
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

    it('tells of damage where the file is no database', async () => {
      writeFileSync(path, 'no database, but longer than a header of one'.repeat(100));
      expect(await outcomeOf(path))
        .to.have.property('fault')
        .that.includes('not a database');
    });

    it('tells of damage where the disk cannot be read, and of nothing else otherwise', () => {
      const withCode = (errcode: number) => Object.assign(new Error('disk I/O error'), { errcode });
      const [read, shortRead, corruptFileSystem, write, memory, lock] = [266, 522, 8_458, 778, 7, 3_850];
      expect([read, shortRead, corruptFileSystem].map(withCode).map(isUnreadable)).to.deep.equal([true, true, true]);
      expect([write, memory, lock].map(withCode).map(isUnreadable)).to.deep.equal([false, false, false]);
    });
  });
});
