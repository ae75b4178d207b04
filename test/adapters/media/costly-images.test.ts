// Goal: a small file cannot make a decoder hold much memory or work for long: what an upload costs is bounded by its size.
// Method: files whose structure declares more than encoders write, each just within the bound and just beyond it.
import { expect } from 'chai';
import { deflateSync } from 'node:zlib';
import sharp from 'sharp';
import { MAX_SCANS } from '../../../adapters/media/jpeg-file.js';
import { SharpMediaProbe } from '../../../adapters/media/sharp-media-probe.js';
import { MAX_FRAMES } from '../../../adapters/media/webp-file.js';
import { fileOf } from '../../fixtures/byte-streams.js';
import { image } from '../../fixtures/images.js';
import { pngChunk, webpChunk, webpOf, withPngChunks } from '../../fixtures/tagged-images.js';

const MIB = 1024 * 1024;

describe('the probe of an image that costs more than its size', () => {
  const probe = new SharpMediaProbe();
  for (const decode of ['header', 'full'] as const) {
    const probed = async (bytes: Uint8Array) => probe.probe(fileOf(bytes), { maxPixels: 1_000_000, decode });

    describe(`with ${decode === 'full' ? 'all its pixels' : 'its header'} looked at`, () => {
      const text = (type: 'zTXt' | 'iTXt', byteSize: number) => {
        const compressed = deflateSync(Buffer.alloc(byteSize), { level: 9 });
        const before = type === 'zTXt' ? 'k\0\0' : 'k\0\u0001\0\0\0';
        return pngChunk(type, Buffer.concat([Buffer.from(before, 'latin1'), compressed]));
      };
      const LONG = { invalid: 'The image has compressed texts that may take more memory than is allowed.' };

      it('refuses a PNG with many long texts that are compressed', async () => {
        for (const type of ['zTXt', 'iTXt'] as const) {
          const one = text(type, 8 * MIB - 1);
          expect(one.length).to.be.below(10_000);
          const withTexts = async (count: number) =>
            withPngChunks(
              await image('png'),
              Array.from({ length: count }, () => one),
            );
          expect(await probed(await withTexts(4))).to.include({ kind: 'image' });
          expect(await probed(await withTexts(5))).to.deep.equal(LONG);
        }
      });

      it('accepts a PNG with a long text that is not compressed', async () => {
        const long = pngChunk('iTXt', Buffer.concat([Buffer.from('k\0\0\0\0\0', 'latin1'), Buffer.alloc(MIB, 'x')]));
        expect(await probed(withPngChunks(await image('png'), [long]))).to.include({ kind: 'image' });
      });

      it('refuses a WebP with more frames than are allowed, and one whose frames have too many pixels', async () => {
        const frame = await frameOf(1, 1);
        const animation = (frames: number, side = 1) =>
          webpOf(
            webpChunk('VP8X', Uint8Array.of(2, 0, 0, 0, side - 1, 0, 0, side - 1, 0, 0)),
            webpChunk('ANIM', new Uint8Array(6)),
            ...Array.from({ length: frames }, () => frame),
          );
        expect(await probed(animation(MAX_FRAMES))).to.include({ kind: 'image' });
        expect(await probed(animation(MAX_FRAMES + 1))).to.deep.equal({
          invalid: 'The image has more than 1,000 frames.',
        });
        expect(await probed(animation(200, 100)))
          .to.have.property('invalid')
          .which.matches(/pixels/);
      });

      it('refuses a JPEG with more scans than are allowed', async () => {
        const jpeg = Buffer.from(
          await sharp({ create: { width: 64, height: 64, channels: 3, background: 'grey' } })
            .jpeg({ progressive: true })
            .toBuffer(),
        );
        const scanAt = jpeg.lastIndexOf(Buffer.from([0xff, 0xda]));
        const scans = [...jpeg].filter((byte, at) => byte === 0xff && jpeg[at + 1] === 0xda).length;
        const withScans = (count: number) =>
          Buffer.concat([
            jpeg.subarray(0, -2),
            ...Array.from({ length: count - scans }, () => jpeg.subarray(scanAt, -2)),
            jpeg.subarray(-2),
          ]);
        expect(await probed(withScans(scans))).to.include({ kind: 'image' });
        expect(await probed(withScans(MAX_SCANS + 1))).to.deep.equal({ invalid: 'The image has more than 100 scans.' });
      });

      it('refuses a JPEG that is coded arithmetically', async () => {
        const jpeg = Buffer.from(await image('jpeg'));
        jpeg[jpeg.indexOf(Buffer.from([0xff, 0xc0])) + 1] = 0xc9;
        expect(await probed(jpeg)).to.deep.equal({
          invalid: 'The image is coded arithmetically, which few programs read.',
        });
      });
    });
  }
});

/** A frame of an animation, of one still picture. */
async function frameOf(widthPx: number, heightPx: number): Promise<Buffer> {
  const still = await sharp({ create: { width: widthPx, height: heightPx, channels: 3, background: 'grey' } })
    .webp()
    .toBuffer();
  const head = Buffer.alloc(16);
  head.writeUIntLE(widthPx - 1, 6, 3);
  head.writeUIntLE(heightPx - 1, 9, 3);
  head.writeUIntLE(40, 12, 3);
  return webpChunk('ANMF', Buffer.concat([head, still.subarray(12)]));
}
