// Goal: previews by sharp keep the port's contract, and hold no more memory than they reserved.
// Method: the contract; pictures whose headers promise more than may be decoded; a budget that is looked at meanwhile.
import { expect } from 'chai';
import { SharpPreviews } from '../../../adapters/media/sharp-previews.js';
import { MemoryBudget } from '../../../core/memory-budget.js';
import { previewsContract } from '../../contracts/previews.contract.js';
import { inPieces } from '../../fixtures/byte-streams.js';
import { image } from '../../fixtures/images.js';

previewsContract({
  name: 'sharp',
  open: async () => new SharpPreviews(),
  close: async () => undefined,
  supports: {},
});

describe('SharpPreviews', () => {
  it('does not decode a picture whose header promises more than is allowed', async () => {
    const bytes = Buffer.from(await image('png'));
    bytes.writeUInt32BE(60_000, 16);
    bytes.writeUInt32BE(60_000, 20);
    const memory = new MemoryBudget(1);
    const limits = { sourceBytes: bytes.byteLength, maxBytes: 100_000 };
    expect(await new SharpPreviews({ memory }).ofImage(inPieces(bytes), limits)).to.equal(null);
  });

  it('makes none while a hundred others wait, and leaves no source open', async () => {
    const memory = new MemoryBudget(1_000_000);
    const bytes = await image('png', 200, 200);
    const limits = { sourceBytes: bytes.byteLength, maxBytes: 100_000 };
    let release: () => void = () => undefined;
    const held = memory.during(1_000_000, () => new Promise<void>((resolve) => (release = resolve)));
    const previews = new SharpPreviews({ memory, concurrency: 1 });
    const waiting = Array.from({ length: 101 }, () => previews.ofImage(inPieces(bytes), limits));
    let isClosed = false;
    async function* watched(): AsyncGenerator<Uint8Array> {
      try {
        yield* inPieces(bytes);
      } finally {
        isClosed = true;
      }
    }
    const source = watched();
    await source.next();
    expect(await previews.ofImage(source, limits)).to.equal(null);
    expect(isClosed).to.equal(true);
    release();
    await held;
    expect((await Promise.all(waiting)).every((preview) => preview !== null)).to.equal(true);
  });

  it('waits for memory that others hold, and gives it back', async () => {
    const memory = new MemoryBudget(1_000_000);
    const bytes = await image('png', 200, 200);
    let release: () => void = () => undefined;
    const held = memory.during(1_000_000, () => new Promise<void>((resolve) => (release = resolve)));
    const making = new SharpPreviews({ memory }).ofImage(inPieces(bytes), {
      sourceBytes: bytes.byteLength,
      maxBytes: 1e5,
    });
    while (memory.waiting === 0) await new Promise(setImmediate);
    release();
    await held;
    expect((await making)?.mediaType).to.equal('image/jpeg');
    expect(memory.heldBytes).to.equal(0);
  });
});
