// Goal: what arrives in small pieces is counted in full while it is held, once, and takes no time that grows with its square.
// Method: a count that records what it is asked for; bytes in pieces of one byte.
import { expect } from 'chai';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import {
  HeldBytes,
  IncomingBytes,
  MAX_SMALL_FILE_BYTES,
  REAL_DISK,
  TRAILER_BYTES,
} from '../../../adapters/files/object-folder.js';
import { smallFilesOver } from './small-files-here.js';

/** Knows how much is held, and how often more was asked for. */
class RecordedBytes extends HeldBytes {
  held = 0;
  requests = 0;

  override take(byteSize: number): boolean {
    this.requests += 1;
    const isTaken = super.take(byteSize);
    if (isTaken) this.held += byteSize;
    return isTaken;
  }

  override giveBack(byteSize: number): void {
    this.held -= byteSize;
    super.giveBack(byteSize);
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
    held = new RecordedBytes();
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
