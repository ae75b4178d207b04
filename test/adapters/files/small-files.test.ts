// Goal: threads read and write small files like handles do: whole, durable, apart from each other, and only while needed.
// Method: many jobs at once over a real folder; a disk that fails for one file.
import { expect } from 'chai';
import { execFile } from 'node:child_process';
import * as fs from 'node:fs';
import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { runSmallFileJobs, SmallFilesThreads, type SyncDisk } from '../../../adapters/files/small-files.js';

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
