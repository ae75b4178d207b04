// Goal: probing by sharp and mediabunny keeps the port's contract, holds no more bytes than allowed, and blocks other decoders.
// Method: the contract; sources that tell when they are read; sharp itself asked to open an SVG.
import { expect } from 'chai';
import sharp from 'sharp';
import { SharpMediaProbe } from '../../../adapters/media/sharp-media-probe.js';
import { mediaProbeContract } from '../../contracts/media-probe.contract.js';
import { streamOf } from '../../fixtures/byte-streams.js';
import { image } from '../../fixtures/images.js';

mediaProbeContract({ name: 'sharp', open: async () => new SharpMediaProbe(), close: async () => undefined, supports: {} });

describe('SharpMediaProbe', () => {
  it('reads no more sources at once than it may', async () => {
    const probe = new SharpMediaProbe({ concurrency: 2 });
    const whole = await image('png');
    let open = 0;
    let most = 0;
    async function* source(): AsyncGenerator<Uint8Array> {
      open += 1;
      most = Math.max(most, open);
      yield whole;
      await new Promise(setImmediate);
      open -= 1;
    }
    await Promise.all(Array.from({ length: 10 }, async () => probe.probe(source(), { maxBytes: 100_000, maxPixels: 1000, decode: 'header' })));
    expect(most).to.equal(2);
  });

  it('leaves no decoder of other kinds open in the process', async () => {
    const svg = Buffer.from('<svg xmlns="http://www.w3.org/2000/svg" width="9" height="9"></svg>');
    const outcome = await sharp(svg).metadata().then(() => 'opened', () => 'refused');
    expect(outcome).to.equal('refused');
  });

  it('counts the frames of an animated PNG', async () => {
    const plain = Buffer.from(await image('png'));
    const control = Buffer.concat([Buffer.from([0, 0, 0, 8]), Buffer.from('acTL'), Buffer.from([0, 0, 0, 100, 0, 0, 0, 0]), Buffer.alloc(4)]);
    const animated = Buffer.concat([plain.subarray(0, 33), control, plain.subarray(33)]);
    const answer = await new SharpMediaProbe().probe(streamOf(animated), { maxBytes: 100_000, maxPixels: 24 * 16 * 99, decode: 'header' });
    expect(answer).to.have.property('invalid').that.includes('100 frames');
  });
});
