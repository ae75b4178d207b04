import { expect } from 'chai';
import { chmod, mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { FileObjectStore } from '../../../adapters/files/file-object-store.js';
import { HeldBytes } from '../../../adapters/held-bytes.js';
import {
  type Disk,
  IncomingBytes,
  MAX_SMALL_FILE_BYTES,
  REAL_DISK,
  TRAILER_BYTES,
} from '../../../adapters/files/object-folder.js';
import { inPieces } from '../../fixtures/byte-streams.js';
import { smallFilesOver } from './gate-server.js';

// Goal: a folder of objects removes leftover files while it is in use, and is private to its user.
// Method: a disk with a manual clock that counts directory listings; permissions read back from the file system.

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

// Goal: bytes that arrive in small pieces are counted in full, once, while they are held, in time that does not grow
// quadratically.
// Method: a counter that records its requests; bytes in pieces of one byte.

/** Records how many bytes are held, and how often more were requested. */
class RecordedBytes extends HeldBytes {
  held = 0;
  requests = 0;

  override take(byteSize: number): boolean {
    this.requests += 1;
    const isTaken = super.take(byteSize);
    if (isTaken) this.held += byteSize;
    return isTaken;
  }

  override release(byteSize: number): void {
    this.held -= byteSize;
    super.release(byteSize);
  }

  override replace(before: number, after: number): void {
    this.held += after - before;
    super.replace(before, after);
  }
}

describe('IncomingBytes', () => {
  let folder: string;
  let held: RecordedBytes;
  let incoming: IncomingBytes;

  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'darkroom-incoming-'));
    held = new RecordedBytes(16 * 1024 * 1024);
    const disk = { ...REAL_DISK, small: smallFilesOver({}) };
    incoming = new IncomingBytes(disk, join(folder, 'new'), async (key) => join(folder, key), held);
  });
  afterEach(async () => rm(folder, { recursive: true, force: true }));

  async function addBytes(count: number): Promise<void> {
    for (let added = 0; added < count; added += 1) await incoming.add(Uint8Array.of(added));
  }

  it('asks for memory a few times for thousands of pieces', async () => {
    await addBytes(5_000);
    expect(held.requests).to.be.at.most(1 + Math.log2(8_192));
    expect(held.held).to.be.within(5_000, 10_000);
  });

  it('asks for no more than the largest file that it holds takes', async () => {
    const most = MAX_SMALL_FILE_BYTES - TRAILER_BYTES;
    await incoming.add(new Uint8Array(Math.ceil(0.6 * most)));
    await addBytes(1);
    expect(held.held).to.equal(most);
  });

  it('counts one copy of what is staged, and nothing once it is a file', async () => {
    await addBytes(1_000);
    const staged = await incoming.staged();
    expect(held.held).to.equal(1_000 + TRAILER_BYTES);
    await staged.commit('stored');
    expect(held.held).to.equal(0);
    expect((await readFile(join(folder, 'stored'))).subarray(0, 1_000)).to.deep.equal(
      Buffer.from(Array.from({ length: 1_000 }, (_, index) => index & 0xff)),
    );
    await incoming.discard();
    expect(held.held, 'given back once').to.equal(0);
  });

  it('counts nothing of what was discarded, or went into a file as it grew', async () => {
    await addBytes(10);
    await incoming.discard();
    expect(held.held).to.equal(0);
    await incoming.discard();
    expect(held.held, 'given back once').to.equal(0);
  });
});
