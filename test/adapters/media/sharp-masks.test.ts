import { expect } from 'chai';
import fc from 'fast-check';
import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import sharp from 'sharp';
import { SharpMasks } from '../../../adapters/media/sharp-masks.js';
import { MemoryBudget } from '../../../core/memory-budget.js';
import type { MadePicture, PictureBytes } from '../../../core/ports/media.js';
import { collected, inPieces } from '../../fixtures/byte-streams.js';
import { forAll } from '../../harness/for-all.js';

// Goal: a picture with its mask has the smaller alpha of both in each pixel, and its own colours in all of them. Method: random
// pixels in each form that a picture or a mask may have, compared one by one with those of the result.

const LIMITS = { maxPixels: 10_000, maxDecodeBytes: 1024 ** 2 };

const fileOf = (bytes: Uint8Array): PictureBytes => ({
  byteSize: bytes.byteLength,
  bytes: () => inPieces(bytes, 1_000),
});

describe('SharpMasks', () => {
  let folder: string;
  let memory: MemoryBudget;
  let masks: SharpMasks;
  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'masks-'));
  });
  beforeEach(() => {
    memory = new MemoryBudget(64 * 1024);
    masks = new SharpMasks({ memory, folder });
  });
  afterEach(async () => {
    expect(await readdir(folder)).to.deep.equal([]);
    expect([memory.heldBytes, memory.waiting]).to.deep.equal([0, 0]);
  });
  after(() => rm(folder, { recursive: true }));

  const made = async (picture: Uint8Array, mask: Uint8Array): Promise<Buffer> => {
    const result = (await masks.apply(fileOf(picture), fileOf(mask), LIMITS)) as MadePicture;
    expect(result).not.to.have.property('message');
    const bytes = Buffer.from(await collected(result.bytes()));
    expect(bytes).to.deep.equal(Buffer.from(await collected(result.bytes())));
    expect(bytes.byteLength).to.equal(result.byteSize);
    await result.close();
    return bytes;
  };
  const rgba = (bytes: Uint8Array) => sharp(bytes).ensureAlpha().raw().toBuffer();

  it('sets each alpha to the smaller of both and changes no colour', () =>
    forAll(
      40,
      [fc.integer({ min: 1, max: 20 }), fc.integer({ min: 1, max: 20 }), fc.constantFrom(3, 4), fc.nat()],
      async (width, height, channels, seed) => {
        let state = seed + 1;
        const noise = (length: number) =>
          Buffer.from(Array.from({ length }, () => (state = (state * 48_271) % 2_147_483_647) & 0xff));
        const pixels = noise(width * height * channels);
        const above = noise(width * height * 4);
        const picture = await sharp(pixels, { raw: { width, height, channels } }).png().toBuffer();
        const mask = await sharp(above, { raw: { width, height, channels: 4 } })
          .png()
          .toBuffer();
        const result = await made(picture, mask);
        const { format, channels: found, depth } = await sharp(result).metadata();
        expect([format, found, depth]).to.deep.equal(['png', 4, 'uchar']);
        const expected = await rgba(picture);
        for (let at = 3; at < expected.byteLength; at += 4) expected[at] = Math.min(expected[at]!, above[at]!);
        expect(await sharp(result).raw().toBuffer()).to.deep.equal(expected);
      },
    ));

  const alphas = Buffer.from(Array.from({ length: 12 * 8 }, (_, at) => (at * 5) % 256));
  const grey = { raw: { width: 12, height: 8, channels: 1 } } as const;
  const colours = { create: { width: 12, height: 8, channels: 3, background: '#123456' } } as const;
  const maskOf = () => sharp(colours).joinChannel(alphas, grey).png().toBuffer();

  for (const [what, picture] of [
    ['a JPEG', () => sharp(colours).jpeg().toBuffer()],
    ['a WebP', () => sharp(colours).webp({ lossless: true }).toBuffer()],
    ['a grey PNG', () => sharp(colours).greyscale().png().toBuffer()],
    ['a PNG with a palette', () => sharp(colours).png({ palette: true }).toBuffer()],
    ['a PNG of 16 bits', () => sharp(colours).toColourspace('rgb16').png().toBuffer()],
  ] as const)
    it(`takes ${what}`, async () => {
      const sent = await picture();
      const result = await made(sent, await maskOf());
      expect(await sharp(result).extractChannel('alpha').raw().toBuffer()).to.deep.equal(alphas);
      const [before, after] = await Promise.all(
        [sent, result].map((bytes) => sharp(bytes).toColourspace('srgb').removeAlpha().raw().toBuffer()),
      );
      expect(after).to.deep.equal(before);
    });

  it('takes a mask of 16 bits, and one with a palette', async () => {
    const picture = await sharp(colours).png().toBuffer();
    const deep = await sharp(await maskOf())
      .toColourspace('rgb16')
      .png()
      .toBuffer();
    expect(
      await sharp(await made(picture, deep))
        .extractChannel('alpha')
        .raw()
        .toBuffer(),
    ).to.deep.equal(alphas);
    const clear = {
      create: { width: 12, height: 8, channels: 4, background: { r: 0, g: 0, b: 0, alpha: 0 } },
    } as const;
    const indexed = await sharp(clear).png({ palette: true }).toBuffer();
    const { min, max } = (await sharp(await made(picture, indexed)).stats()).channels[3]!;
    expect([min, max]).to.deep.equal([0, 0]);
  });

  it('puts the mask on the picture as browsers show it', async () => {
    const stored = await sharp({ create: { width: 8, height: 12, channels: 3, background: '#808080' } })
      .withMetadata({ orientation: 6 })
      .jpeg()
      .toBuffer();
    const { width, height } = await sharp(await made(stored, await maskOf())).metadata();
    expect([width, height]).to.deep.equal([12, 8]);
  });

  const other = () =>
    sharp({ create: { width: 8, height: 12, channels: 4, background: '#808080' } })
      .png()
      .toBuffer();
  const large = () =>
    sharp({ create: { width: 101, height: 100, channels: 4, background: '#808080' } })
      .png()
      .toBuffer();
  const cut = async () => (await maskOf()).subarray(0, 80);
  for (const [what, picture, mask, of, message] of [
    ['a mask of another size', maskOf, other, 'mask', /as large as the picture, 12x8; it is 8x12/],
    ['a mask that is not a PNG', maskOf, () => sharp(colours).webp().toBuffer(), 'mask', /must be a PNG/],
    ['a mask without alpha', maskOf, () => sharp(colours).png().toBuffer(), 'mask', /alpha channel/],
    ['a mask that is cut', maskOf, cut, 'mask', /could not be decoded/],
    ['a picture that is cut', cut, maskOf, 'picture', /could not be decoded/],
    ['a picture with too many pixels', large, large, 'picture', /at most 10000 pixels/],
    ['other bytes', async () => Buffer.from('These are other bytes.'), maskOf, 'picture', /PNG, JPEG or WebP/],
  ] as const)
    it(`reports ${what}`, async () => {
      const result = await masks.apply(fileOf(await picture()), fileOf(await mask()), LIMITS);
      expect(result).to.include({ of });
      expect(result).to.have.property('message').that.matches(message);
    });

  it('passes on a failure of the source and of the disk', async () => {
    const broken: PictureBytes = {
      byteSize: 1_000,
      bytes: async function* fail() {
        yield (await maskOf()).subarray(0, 60);
        throw new Error('the line broke');
      },
    };
    const mask = fileOf(await maskOf());
    const outcome = (work: Promise<unknown>) =>
      work.then(
        () => 'made',
        (error: Error) => error.message,
      );
    expect(await outcome(masks.apply(mask, broken, LIMITS))).to.equal('the line broke');
    expect(await outcome(new SharpMasks({ folder: join(folder, 'none') }).apply(mask, mask, LIMITS))).to.match(
      /ENOENT/,
    );
  });
});
