/*
 * Goal: a reference with transparent areas reaches fal, Replicate, Cog and an API behind `http-json` as the model's
 * settings say, so that exactly its transparent areas are repainted.
 * Method: submissions to the fakes, and the pictures that they received, decoded and read as each kind of model reads a mask.
 */
import { expect } from 'chai';
import { randomUUID } from 'node:crypto';
import { existsSync, readdirSync, readlinkSync } from 'node:fs';
import sharp from 'sharp';
import { cogDriver } from '../../../adapters/providers/cog/cog-driver.js';
import { falDriver } from '../../../adapters/providers/fal/fal-driver.js';
import { httpJsonDriver } from '../../../adapters/providers/http-json/http-json-driver.js';
import { replicateDriver } from '../../../adapters/providers/replicate/replicate-driver.js';
import { REFERENCE_UNREAD } from '../../../adapters/providers/shared/whole-references.js';
import type { ReferenceRole } from '../../../core/generation/generation.js';
import type { JsonObject } from '../../../core/json.js';
import { MemoryBudget } from '../../../core/memory-budget.js';
import type { Provider, ProviderReference } from '../../../core/ports/provider.js';
import { WANTED } from '../../contracts/provider.contract.js';
import { breakingOff } from '../../fixtures/byte-streams.js';
import { image } from '../../fixtures/images.js';
import { IMAGE_PLACE } from '../../fixtures/settings-place.js';
import {
  decodedPicture,
  HEIGHT_PX,
  maskedPicture,
  maskedReference,
  MEMORY_BYTES,
  pixelAt,
  WIDTH_PX,
} from '../../fixtures/marked-media.js';
import { CogFake } from '../../providers/fakes/cog-fake.js';
import { FalFake } from '../../providers/fakes/fal-fake.js';
import { ReplicateFake } from '../../providers/fakes/replicate-fake.js';
import { StudioFake } from '../../providers/fakes/studio-fake.js';
import type { VendorFake } from '../../providers/fakes/vendor-fake.js';
import { cogAt, SETTINGS as COG } from './cog/opened-cog.js';
import { falAt, SETTINGS as FAL } from './fal/opened-fal.js';
import { AUTH, httpJsonAt, studioMapping } from './http-json/opened-http-json.js';
import { replicateAt, SETTINGS as REPLICATE } from './replicate/opened-replicate.js';
import { closeAnswers, defaultsOf, outputsOf, referenceOf, sampleTask } from './vendor-subject.js';

/** How a model takes masks: in a separate picture, or by the transparency of the reference. */
type Taking = 'white' | 'black' | 'alpha' | 'in the picture' | 'none';

interface Kind {
  readonly driver: typeof falDriver;
  open(memory: MemoryBudget): Promise<{
    readonly provider: Provider & { close(): Promise<void> };
    readonly fake: VendorFake;
    /** The input of the last task. */
    input(): Readonly<Record<string, unknown>>;
    /** The bytes of a value of the input. */
    bytesOf(value: unknown): Uint8Array;
  }>;
  /** Settings of a model whose pictures are in `images` and whose mask is in `mask`. */
  settings(taking: Taking): JsonObject;
}

function inputSettings({ mask: _, ...others }: JsonObject, taking: Taking): JsonObject {
  const mask = { 'white': 'white', 'black': 'black', 'alpha': 'alpha', 'in the picture': 'alpha', 'none': undefined }[
    taking
  ];
  return {
    ...others,
    references: { reference_image: { field: 'images', many: true }, start_frame: { field: 'frame' } },
    ...(mask === undefined ? {} : { mask: { ...(taking === 'in the picture' ? {} : { field: 'mask' }), form: mask } }),
  };
}

function studioSettings(taking: Taking): JsonObject {
  const mapping = studioMapping();
  const first = taking === 'in the picture' ? '{reference_image.0.with_alpha}' : '{reference_image.0}';
  const body: JsonObject = {
    prompt: '{prompt}',
    images: [first, '{reference_image.1}'],
    frame: '{start_frame.0}',
    ...(taking === 'none' || taking === 'in the picture' ? {} : { mask: `{reference_image.0.${taking}_mask}` }),
  };
  return {
    ...mapping,
    parameters: {},
    files_as: 'data-url',
    submit: { ...(mapping['submit'] as JsonObject), body },
  };
}

function ofDataUrl(value: unknown): Uint8Array {
  const [, base64] = /^data:image\/(?:png|webp);base64,(.+)$/.exec(String(value)) ?? [];
  if (base64 === undefined) throw new Error(`${String(value).slice(0, 60)} is not a data URL.`);
  return Buffer.from(base64, 'base64');
}

type Opened = Awaited<ReturnType<Kind['open']>>;

/** Opens a fake and an instance at it. */
function opening<Fake extends VendorFake>(
  openFake: () => Promise<Fake>,
  providerAt: (base: string, options: JsonObject, log: undefined, memory: MemoryBudget) => Opened['provider'],
  inputOf: (fake: Fake) => Readonly<Record<string, unknown>>,
  bytesOf: (value: unknown, fake: Fake) => Uint8Array = ofDataUrl,
): Kind['open'] {
  return async (memory) => {
    const fake = await openFake();
    const provider = providerAt(fake.base, {}, undefined, memory);
    return { provider, fake, input: () => inputOf(fake), bytesOf: (value) => bytesOf(value, fake) };
  };
}

const STUDIO_OPTIONS = { auth: AUTH.studio, api_key: 'key' };

const KINDS: Readonly<Record<string, Kind>> = {
  'fal': {
    driver: falDriver,
    open: opening(
      () => FalFake.open(),
      falAt,
      (fake) => fake.queue.at(-1)!.input,
    ),
    settings: (taking) => inputSettings(FAL, taking),
  },
  'replicate': {
    driver: replicateDriver,
    open: opening(
      () => ReplicateFake.open(),
      replicateAt,
      (fake) => fake.predictions.at(-1)!.input,
      (value, fake) =>
        String(value).startsWith('data:') ? ofDataUrl(value) : fake.files.get(String(value).split('/').at(-1)!)!,
    ),
    settings: (taking) => inputSettings(REPLICATE, taking),
  },
  'cog': {
    driver: cogDriver,
    open: opening(
      () => CogFake.open(),
      cogAt,
      (fake) => fake.predictions.at(-1)!.input,
    ),
    settings: (taking) => inputSettings(COG, taking),
  },
  'http-json': {
    driver: httpJsonDriver,
    open: opening(
      () => StudioFake.open('key'),
      (base, _, log, memory) => httpJsonAt(base, STUDIO_OPTIONS, log, memory),
      (fake) => fake.jobs.at(-1)!.task,
    ),
    settings: studioSettings,
  },
};

type Decoded = Awaited<ReturnType<typeof decodedPicture>>;

/** The pixels that a model repaints if it reads masks this way: `#` for each, and `~` for partly repainted ones. */
function madeAnew(mask: Decoded, taking: Taking): string[] {
  return Array.from({ length: mask.heightPx }, (_, y) =>
    Array.from({ length: mask.widthPx }, (__, x) => {
      const pixel = mask.at(x, y);
      const value = taking === 'white' ? 255 - pixel[0]! : taking === 'black' ? pixel[0]! : pixel[3]!;
      return value === 0 ? '#' : value === 255 ? '.' : '~';
    }).join(''),
  );
}

/** The transparent third of the picture, the soft and the opaque one. */
const ROW = '#'.repeat(8) + '~'.repeat(8) + '.'.repeat(8);
const UPRIGHT = Array.from({ length: HEIGHT_PX }, () => ROW);
/** The same where EXIF says that it is to be turned to the right. */
const TURNED = [...ROW].map((sign) => sign.repeat(HEIGHT_PX));

const withoutSoft = (rows: readonly string[]) => rows.map((row) => row.replaceAll('~', ''));

/** Files without a name that this process has open: where split pictures wait. Linux lists them. */
function openPictures(): number {
  const folder = '/proc/self/fd';
  if (!existsSync(folder)) return 0;
  return readdirSync(folder).filter((fd) => {
    try {
      return /\/darkroom-[0-9a-f-]{36} \(deleted\)$/.test(readlinkSync(`${folder}/${fd}`));
    } catch {
      return false;
    }
  }).length;
}

for (const [name, kind] of Object.entries(KINDS))
  describe(`a masked reference at ${name}`, () => {
    let opened: Opened;
    let memory: MemoryBudget;
    let openBefore: number;
    let png: Uint8Array;
    let other: Uint8Array;
    before(async () => {
      [png, other] = [await maskedPicture().png().toBuffer(), await image('png')];
    });
    beforeEach(async () => {
      memory = new MemoryBudget(MEMORY_BYTES);
      openBefore = openPictures();
      opened = await kind.open(memory);
    });
    afterEach(async () => {
      closeAnswers();
      await opened.provider.close();
      await opened.fake.close();
      // The file of a result is closed a little later than its answer.
      for (let turn = 0; turn < 100 && openPictures() > openBefore; turn += 1) await new Promise(setImmediate);
      expect(memory.heldBytes).to.equal(0);
      expect(openPictures()).to.be.at.most(openBefore);
    });

    const submit = (taking: Taking, references: readonly ProviderReference[], call = WANTED) =>
      opened.provider.submit(sampleTask({ settings: kind.settings(taking), references, token: randomUUID() }), call);

    /** Submits these references and returns the pictures and the mask that were sent. */
    async function sent(taking: Taking, references: readonly ProviderReference[]) {
      const answer = await submit(taking, references);
      expect(answer).to.have.property('accepted', true);
      if ('outputs' in answer) await outputsOf(Promise.resolve(answer));
      const { images, mask } = opened.input();
      return {
        images: (images as unknown[]).map((value) => opened.bytesOf(value)),
        mask: mask === undefined ? undefined : opened.bytesOf(mask),
      };
    }

    for (const taking of ['white', 'black', 'alpha'] as const)
      it(`becomes its colours and a mask whose ${taking} areas are made anew`, async () => {
        const { images, mask } = await sent(taking, [maskedReference(png)]);
        const [colours, read] = [await decodedPicture(images[0]!), await decodedPicture(mask!)];
        expect(images).to.have.length(1);
        expect([colours.widthPx, colours.heightPx]).to.deep.equal([read.widthPx, read.heightPx]);
        expect([colours.channels, read.channels]).to.deep.equal([3, taking === 'alpha' ? 4 : 1]);
        expect(madeAnew(read, taking)).to.deep.equal(UPRIGHT);
        for (let x = 0; x < WIDTH_PX; x += 1) expect(colours.at(x, 5)).to.deep.equal(pixelAt(x, 5).slice(0, 3));
      });

    it('is sent as it is to a model that reads its transparency', async () => {
      const webp = await maskedPicture().webp({ lossless: true, exact: true }).toBuffer();
      for (const [bytes, mediaType] of [
        [png, 'image/png'],
        [webp, 'image/webp'],
      ] as const) {
        const { images, mask } = await sent('in the picture', [referenceOf(other), maskedReference(bytes, mediaType)]);
        expect(images.map((one) => Buffer.from(one))).to.deep.equal([Buffer.from(bytes), Buffer.from(other)]);
        expect(mask).to.equal(undefined);
      }
    });

    it('gets an alpha channel for such a model where its palette is transparent', async () => {
      const palette = await maskedPicture().png({ palette: true, dither: 0 }).toBuffer();
      const { images } = await sent('in the picture', [maskedReference(palette)]);
      const picture = await decodedPicture(images[0]!);
      expect([picture.channels, picture.isPalette]).to.deep.equal([4, false]);
      expect(withoutSoft(madeAnew(picture, 'alpha'))).to.deep.equal(withoutSoft(UPRIGHT));
    });

    it('comes before the others, which are sent as they are', async () => {
      const { images, mask } = await sent('white', [referenceOf(other), maskedReference(png)]);
      const colours = await decodedPicture(images[0]!);
      expect([colours.channels, colours.at(3, 7)]).to.deep.equal([3, pixelAt(3, 7).slice(0, 3)]);
      expect(Buffer.from(images[1]!).equals(other)).to.equal(true);
      expect(madeAnew(await decodedPicture(mask!), 'white')).to.deep.equal(UPRIGHT);
    });

    it('is turned upright together with its mask, and may have a palette', async () => {
      const turned = await maskedPicture().withMetadata({ orientation: 6 }).png().toBuffer();
      const palette = await maskedPicture().png({ palette: true, dither: 0 }).toBuffer();
      for (const taking of ['white', 'black'] as const) {
        const one = await sent(taking, [maskedReference(turned)]);
        const [colours, mask] = [await decodedPicture(one.images[0]!), await decodedPicture(one.mask!)];
        expect([colours.widthPx, colours.heightPx]).to.deep.equal([HEIGHT_PX, WIDTH_PX]);
        expect(madeAnew(mask, taking)).to.deep.equal(TURNED);
        const plain = await decodedPicture((await sent(taking, [maskedReference(palette)])).mask!);
        expect(withoutSoft(madeAnew(plain, taking))).to.deep.equal(withoutSoft(UPRIGHT));
      }
    });

    it('may be large, and each picture is sent as files of its size are', async () => {
      const pixels = Buffer.from(
        await sharp(await image('png', 500, 400))
          .ensureAlpha()
          .raw()
          .toBuffer(),
      );
      for (let at = 3; at < pixels.byteLength / 2; at += 4) pixels[at] = 0;
      const large = await sharp(pixels, { raw: { width: 500, height: 400, channels: 4 } })
        .png()
        .toBuffer();
      const { images, mask } = await sent('black', [maskedReference(large)]);
      expect(images[0]!.byteLength).to.be.above(256 * 1024);
      expect(await decodedPicture(images[0]!)).to.include({ widthPx: 500, heightPx: 400, channels: 3 });
      const read = madeAnew(await decodedPicture(mask!), 'black');
      expect([read.slice(0, 200), read.slice(200)]).to.deep.equal([
        Array.from({ length: 200 }, () => '#'.repeat(500)),
        Array.from({ length: 200 }, () => '.'.repeat(500)),
      ]);
    });

    it('is not the only kind of reference: an opaque one is sent without a mask', async () => {
      for (const taking of ['white', 'in the picture'] as const) {
        const { images, mask } = await sent(taking, [referenceOf(other)]);
        expect(Buffer.from(images[0]!).equals(other)).to.equal(true);
        expect(mask).to.equal(undefined);
      }
    });

    it('refuses the task before anything is sent where the model cannot take it', async () => {
      const masked = maskedReference(png);
      const broken = maskedReference(png.subarray(0, png.byteLength >> 1));
      const cases: readonly (readonly [Taking, readonly ProviderReference[], RegExp])[] = [
        ['none', [masked], /^The model takes no file with transparent areas\.$/],
        ['white', [masked, masked], /^The model takes at most 1 file with transparent areas\.$/],
        ['white', [{ ...masked, role: 'start_frame' }], /^A start_frame must not have transparent areas\.$/],
        ['white', [broken], /^A reference file could not be read as a picture; send/],
      ];
      for (const [taking, references, sentence] of cases) {
        const answer = await submit(taking, references);
        expect(answer).to.have.nested.property('failure.code', 'INPUT_INVALID');
        expect(answer).to.have.nested.property('failure.message').that.matches(sentence);
      }
      expect(opened.fake.server.requests).to.have.length(0);
    });

    it('refuses the task before anything is sent where it is not whole in our own store', async () => {
      for (const cut of [0, 200, png.byteLength]) {
        const reference = { ...maskedReference(png), open: async () => breakingOff(png.subarray(0, cut)) };
        expect(await submit('white', [reference])).to.deep.equal(REFERENCE_UNREAD);
      }
      expect(opened.fake.server.requests).to.have.length(0);
    });

    it('waits for memory to be decoded in, and holds none while it is sent', async () => {
      const submitted = await memory.during(MEMORY_BYTES, async () => {
        const abort = new AbortController();
        const aborted = submit('white', [maskedReference(png)], { signal: abort.signal });
        const waiting = submit('white', [maskedReference(png)]);
        while (memory.waiting < 2) await new Promise(setImmediate);
        abort.abort();
        expect(await aborted, 'nothing was sent, which is certain').to.have.property('accepted', false);
        expect(opened.fake.server.requests).to.have.length(0);
        return { waiting };
      });
      while (opened.fake.server.requests.length === 0) await new Promise(setImmediate);
      const { heldBytes } = memory;
      const answer = await submitted.waiting;
      if ('outputs' in answer) await outputsOf(Promise.resolve(answer));
      expect([answer.accepted, heldBytes]).to.deep.equal([true, 0]);
    });

    it('that the settings require needs a file that the model requires', () => {
      const { mask, ...settings } = kind.settings('white');
      if (mask === undefined) return;
      const needing = { ...settings, mask: { ...(mask as JsonObject), required: true } };
      const faultFor = (requiredRoles: readonly ReferenceRole[]) =>
        kind.driver.settingsFault?.(needing, {
          ...IMAGE_PLACE,
          options: defaultsOf(kind.driver.options),
          referenceRoles: ['reference_image', 'start_frame'],
          maxReferenceUploads: 2,
          requiredRoles,
        });
      expect(faultFor(['reference_image'])).to.equal(undefined);
      for (const roles of [[], ['start_frame']] as const)
        expect(faultFor(roles)).to.equal(
          'mask.required is true, so required_roles of the model must have reference_image: such a file has the mask.',
        );
    });

    it('is promised where the settings say how it is taken', () => {
      for (const taking of ['white', 'black', 'alpha', 'in the picture'] as const) {
        const settings = kind.settings(taking);
        expect(opened.provider.capabilities(settings)).to.have.property('maxMaskedReferences', 1);
        expect(kind.driver.capabilities?.(settings, defaultsOf(kind.driver.options), '/catalogs')).to.deep.equal(
          opened.provider.capabilities(settings),
        );
      }
      expect(opened.provider.capabilities(kind.settings('none'))).to.not.have.property('maxMaskedReferences');
    });
  });
