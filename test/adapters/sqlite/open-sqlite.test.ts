import { expect } from 'chai';
import {
  chmodSync,
  chownSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { closeToOthers, DataFolderRefused } from '../../../adapters/sqlite/data-folder.js';
import { openDatabase } from '../../../adapters/sqlite/database.js';
import { openSqlite, type SqliteOptions, type SqliteStores } from '../../../adapters/sqlite/open-sqlite.js';
import { MIGRATIONS } from '../../../adapters/sqlite/schema.js';
import { ServerLock } from '../../../adapters/sqlite/server-lock.js';
import { aGeneration, anAccount, anUpload, uuidAt } from '../../fixtures/stored-records.js';
import { ServerProcess } from './child-process.js';
import { fillFolder, temporaryFolder } from './sqlite-subject.js';

// Goal: a data folder that cannot be trusted is refused with one sentence, a folder has one server, and its files are
// private.
// Method: folders made invalid in one way each; a second server in this process and beside another process that is then
// killed.

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

  it('claims to be exclusive only where it holds the folder as its server', async () => {
    const server = await openSqlite({ folder, role: 'server' });
    const others = [
      await openSqlite({ folder, role: 'tool' }),
      await openSqlite({ folder, role: 'tool', readOnly: true }),
      await openSqlite({ folder, role: 'server', readOnly: true }),
    ];
    expect([server, ...others].map(({ isExclusive }) => isExclusive)).to.deep.equal([true, false, false, false]);
    for (const stores of [...others, server]) await stores.close();
  });

  it('allows a tool to write beside a server, each seeing what the other wrote', async () => {
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

// Goal: a data folder that other users can read is closed to them, and nothing else about it changes.
// Method: folders with every kind of open permissions; where the tests run as root, also as a user who does not own
// them.

const NOBODY = 65_534;

describe('closeToOthers', () => {
  let folder: string;
  const inside = (name: string) => join(folder, name);
  const modeOf = (path: string) => (statSync(path).mode & 0o7777).toString(8);
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'darkroom-rights-'));
    for (const name of ['darkroom.db', 'darkroom.db-wal', 'secret', 'darkroom.yaml'])
      writeFileSync(inside(name), '', { mode: 0o600 });
  });
  afterEach(() => rmSync(folder, { recursive: true, force: true }));

  it('leaves a closed folder as it is', () => {
    expect(closeToOthers(folder)).to.deep.equal({ closed: [], open: [] });
  });

  it('removes the rights of others, and only those', () => {
    chmodSync(folder, 0o2755);
    chmodSync(inside('darkroom.db'), 0o644);
    chmodSync(inside('darkroom.db-wal'), 0o440);
    chmodSync(inside('secret'), 0o604);
    chmodSync(inside('darkroom.yaml'), 0o644);
    expect(closeToOthers(folder)).to.deep.equal({
      closed: [folder, inside('darkroom.db'), inside('darkroom.db-wal'), inside('secret')],
      open: [],
    });
    expect(
      ['darkroom.db', 'darkroom.db-wal', 'secret', 'darkroom.yaml'].map((name) => modeOf(inside(name))),
    ).to.deep.equal(['600', '400', '600', '644']);
    expect(statSync(folder).mode & 0o777).to.equal(0o700);
    expect(closeToOthers(folder)).to.deep.equal({ closed: [], open: [] });
  });

  it('reports nothing for a missing folder', () => {
    expect(closeToOthers(inside('missing'))).to.deep.equal({ closed: [], open: [] });
  });

  it('leaves files of another user unchanged, and names them', function () {
    if (process.getuid?.() !== 0 || process.seteuid === undefined) return this.skip();
    chmodSync(folder, 0o777);
    chownSync(inside('secret'), NOBODY, NOBODY);
    chmodSync(inside('secret'), 0o644);
    process.seteuid(NOBODY);
    try {
      expect(closeToOthers(folder)).to.deep.equal({ closed: [inside('secret')], open: [folder] });
    } finally {
      process.seteuid(0);
    }
  });
});

// Goal: a database file stores the facts that it was first used with, even if several processes claim it at once; a
// file of an older release can store them too.
// Method: stores over one folder, opened again, twice at once and read-only; a file with the previous schema.

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

// Goal: a folder whose server did not shut down cleanly is reported at each start until a check has passed, and only
// one server at a time may use it.
// Method: locks that are taken and released in the ways that a start can end, and the notes of a server that was cut
// off.

describe('ServerLock', () => {
  let folder: string;
  const pidPath = (): string => join(folder, 'server.pid');
  beforeEach(() => {
    folder = temporaryFolder();
  });
  afterEach(() => rmSync(folder, { recursive: true }));

  /** Leaves the folder as a server does that was killed before the machine rebooted. */
  function cutOff(pid = '1'): void {
    writeFileSync(pidPath(), pid);
    writeFileSync(join(folder, 'server.boot'), 'another start');
  }

  function mayHaveLostWrites(): boolean {
    const lock = ServerLock.take(folder);
    lock.abandon();
    return lock.mayHaveLostWrites;
  }

  it('is held by one server at a time', () => {
    const lock = ServerLock.take(folder);
    expect(() => ServerLock.take(folder)).to.throw(DataFolderRefused, `(process ${process.pid})`);
    lock.release();
    ServerLock.take(folder).release();
  });

  it('is seen by others while a server holds it', () => {
    expect(ServerLock.isTaken(folder)).to.equal(false);
    const lock = ServerLock.take(folder);
    expect(ServerLock.isTaken(folder)).to.equal(true);
    expect(() => ServerLock.take(folder), 'a look does not release it').to.throw(DataFolderRefused);
    lock.release();
    expect(ServerLock.isTaken(folder)).to.equal(false);
  });

  it('finds a server that was cut off at each start that fails before a check has passed', () => {
    cutOff();
    for (let start = 1; start <= 3; start += 1) expect(mayHaveLostWrites(), `start ${start}`).to.equal(true);
  });

  it('finds nothing after a check has passed, though the start fails then', () => {
    cutOff();
    const lock = ServerLock.take(folder);
    lock.noteWhole();
    lock.abandon();
    expect(existsSync(pidPath())).to.equal(false);
    expect(mayHaveLostWrites()).to.equal(false);
  });

  it('finds nothing after a failed start on a folder that was left in good order', () => {
    ServerLock.take(folder).release();
    for (let start = 1; start <= 2; start += 1) expect(mayHaveLostWrites(), `start ${start}`).to.equal(false);
    expect(existsSync(pidPath())).to.equal(false);
  });

  it('takes a process id that was not written in full for that of a server that was cut off', () => {
    cutOff('');
    expect(mayHaveLostWrites()).to.equal(true);
  });

  it('finds damage that was noted, though the server stopped by itself', () => {
    const lock = ServerLock.take(folder);
    lock.noteWhole();
    lock.noteDamaged();
    lock.release();
    expect(mayHaveLostWrites()).to.equal(true);
  });
});
