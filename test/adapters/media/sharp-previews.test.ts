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
