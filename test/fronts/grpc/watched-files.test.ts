// Goal: content that could not be read once, as when the process had no descriptor left, is read as soon as it can be, though
// the file does not change again; one fault is logged once.
// Method: a watch of one file, whose reader throws for some time; changes are made by writing the file.
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect } from 'chai';
import { pino } from 'pino';
import { WatchedFiles } from '../../../apps/grpc/watched-files.js';

const INTERVAL_MS = 5;

describe('watched files', () => {
  let folder: string;
  let path: string;
  let lines: string[];
  let files: WatchedFiles;
  let reads: number;
  let fault: string | undefined;
  const read = (): object => {
    reads += 1;
    if (fault !== undefined) throw new Error(fault);
    return { reads };
  };
  const until = async (holds: () => boolean): Promise<void> => {
    while (!holds()) await sleep(INTERVAL_MS);
  };
  const messages = (): readonly string[] => lines.map((line) => (JSON.parse(line) as { msg: string }).msg);

  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'darkroom-watched-'));
    path = join(folder, 'callers.yaml');
    writeFileSync(path, 'one');
    lines = [];
    reads = 0;
    fault = undefined;
    const logger = pino({ level: 'info' }, { write: (line: string) => void lines.push(line) });
    files = new WatchedFiles([path], 'callers', logger);
    files.start(read, INTERVAL_MS);
  });
  afterEach(() => {
    files.close();
    rmSync(folder, { recursive: true });
  });

  it('are read again until they can be, though nothing changes, and each fault is logged once', async () => {
    fault = 'EMFILE: too many open files';
    writeFileSync(path, 'the second');
    await until(() => reads >= 5);
    expect(messages()).to.deep.equal(['callers not read']);
    fault = 'EIO: i/o error';
    const before = reads;
    await until(() => reads >= before + 5);
    expect(messages()).to.deep.equal(['callers not read', 'callers not read']);
    fault = undefined;
    await until(() => messages().includes('callers read'));
    const used = reads;
    await sleep(10 * INTERVAL_MS);
    expect(reads, 'read no more once it is used').to.equal(used);
  });

  it('are not read while they stay as they were', async () => {
    await sleep(10 * INTERVAL_MS);
    expect(reads).to.equal(0);
    writeFileSync(path, 'the second');
    await until(() => reads === 1);
  });
});
