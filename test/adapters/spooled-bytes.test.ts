import { expect } from 'chai';
import fc from 'fast-check';
import { HeldBytes } from '../../adapters/held-bytes.js';
import { MAX_HELD_BY_ALL, MAX_HELD_BYTES, SpooledBytes } from '../../adapters/spooled-bytes.js';
import { collected } from '../fixtures/byte-streams.js';
import { folderForSuite } from '../fixtures/opened.js';
import { openFilesUnder } from './files/open-files.js';

// Goal: bytes that wait come back as they were, whether they are in memory or on disk, and all that wait together take a
// bounded share of the memory.
// Method: pieces around the limit, compared with what was added; the open files of this process are counted where the system
// tells them.

// Each test has a room of its own: answers of other suites in this process may still be held.
const SHARE_OF_ALL = MAX_HELD_BY_ALL / MAX_HELD_BYTES;

describe('bytes that wait to be read', () => {
  const folder = folderForSuite('spooled-bytes');

  const pieces = fc.array(fc.integer({ min: 0, max: MAX_HELD_BYTES >> 1 }), { maxLength: 6 });

  it('come back in any part, again and again, from memory as from a file', async () => {
    const places = new Set<string>();
    await fc.assert(
      fc.asyncProperty(pieces, fc.nat(), fc.nat(), async (sizes, start, length) => {
        const added: Uint8Array[] = [];
        const spooled = new SpooledBytes(folder, new HeldBytes(MAX_HELD_BY_ALL));
        for (const [index, size] of sizes.entries()) {
          const piece = new Uint8Array(size).map((_, at) => (at + index) % 251);
          added.push(Uint8Array.from(piece));
          await spooled.append(piece);
          // Its source uses the memory again.
          piece.fill(0);
        }
        const all = Buffer.concat(added);
        expect(spooled.byteSize).to.equal(all.byteLength);
        const from = start % (all.byteLength + 1);
        const size = length % (all.byteLength - from + 1);
        for (const [at, count] of [
          [0, all.byteLength],
          [from, size],
        ] as const) {
          const read = await collected(spooled.read(at, count));
          expect(Buffer.from(read).equals(all.subarray(at, at + count))).to.equal(true);
          read.fill(0);
        }
        const isOnDisk = all.byteLength > MAX_HELD_BYTES;
        expect(await openFilesUnder(folder)).to.be.oneOf([isOnDisk ? 1 : 0, undefined]);
        places.add(isOnDisk ? 'disk' : 'memory');
        await spooled.close();
        expect(await openFilesUnder(folder)).to.be.oneOf([0, undefined]);
      }),
      { numRuns: 40 },
    );
    expect([...places].toSorted()).to.deep.equal(['disk', 'memory']);
  });

  it('go to files where many wait already, and to memory again once those are closed', async () => {
    const most = new Uint8Array(MAX_HELD_BYTES).fill(7);
    const room = new HeldBytes(MAX_HELD_BY_ALL);
    for (let round = 0; round < 2; round += 1) {
      const all = Array.from({ length: SHARE_OF_ALL + 3 }, () => new SpooledBytes(folder, room));
      for (const one of all) await one.append(most);
      expect(await openFilesUnder(folder)).to.be.oneOf([3, undefined]);
      for (const one of all)
        expect(Buffer.from(await collected(one.read(0, most.byteLength))).equals(most)).to.equal(true);
      await Promise.all(all.map(async (one) => one.close()));
    }
  });

  it('are refused once they are closed', async () => {
    const spooled = new SpooledBytes(folder);
    await spooled.append(Uint8Array.of(1));
    const reading = spooled.read(0, 1);
    await spooled.close();
    const outcome = await collected(reading).catch((error: Error) => error.message);
    expect(outcome).to.equal('The bytes are no longer kept.');
  });
});
