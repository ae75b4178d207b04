/*
 * Goal: the rules for the fields of a model's input hold alike at fal, Replicate and Cog: what is sent is within the bounds of
 * its rule, files go to the fields of their role in order, and rules that contradict each other are refused in one sentence.
 * Method: submissions to the fakes and the input that they received; settings with one mistake each.
 */
import { expect } from 'chai';
import fc from 'fast-check';
import { randomUUID } from 'node:crypto';
import type { ProviderDriver } from '../../../adapters/driver.js';
import { cogDriver } from '../../../adapters/providers/cog/cog-driver.js';
import { falDriver } from '../../../adapters/providers/fal/fal-driver.js';
import { replicateDriver } from '../../../adapters/providers/replicate/replicate-driver.js';
import type { ReferenceRole } from '../../../core/generation/generation.js';
import type { JsonObject } from '../../../core/json.js';
import type { Provider, Submission } from '../../../core/ports/provider.js';
import { WANTED } from '../../contracts/provider.contract.js';
import { IMAGE_PLACE } from '../../fixtures/settings-place.js';
import { maskedPicture, maskedReference } from '../../fixtures/marked-media.js';
import { CogFake } from '../../providers/fakes/cog-fake.js';
import { FalFake } from '../../providers/fakes/fal-fake.js';
import { ReplicateFake } from '../../providers/fakes/replicate-fake.js';
import type { VendorFake } from '../../providers/fakes/vendor-fake.js';
import { cogAt, SETTINGS as COG } from './cog/opened-cog.js';
import { falAt, SETTINGS as FAL } from './fal/opened-fal.js';
import { replicateAt, SETTINGS as REPLICATE } from './replicate/opened-replicate.js';
import { expectRefused, referenceOf, sampleTask, settingsFaultOf } from './vendor-subject.js';

type Input = Readonly<Record<string, unknown>>;

interface Opened {
  readonly provider: Provider & { close(): Promise<void> };
  readonly fake: VendorFake;
  inputs(): readonly Input[];
}

interface Kind {
  readonly driver: ProviderDriver;
  readonly settings: JsonObject;
  readonly open: () => Promise<Opened>;
}

const inputsOf = (tasks: readonly { readonly input: Input }[]) => () => tasks.map(({ input }) => input);

const KINDS: Readonly<Record<string, Kind>> = {
  fal: {
    driver: falDriver,
    settings: FAL,
    open: async () => {
      const fake = await FalFake.open();
      return { fake, provider: falAt(fake.base), inputs: inputsOf(fake.queue) };
    },
  },
  Replicate: {
    driver: replicateDriver,
    settings: REPLICATE,
    open: async () => {
      const fake = await ReplicateFake.open();
      return { fake, provider: replicateAt(fake.base), inputs: inputsOf(fake.predictions) };
    },
  },
  Cog: {
    driver: cogDriver,
    settings: COG,
    open: async () => {
      const fake = await CogFake.open();
      return { fake, provider: cogAt(fake.base), inputs: inputsOf(fake.predictions) };
    },
  },
};

const SIZE = { parameter: 'size', minimum: 256, maximum: 1_536, multiple_of: 16 };
const RULES: JsonObject = {
  image_size: { ...SIZE, size: 'object' },
  size: { ...SIZE, size: '{w}*{h}' },
  width: { ...SIZE, size: 'width' },
  height: { ...SIZE, size: 'height' },
  num_frames: { parameter: 'seconds', type: 'integer', times: 24, plus: 1, minimum: 25, maximum: 241 },
  loras: { value: [{ path: 'https://models.example/ink.safetensors', scale: 0.8 }, null] },
};

const FILES: JsonObject = {
  reference_image: [
    { field: 'image_url' },
    { field: 'style_image_urls', many: true, maximum: 2 },
    { field: 'subject_image_url' },
  ],
  start_frame: { field: 'start_image_url' },
};

for (const [name, { driver, settings: base, open }] of Object.entries(KINDS))
  describe(`fields of a model's input at ${name}`, () => {
    const settings: JsonObject = { ...base, references: FILES, fields: RULES };
    delete settings['mask'];
    let opened: Opened;
    beforeEach(async () => void (opened = await open()));
    afterEach(async () => {
      await opened.provider.close();
      await opened.fake.close();
    });

    /** The input of a task, or the sentence of its refusal, before which nothing was sent. */
    const sent = async (wish: Partial<Submission>): Promise<Input | string> => {
      const before = opened.fake.server.requests.length;
      const answer = await opened.provider.submit(sampleTask({ modelKey: 'm', settings, ...wish }), WANTED);
      if (answer.accepted) return opened.inputs().at(-1)!;
      expect(opened.fake.server.requests).to.have.length(before);
      return `${answer.failure.code}: ${answer.failure.message}`;
    };

    it('have a size as an object, a text and two sides, frames of seconds, and constants of any JSON', async () => {
      expect(settingsFaultOf(driver)(settings)).to.equal(undefined);
      expect(await sent({ prompt: 'a boat', parameters: { size: '1024x576', seconds: 5, other: 'x' } })).to.deep.equal({
        prompt: 'a boat',
        image_size: { width: 1_024, height: 576 },
        size: '1024*576',
        width: 1_024,
        height: 576,
        num_frames: 121,
        loras: (RULES['loras'] as JsonObject)['value'],
      });
    });

    it('have values within the bounds of their rules, or the task is not sent', async () => {
      const side = fc.oneof(
        fc.integer({ min: 200, max: 1_600 }),
        fc.integer({ min: 16, max: 96 }).map((n) => n * 16),
      );
      await fc.assert(
        fc.asyncProperty(side, side, fc.double({ min: 0, max: 12, noNaN: true }), async (width, height, seconds) => {
          const isWithin =
            [width, height].every((px) => px >= 256 && px <= 1_536 && px % 16 === 0) &&
            Math.round(seconds * 24 + 1) >= 25 &&
            Math.round(seconds * 24 + 1) <= 241;
          const input = await sent({ parameters: { size: `${width}x${height}`, seconds } });
          if (!isWithin) expect(input).to.match(/^INPUT_INVALID: The parameter (?:size|seconds) has a value/);
          else
            expect(input).to.deep.include({ image_size: { width, height }, num_frames: Math.round(seconds * 24 + 1) });
        }),
        { numRuns: 40 },
      );
    });

    it('have a drawn seed for a task without one, the same when the task is sent again', async () => {
      const rules: JsonObject = {
        seed: { parameter: 'seed', type: 'integer', minimum: 5, maximum: 999_999, draw: true },
      };
      const inputSchema: JsonObject = { type: 'object', properties: { seed: { type: 'integer', maximum: 1_000_000 } } };
      const drawing: JsonObject = { ...settings, fields: rules };
      expect(settingsFaultOf(driver)(drawing)).to.equal(undefined);
      const seedOf = async (token: string, parameters: JsonObject = {}) => {
        const input = await sent({ settings: drawing, inputSchema, token, parameters });
        return typeof input === 'string' ? input : input['seed'];
      };
      const [token, other] = [randomUUID(), randomUUID()];
      const seed = await seedOf(token);
      expect(seed).to.be.within(5, 999_999);
      expect(await seedOf(token)).to.equal(seed);
      expect(await seedOf(other)).to.not.equal(seed);
      expect(await seedOf(token, { seed: 7 })).to.equal(7);
      expect(await seedOf(token, { seed: 4 })).to.match(/^INPUT_INVALID: The parameter seed has a value/);
    });

    it('leave out the prompt of a task without one', async () => {
      expect(await sent({ prompt: '' })).to.have.all.keys('loras');
    });

    it('take the files of a role in order, each field up to its maximum', async () => {
      const file = (text: string, role?: ReferenceRole) => referenceOf(Buffer.from(text), role);
      const url = (text: string) => `data:image/png;base64,${Buffer.from(text).toString('base64')}`;
      const files = ['a', 'b', 'c', 'd', 'e'].map((text) => file(text));
      const start = file('s', 'start_frame');
      expect(await sent({ prompt: '', references: [files[0]!, start, files[1]!] })).to.deep.include({
        image_url: url('a'),
        style_image_urls: [url('b')],
        start_image_url: url('s'),
      });
      const all = (await sent({ references: files.slice(0, 4) })) as Input;
      expect(all).to.deep.include({
        image_url: url('a'),
        style_image_urls: [url('b'), url('c')],
        subject_image_url: url('d'),
      });
      expect(await sent({ references: files })).to.equal(
        'INPUT_INVALID: The model takes at most 4 files of the role reference_image.',
      );
      expect(await sent({ references: [start, start] })).to.equal(
        'INPUT_INVALID: The model takes one file of the role start_frame.',
      );
    });

    it('take the file with a mask in the first field of its role', async () => {
      const masked = maskedReference(await maskedPicture().png().toBuffer());
      const plain = referenceOf(Buffer.from('plain'));
      const withMask = { ...settings, mask: { field: 'mask_image', form: 'white' } };
      const input = (await sent({ settings: withMask, references: [plain, masked] })) as Input;
      expect(input['style_image_urls']).to.deep.equal(['data:image/png;base64,cGxhaW4=']);
      for (const field of ['image_url', 'mask_image'])
        expect(input[field], field).to.match(/^(?:data:image\/png|http)/);
    });

    it('are refused for limits that let clients send more files, or files of other roles', () => {
      const faultFor = (
        referenceRoles: readonly ReferenceRole[],
        maxReferenceUploads: number,
        requiredRoles: readonly ReferenceRole[] = [],
      ) => driver.settingsFault?.(settings, { ...IMAGE_PLACE, referenceRoles, maxReferenceUploads, requiredRoles });
      expect(faultFor(['reference_image', 'start_frame'], 5)).to.equal(undefined);
      expect(faultFor(['reference_image', 'start_frame'], 6)).to.equal(
        'references has fields for 5 files, and max_reference_uploads of limits is 6; give it more, or lower the limit.',
      );
      const four = Array<ReferenceRole>(4).fill('reference_image');
      expect(faultFor(['reference_image', 'start_frame'], 5, [...four, 'start_frame'])).to.equal(undefined);
      expect(faultFor(['reference_image', 'start_frame'], 5, [...four, 'reference_image'])).to.equal(
        'references takes 4 files of the role reference_image, and required_roles asks for 5.',
      );
      expect(faultFor(['start_frame'], 2)).to.match(/^references has fields for 1 file, and max_reference_uploads/);
      expect(faultFor(['reference_image', 'end_frame'], 1)).to.equal(
        'references has no field for the role end_frame; give it one, or remove it from reference_roles of limits.',
      );
    });

    it('need a field for the negative prompt that limits let clients send', () => {
      const faultFor = (given: JsonObject) =>
        driver.settingsFault?.(given, { ...IMAGE_PLACE, takesNegativePrompt: true });
      const { negative_prompt_field: _, ...without } = settings;
      expect(faultFor({ ...without, negative_prompt_field: 'negative' })).to.equal(undefined);
      expect(faultFor(without)).to.equal(
        'negative_prompt_field must name the field for the negative prompt, since negative_prompt of limits is true.',
      );
    });

    it('are known to refuse values that an input schema allows', () => {
      const refused = (properties: JsonObject) => driver.refusedValues?.(settings, { type: 'object', properties });
      const size = (...sizes: string[]): JsonObject => ({ size: { type: 'string', enum: sizes } });
      expect(
        refused({ ...size('256x256', '1536x1024'), seconds: { type: 'integer', minimum: 1, maximum: 10 } }),
      ).to.deep.equal([]);
      expect(refused(size('256x256', 'auto'))).to.deep.equal([{ parameter: 'size', value: 'auto' }]);
      expect(refused(size('1600x1024', '250x256'))).to.deep.equal([{ parameter: 'size', value: '1600x1024' }]);
      expect(refused({ seconds: { type: 'integer', minimum: 1, maximum: 12 } })).to.deep.equal([
        { parameter: 'seconds', value: 11 },
      ]);
      for (const more of [
        { multipleOf: 5 },
        { exclusiveMaximum: 11 },
        { minimum: 0, exclusiveMinimum: 0, maximum: 10 },
      ])
        expect(
          refused({ seconds: { type: 'integer', minimum: 1, maximum: 12, ...more } }),
          JSON.stringify(more),
        ).to.deep.equal([]);
      expect(refused({ seconds: { type: 'number', minimum: 0.5, maximum: 1e9, default: 1 } })).to.deep.equal([
        { parameter: 'seconds', value: 0.5 },
      ]);
      expect(
        refused({ size: { type: 'string', pattern: '.*', default: 'square' }, other: { const: 1 } }),
      ).to.deep.equal([{ parameter: 'size', value: 'square' }]);
    });

    it('are refused in one sentence where their rules contradict each other', () => {
      const faultWith = (own: JsonObject) => settingsFaultOf(driver)({ ...settings, ...own });
      const files = (...fields: JsonObject[]) => ({ references: { reference_image: fields } });
      expectRefused(faultWith, [
        [{ fields: { size: { ...SIZE, size: '{w}' } } }, /^fields\.size has a size that is not object, width, height/],
        [{ fields: { size: { size: 'object' } } }, 'fields.size needs either a value or a parameter.'],
        [{ fields: { size: { ...SIZE, size: 'x'.repeat(65) } } }, /^fields\.size\.size /],
        [{ fields: { n: { parameter: 'n', type: 'integer', times: 2 } } }, /^fields\.n needs an enum, or a minimum/],
        [{ fields: { output: { value: { format: 'gif' } } } }, /^"gif" cannot be delivered/],
        [{ fields: { image_url: { value: null } } }, 'The field image_url of the input is given twice.'],
        [
          files({ field: 'images', many: true }, { field: 'image' }),
          'references.reference_image: images needs a maximum: without one, no file is left for the fields after it.',
        ],
        [
          files({ field: 'image', maximum: 2 }),
          'references.reference_image: image has a maximum of 2, and takes one file; give it many: true.',
        ],
        [files({ field: 'image' }, { field: 'image' }), 'The field image of the input is given twice.'],
        [files(), /^references\.reference_image /],
        [files({ field: 'image', many: true, maximum: 0 }), /^references\.reference_image\[0\]\.maximum /],
        [files(...Array.from({ length: 9 }, (_, index) => ({ field: `image_${index}` }))), /reference_image /],
        [files({ many: true }), /^references\.reference_image\[0\]\.field is required/],
      ]);
    });
  });
