import { expect } from 'chai';
import { execFile, execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import * as fs from 'node:fs';
import { mkdir, mkdtemp, open, readdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { FileObjectStore } from '../../../adapters/files/file-object-store.js';
import { type Disk, REAL_DISK } from '../../../adapters/files/object-folder.js';
import { runSmallFileJobs, SmallFilesThreads, type SyncDisk } from '../../../adapters/files/small-files.js';
import { StoreUnavailable } from '../../../core/errors.js';
import type { ObjectStore } from '../../../core/ports/object-store.js';
import { sendByFetch } from '../../contracts/object-store-subject.js';
import { objectStoreContract } from '../../contracts/object-store.contract.js';
import { collected, inPieces } from '../../fixtures/byte-streams.js';
import { until } from '../../fixtures/clocks.js';
import { collectGarbage } from '../../fixtures/resident-memory.js';
import { type ServedStore, serveStore, smallFilesOver } from './gate-server.js';
import { openFilesUnder } from './open-files.js';

// Goal: a folder keeps the object store's contract, and a full, failing or interrupted disk leaves nothing incomplete.
// Method: the contract over HTTP; a disk that fails on demand; a small real file system that fills up; leftover files
// with old dates.

const LIMIT = { mediaType: 'image/png', maxBytes: 10_000_000 } as const;
const served = new Map<ObjectStore, ServedStore>();

objectStoreContract({
  name: 'files',
  open: async () => {
    const one = await serveStore();
    served.set(one.store, one);
    return one.store;
  },
  close: async (store) => served.get(store)!.close(),
  supports: {
    send: sendByFetch,
    now: () => Date.now(),
    refusesInvalidKeys: true,
    signsWholeAddress: true,
    sendsNosniff: true,
    keepsEveryKey: true,
    copiesOntoOneKeyOnce: true,
  },
});

describe('FileObjectStore', () => {
  let folder: string;
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'darkroom-files-'));
  });
  afterEach(async () => rm(folder, { recursive: true, force: true }));

  const openStore = async (disk: Disk = REAL_DISK, where = folder) =>
    FileObjectStore.open({
      folder: where,
      publicBaseUrl: () => 'http://localhost',
      secret: new Uint8Array(32),
      clock: { now: () => 0 },
      disk,
    });
  const filesUnder = async (path: string) =>
    (await readdir(path, { recursive: true, withFileTypes: true })).filter((entry) => entry.isFile()).length;
  const bytes = (byteSize: number, fill = 1) => inPieces(new Uint8Array(byteSize).fill(fill));
  const failure = async (promise: Promise<unknown>) =>
    promise.then(
      () => 'done',
      (error: unknown) => error,
    );
  const ioError = (code: string) => Object.assign(new Error(`${code}: as told`), { code });

  const failed = (code: string) => (): never => {
    throw ioError(code);
  };

  /** The real disk, but temporary files fail at `method` with `code`, through handles and as a whole. */
  function failing(method: 'write' | 'sync', code: string): Disk {
    return {
      ...REAL_DISK,
      small: smallFilesOver(method === 'write' ? { writeSync: failed(code) } : { fsyncSync: failed(code) }),
      open: async (...args) => {
        const handle = await open(...args);
        if (String(args[0]).includes('incoming'))
          handle[method] = async () => {
            throw ioError(code);
          };
        return handle;
      },
    };
  }

  /** Bytes of a file that is written as a whole, and of one that is written through a handle. */
  const SIZES = [5, 100_000] as const;

  for (const byteSize of SIZES) {
    for (const [method, code] of [
      ['write', 'ENOSPC'],
      ['write', 'EIO'],
      ['sync', 'EIO'],
    ] as const) {
      it(`is unavailable, and keeps what was there, when ${method} of ${byteSize} bytes fails with ${code}`, async () => {
        await (await openStore()).write('key', bytes(3), LIMIT);
        const store = await openStore(failing(method, code));
        expect(await failure(store.write('key', bytes(byteSize), LIMIT))).to.be.instanceOf(StoreUnavailable);
        expect(await failure(store.write('new', bytes(byteSize), LIMIT))).to.be.instanceOf(StoreUnavailable);
        expect(await store.stat('key')).to.have.property('byteSize', 3);
        expect(await store.stat('new')).to.equal(null);
        expect(await filesUnder(folder), 'no temporary file is left').to.equal(1);
      });
    }

    it(`leaves nothing behind when a rename of ${byteSize} bytes fails`, async () => {
      const plain = await openStore();
      const store = await openStore({
        ...REAL_DISK,
        small: smallFilesOver({ renameSync: failed('EIO') }),
        rename: async () => failed('EIO')(),
      });
      expect(await failure(store.write('to', bytes(byteSize), LIMIT))).to.be.instanceOf(StoreUnavailable);
      expect(await plain.stat('to')).to.equal(null);
      expect(await filesUnder(folder)).to.equal(0);
    });
  }

  it('leaves nothing behind when a link fails', async () => {
    const plain = await openStore();
    await plain.write('from', bytes(3), LIMIT);
    const store = await openStore({ ...REAL_DISK, link: async () => failed('EIO')() });
    const tried = store.copy('from', 'to', (await plain.stat('from'))!.etag);
    expect(await failure(tried)).to.be.instanceOf(StoreUnavailable);
    expect(await plain.stat('to')).to.equal(null);
    expect(await filesUnder(folder)).to.equal(1);
  });

  it('is unavailable when a small object cannot be read or removed', async () => {
    await (await openStore()).write('key', bytes(3), LIMIT);
    const broken = { readSync: failed('EIO'), unlinkSync: failed('EROFS') };
    const store = await openStore({ ...REAL_DISK, small: smallFilesOver(broken) });
    expect(await failure(store.read('key'))).to.be.instanceOf(StoreUnavailable);
    expect(await failure(store.remove('key'))).to.be.instanceOf(StoreUnavailable);
    expect(await (await openStore()).stat('key')).to.have.property('byteSize', 3);
  });

  it('makes the bytes durable before their name, and the name before it answers', async () => {
    const calls: string[] = [];
    const kind = (path: unknown) => (String(path).includes('incoming') ? 'sync bytes' : 'sync names');
    const files = new Map<number, string>();
    const small = smallFilesOver({
      openSync: (path, ...args) => {
        const file = fs.openSync(path, ...args);
        files.set(file, kind(path));
        return file;
      },
      fsyncSync: (file) => {
        calls.push(files.get(file)!);
        fs.fsyncSync(file);
      },
      renameSync: (from, to) => {
        calls.push('rename');
        fs.renameSync(from, to);
      },
    });
    const disk: Disk = {
      ...REAL_DISK,
      small,
      open: async (...args) => {
        const handle = await open(...args);
        const sync = handle.sync.bind(handle);
        handle.sync = async () => {
          calls.push(kind(args[0]));
          return sync();
        };
        return handle;
      },
      rename: async (...args) => {
        calls.push('rename');
        return REAL_DISK.rename(...args);
      },
      link: async (...args) => {
        calls.push('link');
        return REAL_DISK.link(...args);
      },
    };
    const store = await openStore(disk);
    for (const byteSize of SIZES) {
      await store.write('key', bytes(byteSize), LIMIT);
      await store.copy('key', 'copy', (await store.stat('key'))!.etag);
      calls.length = 0;
      await store.write('key', bytes(byteSize), LIMIT);
      expect(calls, `${byteSize} bytes`).to.deep.equal(['sync bytes', 'rename', 'sync names']);
      calls.length = 0;
      await store.remove('copy');
      expect(calls).to.deep.equal(['sync names']);
      calls.length = 0;
      await store.copy('key', 'copy', (await store.stat('key'))!.etag);
      expect(calls).to.deep.equal(['link', 'link', 'sync names']);
      await store.remove('copy');
    }
  });

  it('copies what it compared when the original is replaced in between', async () => {
    const plain = await openStore();
    await plain.write('from', bytes(3, 1), LIMIT);
    const seen = (await plain.stat('from'))!.etag;
    let replaced = false;
    const disk: Disk = {
      ...REAL_DISK,
      link: async (from, to) => {
        if (!String(to).includes('incoming') && !replaced) {
          replaced = true;
          await plain.write('from', bytes(3, 2), LIMIT);
        }
        return REAL_DISK.link(from, to);
      },
    };
    expect(await (await openStore(disk)).copy('from', 'to', seen)).to.equal('copied');
    expect(replaced).to.equal(true);
    expect((await plain.stat('to'))!.etag).to.equal(seen);
  });

  it('completes a write that the disk accepts in parts', async () => {
    const disk: Disk = {
      ...REAL_DISK,
      small: smallFilesOver({
        writeSync: (file: number, chunk: NodeJS.ArrayBufferView | string, at?: unknown, count?: unknown) =>
          fs.writeSync(file, chunk as Uint8Array, at as number, Math.min(7, count as number)),
        readSync: (file: number, chunk: NodeJS.ArrayBufferView, at?: unknown, count?: unknown, from?: unknown) =>
          fs.readSync(file, chunk, at as number, Math.min(7, count as number), from as number),
      }),
      open: async (...args) => {
        const handle = await open(...args);
        const write = handle.write.bind(handle) as (
          chunk: Uint8Array,
          at: number,
          count: number,
        ) => Promise<{ bytesWritten: number; buffer: Uint8Array }>;
        if (String(args[0]).includes('incoming'))
          handle.write = (async (chunk: Uint8Array, at: number, count: number) =>
            write(chunk, at, Math.min(7, count))) as typeof handle.write;
        return handle;
      },
    };
    const store = await openStore(disk);
    for (const byteSize of [0, 100, 65_536, 65_537]) {
      const whole = Uint8Array.from({ length: byteSize }, (_, i) => i);
      await store.write('key', inPieces(whole), LIMIT);
      expect(await collected((await store.read('key'))!)).to.deep.equal(whole);
    }
  });

  it('holds 16 MiB of what arrives slowly in memory, and the rest in files', async () => {
    const store = await openStore();
    const incoming = async () => (await readdir(join(folder, 'incoming'))).length;
    /** Starts `count` writes that stall at their last byte; returns how many of them use files then, and ends them. */
    const stalled = async (count: number): Promise<number> => {
      let [arrived, end]: [number, () => void] = [0, () => undefined];
      const ended = new Promise<void>((resolve) => (end = resolve));
      async function* slow(): AsyncGenerator<Uint8Array> {
        yield new Uint8Array(64 * 1024).fill(7);
        arrived += 1;
        await ended;
      }
      const writes = Array.from({ length: count }, async (_, index) => store.write(`slow-${index}`, slow(), LIMIT));
      await until(() => arrived === count);
      const inFiles = await incoming();
      end();
      await Promise.all(writes);
      return inFiles;
    };
    expect(await stalled(300)).to.equal(300 - 256);
    expect(await incoming()).to.equal(0);
    for (const index of [0, 299]) expect(await store.stat(`slow-${index}`)).to.have.property('byteSize', 64 * 1024);
    expect(await stalled(256), 'what was held is free again').to.equal(0);
  });

  it('takes little more memory than it counts for what arrives a byte at a time', async () => {
    const store = await openStore();
    const [count, byteSize] = [50, 4_000];
    let [arrived, end]: [number, () => void] = [0, () => undefined];
    const ended = new Promise<void>((resolve) => (end = resolve));
    async function* trickle(): AsyncGenerator<Uint8Array> {
      for (let n = 0; n < byteSize; n += 1) yield Buffer.from(new Uint8Array([n]).buffer);
      arrived += 1;
      await ended;
    }
    const usedBytes = (): number => {
      collectGarbage();
      const { heapUsed, arrayBuffers } = process.memoryUsage();
      return heapUsed + arrayBuffers;
    };
    const before = usedBytes();
    const writes = Array.from({ length: count }, async (_, n) => store.write(`slow-${n}`, trickle(), LIMIT));
    await until(() => arrived === count);
    const taken = usedBytes() - before;
    end();
    await Promise.all(writes);
    // Each byte alone took 190; each write adds some kilobytes.
    expect(taken / (count * byteSize)).to.be.below(20);
    expect(await collected((await store.read('slow-0'))!)).to.deep.equal(
      Uint8Array.from({ length: byteSize }, (_, n) => n),
    );
  });

  it('stores what it was given when the source uses its memory again', async () => {
    const store = await openStore();
    for (const memory of [new Uint8Array(10), Buffer.alloc(10)]) {
      async function* reusing(): AsyncGenerator<Uint8Array> {
        for (let n = 1; n <= 3; n += 1) yield memory.fill(n);
      }
      const { sha256 } = (await store.write('key', reusing(), LIMIT)) as { readonly sha256: string };
      const stored = await collected((await store.read('key'))!);
      expect([...stored]).to.deep.equal([1, 2, 3].flatMap((n) => Array<number>(10).fill(n)));
      expect(createHash('sha256').update(stored).digest('hex')).to.equal(sha256);
    }
  });

  it('survives a full file system', async function fullDisk() {
    const small = join(folder, 'small');
    await mkdir(small);
    try {
      execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=512k', 'tmpfs', small], { stdio: 'ignore' });
    } catch {
      console.log('      skipped: a small file system cannot be mounted here');
      this.skip();
    }
    try {
      const store = await openStore(REAL_DISK, small);
      await store.write('key', bytes(100_000), LIMIT);
      expect(await failure(store.write('key', bytes(600_000), LIMIT))).to.be.instanceOf(StoreUnavailable);
      expect(await failure(store.write('new', bytes(600_000), LIMIT))).to.be.instanceOf(StoreUnavailable);
      expect(await store.stat('key')).to.have.property('byteSize', 100_000);
      expect(await filesUnder(small)).to.equal(1);
      await store.write('new', bytes(200_000), LIMIT);
    } finally {
      execFileSync('umount', [small]);
    }
  });

  it('refuses to open where a file has its name', async () => {
    await writeFile(join(folder, 'taken'), '');
    expect(await failure(openStore(REAL_DISK, join(folder, 'taken')))).to.be.instanceOf(StoreUnavailable);
  });

  it('removes the remains of dead writes when it is opened, and leaves live writes alone', async () => {
    await (await openStore()).write('key', bytes(3), LIMIT);
    await writeFile(join(folder, 'incoming', 'dead'), 'half');
    await writeFile(join(folder, 'incoming', 'living'), 'half');
    // A file's change time cannot be set back, so the disk reports an old one.
    const disk: Disk = {
      ...REAL_DISK,
      stat: (async (path: string) => ({
        ...(await REAL_DISK.stat(path)),
        ctimeMs: path.endsWith('dead') ? 0 : Date.now(),
      })) as unknown as Disk['stat'],
    };
    const store = await openStore(disk);
    expect(await readdir(join(folder, 'incoming'))).to.deep.equal(['living']);
    expect(await store.stat('key')).to.have.property('byteSize', 3);
  });

  it('keeps objects over a restart, with their etags', async () => {
    const first = await openStore();
    await first.write('key', bytes(10), LIMIT);
    expect(await (await openStore()).stat('key')).to.deep.equal(await first.stat('key'));
  });

  it('gives equal bytes equal etags whenever and wherever they were written', async () => {
    const store = await openStore();
    await store.write('one', bytes(10), LIMIT);
    await store.write('two', bytes(10), LIMIT);
    expect((await store.stat('one'))!.etag).to.equal((await store.stat('two'))!.etag);
  });

  it('reads on from the object it opened when that is replaced or removed', async () => {
    const store = await openStore();
    await store.write('key', bytes(300_000, 1), LIMIT);
    const reading = (await store.read('key'))!;
    await store.write('key', bytes(300_000, 2), LIMIT);
    const removed = (await store.read('key'))!;
    await store.remove('key');
    expect(new Set(await collected(reading))).to.deep.equal(new Set([1]));
    expect(new Set(await collected(removed))).to.deep.equal(new Set([2]));
  });

  it('keeps no file open once reading has ended or was left', async function openFiles() {
    if ((await openFilesUnder(folder)) === undefined) {
      console.log('      skipped: this system does not list open files');
      this.skip();
    }
    const store = await openStore();
    await store.write('key', bytes(300_000), LIMIT);
    for (let i = 0; i < 10; i += 1) {
      await collected((await store.read('key'))!);
      for await (const _ of (await store.read('key'))!) break;
      await (await store.read('key'))![Symbol.asyncIterator]().return!();
      await store.stat('key');
      await store.stat('none');
    }
    expect(await openFilesUnder(folder)).to.equal(0);
  });

  it('reports a damaged object as unavailable', async () => {
    const store = await openStore();
    await store.write('key', bytes(100), LIMIT);
    const [entry] = (await readdir(join(folder, 'objects'), { recursive: true, withFileTypes: true })).filter((found) =>
      found.isFile(),
    );
    await writeFile(join(entry!.parentPath, entry!.name), 'short');
    expect(await failure(store.stat('key'))).to.be.instanceOf(StoreUnavailable);
  });

  it('refuses to sign what it cannot honour', async () => {
    const store = await openStore();
    const put = { key: 'key', mediaType: 'image/png', byteSize: 1, expiresAt: 1 };
    for (const change of [
      { key: '../key' },
      { mediaType: 'image/png\r\nX: y' },
      { mediaType: 'png' },
      { byteSize: -1 },
      { byteSize: 1.5 },
      { expiresAt: Number.NaN },
    ]) {
      expect(await failure(store.signPut({ ...put, ...change })), JSON.stringify(change)).to.be.instanceOf(RangeError);
    }
    expect(
      await failure(
        FileObjectStore.open({ folder, publicBaseUrl: () => '', secret: new Uint8Array(31), clock: { now: () => 0 } }),
      ),
    ).to.be.instanceOf(RangeError);
  });
});

// Goal: threads read and write small files like handles do: whole, durable, apart from each other, and only while needed.
// Method: many jobs at once over a real folder; a disk that fails for one file.

const run = promisify(execFile);
const text = (bytes: unknown) => Buffer.from(bytes as Uint8Array).toString();
const bytesOf = (value: string) => Uint8Array.from(Buffer.from(value));

describe('small files', () => {
  let folder: string;
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'darkroom-small-'));
  });
  afterEach(async () => rm(folder, { recursive: true, force: true }));
  const at = (name: string) => join(folder, name);

  it('are written and read by few threads, however many there are at once', async () => {
    const threads = new SmallFilesThreads();
    const names = Array.from({ length: 500 }, (_, index) => `file-${index}`);
    await Promise.all(names.map(async (name) => threads.write(at(`${name}.new`), at(name), bytesOf(name))));
    const read = await Promise.all(names.map(async (name) => threads.read(at(name), 100)));
    expect(read.map(text)).to.deep.equal(names);
    expect((await readdir(folder)).length, 'no temporary file is left').to.equal(500);
    expect(threads.size).to.be.within(1, 4);
    await Promise.all(names.map(async (name) => threads.remove(at(name))));
    expect(await readdir(folder)).to.deep.equal([]);
  });

  it('take one thread where one does', async () => {
    const threads = new SmallFilesThreads();
    for (let index = 0; index < 40; index += 1) await threads.write(at('new'), at('file'), bytesOf(`${index}`));
    expect(text(await threads.read(at('file'), 100))).to.equal('39');
    expect(threads.size).to.equal(1);
  });

  it('that were just written are read as they are now, whoever has replaced or removed them', async () => {
    const threads = new SmallFilesThreads();
    await threads.write(at('new'), at('file'), bytesOf('written'));
    const reading = threads.read(at('file'), 100);
    await writeFile(at('other'), 'replaced');
    await rename(at('other'), at('file'));
    expect(text(await reading), 'read at once').to.equal('written');
    expect(text(await threads.read(at('file'), 100))).to.equal('replaced');
    expect(await threads.read(at('file'), 3)).to.equal('larger');
    await rm(at('file'));
    expect(await threads.read(at('file'), 100)).to.equal('missing');
  });

  it('are missing, too large or at fault, each said apart', async () => {
    const threads = new SmallFilesThreads();
    await writeFile(at('file'), 'four');
    expect(await threads.read(at('none'), 100)).to.equal('missing');
    expect(await threads.read(at('file'), 3)).to.equal('larger');
    expect(text(await threads.read(at('file'), 4))).to.equal('four');
    await threads.remove(at('none'));
    const failure = await threads.write(at('none/new'), at('file'), bytesOf('x')).catch((error: unknown) => error);
    expect(failure).to.have.property('code', 'ENOENT');
    expect(await readFile(at('file'), 'utf8')).to.equal('four');
  });

  it('fail one by one: the others of the same moment are written', () => {
    const disk = {
      ...fs,
      renameSync: (from: string, to: string) => {
        if (to.endsWith('b')) throw Object.assign(new Error('EIO'), { code: 'EIO' });
        fs.renameSync(from, to);
      },
    } as SyncDisk;
    const jobs = ['a', 'b', 'c'].map((name) => ({
      kind: 'write' as const,
      incoming: at(`${name}.new`),
      target: at(name),
      bytes: bytesOf(name),
    }));
    expect(runSmallFileJobs(disk, jobs)).to.deep.equal(['done', { code: 'EIO' }, 'done']);
    expect(fs.readdirSync(folder)).to.have.members(['a', 'c']);
  });

  it('make a folder durable once for all its names, and are not written where that fails', () => {
    const synced: string[] = [];
    const paths = new Map<number, string>();
    const disk = {
      ...fs,
      openSync: (path: string, ...args: [string, number?]) => {
        const file = fs.openSync(path, ...args);
        paths.set(file, path);
        return file;
      },
      fsyncSync: (file: number) => {
        const path = paths.get(file)!;
        synced.push(path);
        if (path === at('broken')) throw Object.assign(new Error('EIO'), { code: 'EIO' });
        fs.fsyncSync(file);
      },
    } as unknown as SyncDisk;
    fs.mkdirSync(at('whole'));
    fs.mkdirSync(at('broken'));
    const jobs = ['whole/a', 'broken/b', 'whole/c'].map((name) => ({
      kind: 'write' as const,
      incoming: at(`${name}.new`),
      target: at(name),
      bytes: bytesOf(name),
    }));
    expect(runSmallFileJobs(disk, jobs)).to.deep.equal(['done', { code: 'EIO' }, 'done']);
    expect(synced).to.deep.equal([...jobs.map(({ incoming }) => incoming), at('whole'), at('broken')]);
  });

  it('do not keep a process that has nothing else to do, and keep one that waits for them', async () => {
    const module = new URL('../../../adapters/files/small-files.js', import.meta.url).href;
    const program = `
      const { SmallFilesThreads } = await import(${JSON.stringify(module)});
      void new SmallFilesThreads().write(${JSON.stringify(at('new'))}, ${JSON.stringify(at('file'))}, new Uint8Array([97]));`;
    await writeFile(at('program.mjs'), program);
    await run(process.execPath, [at('program.mjs')]);
    expect(await readFile(at('file'), 'utf8')).to.equal('a');
  });
});
