// Goal: a large database is used at once where it cannot have lost writes, is checked meanwhile, and refuses writes when it is damaged.
// Method: files that count as large, whole or cut; servers that stop, are killed, or ran before the machine was started.
import { existsSync, readFileSync, rmSync, statSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'chai';
import { StoreUnavailable } from '../../../core/errors.js';
import { DataFolderRefused } from '../../../adapters/sqlite/data-folder-refused.js';
import type { CheckOutcome } from '../../../adapters/sqlite/integrity.js';
import { openSqlite, type SqliteStores } from '../../../adapters/sqlite/open-sqlite.js';
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
  async function served(): Promise<{ readonly stores: SqliteStores; readonly outcome: Promise<CheckOutcome> }> {
    let checked: (outcome: CheckOutcome) => void = () => undefined;
    const outcome = new Promise<CheckOutcome>((resolve) => (checked = resolve));
    const stores = await openSqlite({ folder, role: 'server', smallBytes: 0, checked });
    return { stores, outcome };
  }

  const damage = (): void => truncateSync(path, statSync(path).size - 4_096 * 3);
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
    writeFileSync(join(folder, 'server.pid'), '1');
    writeFileSync(join(folder, 'server.boot'), 'another start');
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
});
