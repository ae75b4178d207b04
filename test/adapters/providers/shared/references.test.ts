import { expect } from 'chai';
import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import sharp from 'sharp';
import { keptMasked, type MaskForm, splitMasked } from '../../../../adapters/providers/shared/masked-reference.js';
import { TaskRefused } from '../../../../adapters/providers/shared/task-refused.js';
import {
  REFERENCE_UNREAD,
  ReferenceUnprepared,
  WholeReferences,
} from '../../../../adapters/providers/shared/whole-references.js';
import { CallOver } from '../../../../core/cancellation.js';
import { decodeBytesOf } from '../../../../core/media/image-header.js';
import { MemoryBudget } from '../../../../core/memory-budget.js';
import type { ProviderReference } from '../../../../core/ports/provider.js';
import { breakingOff, collected, inPieces } from '../../../fixtures/byte-streams.js';
import {
  decodedPicture,
  HEIGHT_PX,
  maskedPicture,
  maskedReference,
  pixelAt,
  WIDTH_PX,
} from '../../../fixtures/marked-media.js';
import { SILENT } from '../../../fixtures/memory-stores.js';

/*
 * Goal: a reference that our own store returns damaged is never sent whole, and its request counts as ended early.
 * Method: references that break, end early or are too long, read as a request reads them.
 */

const BYTES = Buffer.from('0123456789');
const WANTED = { aborted: false };
const ABOUT = { instance: 'studio', log: SILENT };

/** The bytes of the reference that arrived, and the outcome of the request. */
async function sent(open: ProviderReference['open'], signal = WANTED) {
  const reference = { role: 'reference_image', mediaType: 'image/png', byteSize: BYTES.byteLength, open } as const;
  const whole = new WholeReferences([reference], ABOUT);
  let text = '';
  const request = async () => {
    for await (const piece of await whole.references[0]!.open()) text += Buffer.from(piece).toString();
    return 'taken';
  };
  const outcome = await whole.sent(request(), signal).catch((error: unknown) => (error as Error).message);
  return { text, outcome };
}

describe('references that a request reads', () => {
  it('come as they are, any number of times', async () => {
    const open = async () => inPieces(BYTES, 3);
    expect(await sent(open)).to.deep.equal({ text: '0123456789', outcome: 'taken' });
    const whole = new WholeReferences(
      [{ role: 'reference_image', mediaType: 'image/png', byteSize: BYTES.byteLength, open }],
      ABOUT,
    );
    for (let round = 0; round < 2; round += 1) {
      const pieces: Uint8Array[] = [];
      for await (const piece of await whole.references[0]!.open()) pieces.push(piece);
      expect(Buffer.concat(pieces).equals(BYTES)).to.equal(true);
    }
  });

  const broken: readonly (readonly [string, ProviderReference['open']])[] = [
    ['break before their first byte', () => Promise.reject(new Error('There is no such object.'))],
    ['break in the middle', async () => breakingOff(BYTES.subarray(0, 5))],
    ['break after their last byte', async () => breakingOff(BYTES)],
    ['are too short', async () => inPieces(BYTES.subarray(1), 3)],
    ['are too long', async () => inPieces(Buffer.concat([BYTES, BYTES]), 3)],
  ];
  for (const [name, open] of broken)
    it(`never come whole where they ${name}, and their task is refused`, async () => {
      const { text, outcome } = await sent(open);
      expect(text.length).to.be.lessThan(BYTES.byteLength);
      expect(outcome).to.equal(REFERENCE_UNREAD);
    });

  it('never come whole again where other bytes are there by then, and their task is refused', async () => {
    const readings = ['0123456789', '0123456780', '0123456789'].map((text) => Buffer.from(text));
    const open = async () => inPieces(readings.shift()!, 3);
    const whole = new WholeReferences(
      [{ role: 'reference_image', mediaType: 'image/png', byteSize: BYTES.byteLength, open }],
      ABOUT,
    );
    const texts: string[] = [];
    const read = async () => {
      let text = '';
      try {
        for await (const piece of await whole.references[0]!.open()) text += Buffer.from(piece).toString();
      } finally {
        texts.push(text);
      }
    };
    await read();
    expect(await whole.sent(read(), WANTED)).to.equal(REFERENCE_UNREAD);
    await read();
    expect(texts).to.deep.equal(['0123456789', '012345678', '0123456789']);
  });

  it('say in the log why they could not be read or prepared, as the client is not told', async () => {
    const told: unknown[] = [];
    const log = { ...SILENT, warn: (event: string, about: object) => void told.push({ event, ...about }) };
    const open = async () => breakingOff(BYTES);
    const whole = new WholeReferences(
      [{ role: 'reference_image', mediaType: 'image/png', byteSize: BYTES.byteLength, open }],
      { instance: 'studio', log },
    );
    const unprepared = Promise.reject(new ReferenceUnprepared(new Error('ENOSPC: no space left on device')));
    expect(await whole.sent(unprepared, WANTED)).to.equal(REFERENCE_UNREAD);
    const read = async () => {
      for await (const piece of await whole.references[0]!.open()) void piece;
    };
    expect(await whole.sent(read(), WANTED)).to.equal(REFERENCE_UNREAD);
    await whole.sent(read(), { aborted: true }).catch(() => undefined);
    const event = { event: 'reference file not read', provider: 'studio' };
    expect(told).to.deep.equal([
      { ...event, reason: 'ENOSPC: no space left on device' },
      { ...event, reason: 'the line broke' },
    ]);
  });

  it('leave the failure of a request as it is where it is not theirs, or the call was aborted', async () => {
    const whole = new WholeReferences([], ABOUT);
    const failing = whole.sent(Promise.reject(new Error('The line broke.')), WANTED);
    expect(await failing.catch((error: unknown) => (error as Error).message)).to.equal('The line broke.');
    const { outcome } = await sent(async () => breakingOff(BYTES), { aborted: true });
    expect(outcome).to.equal('the line broke');
  });
});

/*
 * Goal: a picture with transparent areas is split into its colours and its mask, pixel by pixel and upright, in bounded memory.
 * Method: pictures of known pixels in all forms, whose results are decoded and compared with a formula; a budget that the test holds.
 */

/** The position in the file of an upright pixel, by the picture's EXIF orientation. */
const STORED: Readonly<Record<number, (x: number, y: number) => readonly [number, number]>> = {
  1: (x, y) => [x, y],
  2: (x, y) => [WIDTH_PX - 1 - x, y],
  3: (x, y) => [WIDTH_PX - 1 - x, HEIGHT_PX - 1 - y],
  4: (x, y) => [x, HEIGHT_PX - 1 - y],
  5: (x, y) => [y, x],
  6: (x, y) => [y, HEIGHT_PX - 1 - x],
  7: (x, y) => [WIDTH_PX - 1 - y, HEIGHT_PX - 1 - x],
  8: (x, y) => [WIDTH_PX - 1 - y, x],
};

async function turned(orientation: number): Promise<Uint8Array> {
  return maskedPicture().withMetadata({ orientation }).png().toBuffer();
}

describe('splitting a masked reference', () => {
  let folder: string;
  const memory = new MemoryBudget(64 * 1024 * 1024);
  const { signal } = new AbortController();

  beforeEach(async () => void (folder = await mkdtemp(join(tmpdir(), 'masked-'))));

  afterEach(async () => {
    expect(memory.heldBytes).to.equal(0);
    expect(await readdir(folder)).to.deep.equal([]);
    await rm(folder, { recursive: true });
  });

  const splitting = () => ({ memory, signal, folder });

  async function split(reference: ProviderReference, form: MaskForm = 'white') {
    const parts = await splitMasked(reference, form, splitting());
    const [colours, mask] = await Promise.all(
      [parts.colours, parts.mask].map(async (file) => {
        expect(file.mediaType).to.equal('image/png');
        const bytes = await collected(await file.open());
        expect(bytes.byteLength).to.equal(file.byteSize);
        return decodedPicture(bytes);
      }),
    );
    await parts.close();
    return { colours: colours!, mask: mask! };
  }

  const bytesOf: Readonly<Record<string, readonly [string, () => Promise<Uint8Array>]>> = {
    'a PNG': ['image/png', () => maskedPicture().png().toBuffer()],
    'an interlaced PNG': ['image/png', () => maskedPicture().png({ progressive: true }).toBuffer()],
    'a PNG of 16 bits': ['image/png', () => maskedPicture().toColourspace('rgb16').png().toBuffer()],
    'a lossless WebP': ['image/webp', () => maskedPicture().webp({ lossless: true, exact: true }).toBuffer()],
  };
  for (const [what, [mediaType, bytes]] of Object.entries(bytesOf))
    it(`gives the colours of ${what}, also where it is transparent, and 255 - alpha`, async () => {
      const { colours, mask } = await split(maskedReference(await bytes(), mediaType));
      for (const part of [colours, mask]) expect([part.widthPx, part.heightPx]).to.deep.equal([WIDTH_PX, HEIGHT_PX]);
      expect([colours.channels, mask.channels]).to.deep.equal([3, 1]);
      for (let y = 0; y < HEIGHT_PX; y += 1)
        for (let x = 0; x < WIDTH_PX; x += 1) {
          const [red, green, blue, alpha] = pixelAt(x, y);
          expect(colours.at(x, y), `${x}, ${y}`).to.deep.equal([red, green, blue]);
          // 16 bits are rounded down to 8.
          expect(mask.at(x, y)[0], `${x}, ${y}`).to.be.closeTo(255 - alpha, 1);
          if (alpha === 0 || alpha === 255) expect(mask.at(x, y)).to.deep.equal([255 - alpha]);
        }
    });

  for (const orientation of [1, 2, 3, 4, 5, 6, 7, 8])
    it(`turns both upright where EXIF says ${orientation}`, async () => {
      const { colours, mask } = await split(maskedReference(await turned(orientation)));
      const isTurned = orientation > 4;
      const size = isTurned ? [HEIGHT_PX, WIDTH_PX] : [WIDTH_PX, HEIGHT_PX];
      for (const part of [colours, mask]) expect([part.widthPx, part.heightPx]).to.deep.equal(size);
      for (let y = 0; y < size[1]!; y += 1)
        for (let x = 0; x < size[0]!; x += 1) {
          const [red, green, blue, alpha] = pixelAt(...STORED[orientation]!(x, y));
          expect(colours.at(x, y), `${x}, ${y}`).to.deep.equal([red, green, blue]);
          expect(mask.at(x, y), `${x}, ${y}`).to.deep.equal([255 - alpha]);
        }
    });

  it('reads a palette with transparent entries', async () => {
    const bytes = await maskedPicture().png({ palette: true, dither: 0 }).toBuffer();
    expect((await decodedPicture(bytes)).isPalette).to.equal(true);
    const { colours, mask } = await split(maskedReference(bytes));
    expect([colours.channels, mask.channels]).to.deep.equal([3, 1]);
    expect([mask.at(0, 0), mask.at(23, 15)]).to.deep.equal([[255], [0]]);
  });

  for (const depth of ['b-w', 'grey16'] as const)
    it(`reads grey with an alpha channel (${depth})`, async () => {
      const bytes = await maskedPicture().toColourspace(depth).png().toBuffer();
      expect((await sharp(bytes).metadata()).channels).to.equal(2);
      const { colours, mask } = await split(maskedReference(bytes));
      expect([colours.channels, mask.channels]).to.deep.equal([3, 1]);
      const grey = await sharp(await maskedPicture().removeAlpha().toColourspace('b-w').png().toBuffer())
        .toColourspace('b-w')
        .raw()
        .toBuffer();
      for (const x of [0, 12, 23]) expect(colours.at(x, 4)[0]).to.be.closeTo(grey[4 * WIDTH_PX + x]!, 1);
      expect([mask.at(0, 0), mask.at(23, 15)]).to.deep.equal([[255], [0]]);
    });

  it('gives the opposite mask, and one with an alpha channel, on request', async () => {
    const reference = maskedReference(await maskedPicture().png().toBuffer());
    const black = (await split(reference, 'black')).mask;
    const alpha = (await split(reference, 'alpha')).mask;
    for (const x of [0, 9, 15, 23]) {
      expect(black.at(x, 3)).to.deep.equal([pixelAt(x, 3)[3]]);
      expect(alpha.at(x, 3)).to.deep.equal([0, 0, 0, pixelAt(x, 3)[3]]);
    }
  });

  it('makes nothing anew of an opaque picture', async () => {
    const { mask } = await split(maskedReference(await maskedPicture().removeAlpha().png().toBuffer()));
    expect([mask.channels, mask.at(0, 0)]).to.deep.equal([1, [0]]);
  });

  it('keeps an upright PNG as the picture and as its mask', async () => {
    const bytes = await maskedPicture().png().toBuffer();
    const { colours, mask, close } = await keptMasked(maskedReference(bytes), 4_000_000, splitting());
    for (const file of [colours, mask])
      expect(Buffer.from(await collected(await file.open())).equals(bytes)).to.equal(true);
    await close();
  });

  it('encodes a mask anew that is a WebP, is turned or is too large, without its colours', async () => {
    const webp = maskedReference(await maskedPicture().webp({ lossless: true }).toBuffer(), 'image/webp');
    const png = await maskedPicture().png().toBuffer();
    const large = maskedReference(png);
    const cases = [
      [webp, 4_000_000, webp],
      [large, png.byteLength, large],
      [maskedReference(await turned(6)), 4_000_000, undefined],
    ] as const;
    for (const [reference, most, kept] of cases) {
      const { colours, mask, close } = await keptMasked(reference, most, splitting());
      if (kept !== undefined) expect(colours).to.equal(kept);
      const decoded = await decodedPicture(await collected(await mask.open()));
      const { widthPx, heightPx } = await decodedPicture(await collected(await colours.open()));
      expect([decoded.widthPx, decoded.heightPx]).to.deep.equal([widthPx, heightPx]);
      expect(mask.mediaType).to.equal('image/png');
      const at = kept === undefined ? decoded.at(15, 1) : decoded.at(1, 0);
      expect(at).to.deep.equal([0, 0, 0, 0]);
      await close();
    }
  });

  it('refuses a mask that is too large in any form', async () => {
    const refused = keptMasked(maskedReference(await maskedPicture().png().toBuffer()), 50, splitting());
    expect(await refused.catch((error: unknown) => error)).to.be.instanceOf(TaskRefused);
  });

  it('refuses a file that cannot be decoded', async () => {
    const png = await maskedPicture().png({ compressionLevel: 0 }).toBuffer();
    const damaged = Buffer.concat([png.subarray(0, 300), Buffer.alloc(png.byteLength - 300)]);
    const ofHeight = (height: number): Buffer => {
      const bytes = Buffer.from(png);
      bytes.writeUInt32BE(height, 20);
      return bytes;
    };
    const others = [Buffer.from('no picture at all'), Buffer.from('short'), png.subarray(0, 400), damaged];
    for (const bytes of [...others, ofHeight(0), ofHeight(2 ** 32 - 1)]) {
      for (const splits of [
        () => splitMasked(maskedReference(bytes), 'white', splitting()),
        () => keptMasked(maskedReference(bytes), 10, splitting()),
      ]) {
        const error = await splits().catch((thrown: unknown) => thrown);
        expect(error).to.be.instanceOf(TaskRefused);
        expect((error as Error).message).to.match(/^A reference file could not be read as a picture; send/);
      }
    }
  });

  it('does not blame the file where the disk fails', async () => {
    const reference = maskedReference(await maskedPicture().png().toBuffer());
    const missing = { memory, signal, folder: join(folder, 'missing') };
    const error = await splitMasked(reference, 'white', missing).catch((thrown: unknown) => thrown);
    expect(error).to.be.instanceOf(ReferenceUnprepared);
    expect((error as Error).cause).to.have.property('code', 'ENOENT');
  });

  it('leaves a reference that breaks off to what watches the references', async () => {
    const bytes = await maskedPicture().png().toBuffer();
    const broken = { ...maskedReference(bytes), open: async () => breakingOff(bytes.subarray(0, 200)) };
    const whole = new WholeReferences([broken], { instance: 'studio', log: SILENT });
    const outcome = await whole.sent(splitMasked(whole.references[0]!, 'white', splitting()), signal);
    expect(outcome).to.equal(REFERENCE_UNREAD);
  });

  it('waits for memory with no more than the head of the file, and decodes nothing once its call is over', async () => {
    const bytes = await sharp({ create: { width: 600, height: 600, channels: 4, background: '#ff000000' } })
      .png({ compressionLevel: 0 })
      .toBuffer();
    const own = bytes.byteLength + decodeBytesOf(bytes) + 600 * 600 * 4;
    const small = new MemoryBudget(own);
    let read = 0;
    const reference = {
      ...maskedReference(bytes),
      open: async () => {
        read += 1;
        return inPieces(bytes, 1_000);
      },
    };
    const abort = new AbortController();
    await small.during(1, async () => {
      const waiting = [abort.signal, signal].map(async (one) =>
        splitMasked(reference, 'white', { memory: small, signal: one, folder }).catch((error: unknown) => error),
      );
      while (small.waiting < 2) await new Promise(setImmediate);
      expect(read).to.equal(2);
      abort.abort();
      expect(((await waiting[0]) as Error).cause).to.be.instanceOf(CallOver);
      void waiting[1]!.then((parts) => (parts as { close: () => Promise<void> }).close());
    });
    while (small.heldBytes > 0 || small.waiting > 0) await new Promise(setImmediate);
    expect(read).to.equal(3);
  });

  it('begins nothing for a call that is over', async () => {
    const reference = { ...maskedReference(new Uint8Array(9)), open: () => Promise.reject(new Error('read')) };
    const over = { memory, signal: AbortSignal.abort(new Error('over')), folder };
    const error = await splitMasked(reference, 'white', over).catch((thrown: Error) => thrown);
    expect(((error as Error).cause as Error).message).to.equal('over');
  });
});
