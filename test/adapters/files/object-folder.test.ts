// Goal: a folder of objects removes leftover files while it is in use, and is private to its user.
// Method: a disk with a manual clock that counts directory listings; permissions read back from the file system.
import { expect } from 'chai';
import { chmod, mkdtemp, readdir, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { FileObjectStore } from '../../../adapters/files/file-object-store.js';
import { type Disk, REAL_DISK } from '../../../adapters/files/object-folder.js';
import { inPieces } from '../../fixtures/byte-streams.js';

const LIMIT = { mediaType: 'image/png', maxBytes: 1_000 } as const;

describe('a folder of objects', () => {
  let folder: string;
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'darkroom-files-'));
  });
  afterEach(async () => rm(folder, { recursive: true, force: true }));

  const openStore = async (disk: Disk = REAL_DISK) =>
    FileObjectStore.open({
      folder,
      publicBaseUrl: () => 'http://localhost',
      secret: new Uint8Array(32),
      clock: { now: () => 0 },
      disk,
    });
  const bytes = (byteSize: number) => inPieces(new Uint8Array(byteSize).fill(1));
  const failure = async (promise: Promise<unknown>) =>
    promise.then(
      () => 'done',
      (error: unknown) => error,
    );
  const ioError = (code: string) => Object.assign(new Error(`${code}: as told`), { code });

  it('removes the remains of dead writes while it is open, too, at limited intervals', async () => {
    let [now, looks] = [Date.now(), 0];
    const disk: Disk = {
      ...REAL_DISK,
      now: () => now,
      readdir: (async (path: string) => {
        looks += 1;
        return REAL_DISK.readdir(path);
      }) as unknown as Disk['readdir'],
    };
    const store = await openStore(disk);
    await writeFile(join(folder, 'incoming', 'dead'), 'half');
    for (let writes = 0; writes < 5; writes += 1) await store.write(`key-${writes}`, bytes(3), LIMIT);
    expect([looks, await readdir(join(folder, 'incoming'))]).to.deep.equal([1, ['dead']]);
    now += 16 * 60_000;
    for (let writes = 0; writes < 5; writes += 1) await store.write(`key-${writes}`, bytes(3), LIMIT);
    expect([looks, await readdir(join(folder, 'incoming'))]).to.deep.equal([2, []]);
  });

  it('removes the other remains of dead writes when one cannot be removed', async () => {
    let now = Date.now();
    const disk: Disk = {
      ...REAL_DISK,
      now: () => now,
      unlink: (async (path: string) => {
        if (path.endsWith('b')) throw ioError('EPERM');
        return REAL_DISK.unlink(path);
      }) as unknown as Disk['unlink'],
    };
    const store = await openStore(disk);
    for (const name of ['a', 'b', 'c']) await writeFile(join(folder, 'incoming', name), 'half');
    now += 16 * 60_000;
    expect(await failure(store.write('key', bytes(3), LIMIT))).to.equal('done');
    expect(await readdir(join(folder, 'incoming'))).to.deep.equal(['b']);
  });

  it('still writes when it cannot search for the remains of dead writes', async () => {
    let now = Date.now();
    let isBroken = false;
    const disk: Disk = {
      ...REAL_DISK,
      now: () => now,
      readdir: (async (path: string) => {
        if (isBroken) throw ioError('EIO');
        return REAL_DISK.readdir(path);
      }) as unknown as Disk['readdir'],
    };
    const store = await openStore(disk);
    [now, isBroken] = [now + 16 * 60_000, true];
    expect(await failure(store.write('key', bytes(3), LIMIT))).to.equal('done');
  });

  it('makes its folders private to this user, whatever the umask, and closes open ones', async () => {
    const openFolders = async () => {
      const inside = (await readdir(folder, { recursive: true, withFileTypes: true })).filter((entry) =>
        entry.isDirectory(),
      );
      const paths = [folder, ...inside.map((entry) => join(entry.parentPath, entry.name))];
      const modes = await Promise.all(paths.map(async (path) => (await stat(path)).mode & 0o777));
      return { count: paths.length, open: modes.filter((mode) => mode !== 0o700) };
    };
    const umask = process.umask(0);
    try {
      await (await openStore()).write('key', bytes(3), LIMIT);
    } finally {
      process.umask(umask);
    }
    expect(await openFolders()).to.deep.equal({ count: 4, open: [] });
    for (const path of ['', 'incoming', 'objects']) await chmod(join(folder, path), 0o755);
    const [shard] = await readdir(join(folder, 'objects'));
    await chmod(join(folder, 'objects', shard!), 0o777);
    await (await openStore()).write('key', bytes(3), LIMIT);
    expect(await openFolders()).to.deep.equal({ count: 4, open: [] });
  });

  it('works in a folder of another user that gives this one access', async () => {
    await chmod(folder, 0o770);
    const disk: Disk = {
      ...REAL_DISK,
      chmod: async () => {
        throw ioError('EPERM');
      },
    };
    const store = await openStore(disk);
    await store.write('key', bytes(3), LIMIT);
    expect(await store.stat('key')).to.have.property('byteSize', 3);
  });
});
