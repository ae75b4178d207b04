// Goal: content that could not be read once, as when the process had no descriptor left, is read as soon as it can be, though
// the file does not change again; one fault is reported once.
// Method: a watch of one file, whose reader throws for some time; changes are made by writing the file.
import { expect } from 'chai';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { WatchedFiles } from '../../../apps/grpc/certificates.js';

const INTERVAL_MS = 5;

describe('watched files', () => {
  let folder: string;
  let path: string;
  let reports: string[];
  let files: WatchedFiles;
  let reads: number;
  let fault: string | undefined;
  const until = async (holds: () => boolean): Promise<void> => {
    while (!holds()) await sleep(INTERVAL_MS);
  };

  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'darkroom-watched-'));
    path = join(folder, 'callers.yaml');
    writeFileSync(path, 'one');
    reports = [];
    reads = 0;
    fault = undefined;
    files = new WatchedFiles([path], {
      take: () => {
        reads += 1;
        if (fault !== undefined) throw new Error(fault);
        reports.push('read');
      },
      refuse: (faults) => reports.push(...faults),
    });
    files.start(INTERVAL_MS);
  });
  afterEach(() => {
    files.close();
    rmSync(folder, { recursive: true });
  });

  it('are read again until they can be, though nothing changes, and each fault is reported once', async () => {
    fault = 'EMFILE: too many open files';
    writeFileSync(path, 'the second');
    await until(() => reads >= 5);
    expect(reports).to.deep.equal(['Error: EMFILE: too many open files']);
    fault = 'EIO: i/o error';
    const before = reads;
    await until(() => reads >= before + 5);
    expect(reports.slice(1)).to.deep.equal(['Error: EIO: i/o error']);
    fault = undefined;
    await until(() => reports.includes('read'));
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
