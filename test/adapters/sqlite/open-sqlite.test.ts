// Goal: a data folder that cannot be trusted is refused with one sentence, a folder has one server, and its files are
// private.
// Method: folders made invalid in one way each; a second server in this process and beside another process that is then
// killed.
import { expect } from 'chai';
import { chmodSync, existsSync, mkdirSync, readFileSync, rmSync, statSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { DataFolderRefused } from '../../../adapters/sqlite/data-folder.js';
import { openDatabase } from '../../../adapters/sqlite/driver.js';
import { openSqlite, type SqliteOptions } from '../../../adapters/sqlite/open-sqlite.js';
import { aGeneration, anUpload, uuidAt } from '../../fixtures/stored-records.js';
import { ServerProcess } from './child-process.js';
import { fillFolder, temporaryFolder } from './sqlite-subject.js';

/** The sentence a folder is refused with. */
async function refusal(options: SqliteOptions): Promise<string> {
  const outcome = await openSqlite(options).then(
    async (stores) => stores.close(),
    (error: unknown) => error,
  );
  expect(outcome).to.be.instanceOf(DataFolderRefused);
  const { message } = outcome as DataFolderRefused;
  expect(message)
    .to.match(/^[A-Z/].*\.$/)
    .and.not.include('\n');
  return message;
}

describe('openSqlite', () => {
  let folder: string;
  let path: string;
  beforeEach(() => {
    folder = temporaryFolder();
    path = join(folder, 'darkroom.db');
  });
  afterEach(() => rmSync(folder, { recursive: true }));

  it('refuses a schema newer than it knows', async () => {
    await fillFolder(folder);
    const database = openDatabase(path);
    database.exec('PRAGMA user_version = 999');
    database.close();
    expect(await refusal({ folder, role: 'server' })).to.include('schema 999');
    expect(await refusal({ folder, role: 'tool' })).to.include('schema 999');
  });

  it('refuses a file that is not a database, and leaves it unchanged', async () => {
    writeFileSync(
      path,
      'this is not a database, but it is long enough to be taken for the head of one by the unwary reader of files\n',
    );
    const before = readFileSync(path);
    expect(await refusal({ folder, role: 'server' })).to.include('darkroom.db');
    expect(readFileSync(path)).to.deep.equal(before);
  });

  it('refuses a damaged database', async () => {
    await fillFolder(folder);
    truncateSync(path, statSync(path).size - 4_096 * 3);
    expect(await refusal({ folder, role: 'server' })).to.include('restore it from a backup');
  });

  it('refuses a path that cannot be a folder', async () => {
    const file = join(folder, 'file');
    writeFileSync(file, '');
    expect(await refusal({ folder: file, role: 'server' })).to.include('folder');
    expect(await refusal({ folder: join(folder, 'nowhere'), role: 'tool', readOnly: true })).to.include('no database');
    expect(existsSync(join(folder, 'nowhere'))).to.equal(false);
  });

  it('refuses a second server, in this process and beside another, and accepts one once the other was killed', async () => {
    const here = await openSqlite({ folder, role: 'server' });
    expect(await refusal({ folder, role: 'server' })).to.include(`process ${process.pid}`);
    await here.close();
    const other = new ServerProcess(folder, 'hold');
    await other.toldLines(1);
    expect(await refusal({ folder, role: 'server' })).to.include(`process ${other.pid}`);
    await other.kill();
    await (await openSqlite({ folder, role: 'server' })).close();
  });

  it('excludes other servers after its stores are closed, if work continues in the process', async () => {
    const server = await openSqlite({ folder, role: 'server' });
    await server.close({ keepsLock: true });
    expect(await refusal({ folder, role: 'server' })).to.include(`process ${process.pid}`);
    const tool = await openSqlite({ folder, role: 'tool' });
    expect(await tool.generations.insert(aGeneration(1))).to.deep.equal({ inserted: true });
    await tool.close();
  });

  it('says that it is exclusive only where it holds the folder as its server', async () => {
    const server = await openSqlite({ folder, role: 'server' });
    const others = [
      await openSqlite({ folder, role: 'tool' }),
      await openSqlite({ folder, role: 'tool', readOnly: true }),
      await openSqlite({ folder, role: 'server', readOnly: true }),
    ];
    expect([server, ...others].map(({ isExclusive }) => isExclusive)).to.deep.equal([true, false, false, false]);
    for (const stores of [...others, server]) await stores.close();
  });

  it('lets a tool write beside a server, each seeing what the other wrote', async () => {
    const server = await openSqlite({ folder, role: 'server' });
    const tool = await openSqlite({ folder, role: 'tool' });
    await Promise.all(
      [server, tool].flatMap((stores, side) =>
        Array.from({ length: 40 }, (_, n) => stores.generations.insert(aGeneration(100 * side + n))),
      ),
    );
    expect(await server.generations.read(uuidAt(139))).to.deep.equal(aGeneration(139));
    expect(await tool.generations.read(uuidAt(39))).to.deep.equal(aGeneration(39));
    expect(await tool.generations.replace(aGeneration(1, { version: 1 }), 0)).to.equal('applied');
    expect(await server.generations.replace(aGeneration(1, { version: 1 }), 0)).to.equal('conflict');
    await tool.close();
    await server.close();
  });

  it('reads and does not write when it is opened read-only', async () => {
    await fillFolder(folder);
    const stores = await openSqlite({ folder, role: 'tool', readOnly: true });
    expect(await stores.generations.read(uuidAt(1))).to.deep.equal(aGeneration(1));
    expect(
      await stores.uploads.insert(anUpload(1)).then(
        () => undefined,
        (error: unknown) => error,
      ),
    ).to.have.property('name', 'StoreUnavailable');
    await stores.close();
  });

  it('makes the folder and its files private to their owner, and leaves an empty log', async () => {
    const inner = join(folder, 'made', 'data');
    mkdirSync(join(folder, 'made'));
    chmodSync(join(folder, 'made'), 0o755);
    const stores = await openSqlite({ folder: inner, role: 'server' });
    await stores.generations.insert(aGeneration(1));
    expect(statSync(inner).mode & 0o777).to.equal(0o700);
    for (const name of ['darkroom.db', 'darkroom.db-wal', 'darkroom.db-shm', 'server.lock', 'server.pid']) {
      expect(statSync(join(inner, name)).mode & 0o777, name).to.equal(0o600);
    }
    await stores.close();
    const log = join(inner, 'darkroom.db-wal');
    expect(existsSync(log) ? statSync(log).size : 0).to.equal(0);
  });

  it('records the id of the serving process, and none once that has stopped', async () => {
    const inner = join(folder, 'served');
    const stores = await openSqlite({ folder: inner, role: 'server' });
    expect(readFileSync(join(inner, 'server.pid'), 'utf8')).to.equal(`${process.pid}\n`);
    await stores.close();
    expect(existsSync(join(inner, 'server.pid'))).to.equal(false);
    await (await openSqlite({ folder: inner, role: 'server' })).close();
  });
});
