// Goal: decoding any references that clients send adds at most 400 MiB to the memory of a worker: eight generations at
// once (by default three) with four of the worst references each, one of them a mask.
// Method: the compiled program as a separate process. For each way to store a picture, the largest file of that kind
// that a completion accepts is sent; the peak resident size of the process is read from /proc.
import { expect } from 'chai';
import { decodeBytesOf } from '../../core/media/image-header.js';
import { DEFAULT_SETTINGS } from '../../core/settings.js';
import { largeJpeg, largePng, largeWebp, SAMPLING_444 } from '../fixtures/large-media.js';
import {
  peakResidentBytes,
  resetPeakResidentBytes,
  residentBytes,
  tellsResidentMemory,
} from '../fixtures/resident-memory.js';
import { sizeOf } from '../harness/run-sizes.js';
import { type Client, LiveService } from './live-service.js';

const MIB = 1024 * 1024;
const GENERATIONS = sizeOf('decodedGenerations');
const { maxUploadPixels, maxUploadDecodeBytes } = DEFAULT_SETTINGS;
const CMYK = [
  [1, 1],
  [1, 1],
  [1, 1],
  [1, 1],
] as const;

interface Form {
  readonly mediaType: string;
  readonly make: (widthPx: number, heightPx: number) => Uint8Array | Promise<Uint8Array>;
}

/** The most expensive ways to store a picture: for each format the two that cost most for themselves. */
const FORMS: Readonly<Record<string, Form>> = {
  'progressive JPEG, turned': {
    mediaType: 'image/jpeg',
    make: (widthPx, heightPx) =>
      largeJpeg({ widthPx, heightPx, sampling: SAMPLING_444, scans: 'progressive', orientation: 6 }),
  },
  'progressive JPEG of four channels': {
    mediaType: 'image/jpeg',
    make: (widthPx, heightPx) => largeJpeg({ widthPx, heightPx, sampling: CMYK, scans: 'progressive' }),
  },
  'transparent interlaced PNG of 16 bits': {
    mediaType: 'image/png',
    make: (widthPx, heightPx) => largePng({ widthPx, heightPx, depth: 16, channels: 4, isInterlaced: true }),
  },
  'lossless WebP': { mediaType: 'image/webp', make: largeWebp },
};

/** A square within both bounds and close to one of them. The cost of decoding grows with the area. */
async function largest({ make }: Form): Promise<Uint8Array> {
  for (let side = Math.floor(Math.sqrt(maxUploadPixels)); ;) {
    const bytes = await make(side, side);
    const excess = decodeBytesOf(bytes) / maxUploadDecodeBytes;
    if (excess <= 1) return bytes;
    side = Math.floor(side * Math.min(0.995, Math.sqrt(1 / excess)));
  }
}

describe('the memory of references', () => {
  let service: LiveService;
  let client: Client;

  before(async function () {
    if (!tellsResidentMemory) this.skip();
    service = await LiveService.start({
      config: { providers: { sandbox: { kind: 'sandbox', threads: 4 } } },
      catalog: (shipped) =>
        shipped.replace(
          /concurrency: 4\n( +)concurrency_per_account: 3/,
          `concurrency: ${GENERATIONS}\n$1concurrency_per_account: ${GENERATIONS}`,
        ),
    });
    client = service.client((await service.tenant(10_000)).secret);
  });
  after(() => service?.remove());

  async function generate(round: string, references: readonly string[]): Promise<void> {
    const parameters = { size: '512x512', n: 1 };
    const made = Array.from({ length: GENERATIONS }, async (_, index) => {
      const { data, message } = await client.create(`${round}-${index}`, 'sandbox-image', parameters, {
        reference_upload_ids: [...references],
      });
      if (data === undefined || data === null) return message;
      return (await client.until(data['generation_id'] as string))['status'] ?? message;
    });
    expect(await Promise.all(made)).to.deep.equal(made.map(() => 'succeeded'));
  }

  it(`stays below 400 MiB for ${GENERATIONS} generations with four of the most expensive`, async () => {
    const references: string[] = [];
    for (const [index, form] of Object.values(FORMS).entries()) {
      const { status, data, message } = await client.upload(`worst-${index}`, form.mediaType, await largest(form));
      expect(status, message).to.equal(200);
      references.push(data['upload_id'] as string);
    }
    await generate('without', []);
    const pid = service.server.pid!;
    const baseBytes = residentBytes(pid);
    resetPeakResidentBytes(pid);
    await generate('with', references);
    const peakBytes = peakResidentBytes(pid);
    expect((peakBytes - baseBytes) / MIB, `MiB above ${Math.round(baseBytes / MIB)}`).to.be.lessThan(400);
  });

  it('would be exceeded by a progressive JPEG of 40 megapixels, which is refused with an acceptable form', async () => {
    const bytes = largeJpeg({ widthPx: 6_324, heightPx: 6_325, sampling: SAMPLING_444, scans: 'progressive' });
    const { status, code, message } = await client.upload('too-dear', 'image/jpeg', bytes);
    expect([status, code]).to.deep.equal([422, 'FIELD_INVALID']);
    expect(message).to.equal(
      'The file is a progressive JPEG of 6324x6325 pixels, which takes 259 MiB to decode; ' +
        'at most 160 MiB are allowed: send fewer pixels, or a JPEG that is not progressive.',
    );
    const baseline = largeJpeg({ widthPx: 6_324, heightPx: 6_325, sampling: SAMPLING_444, scans: 'baseline' });
    expect((await client.upload('as-many-pixels', 'image/jpeg', baseline)).status).to.equal(200);
  });
});
