/*
 * Goal: sd-server, the web UI, OpenAI and ComfyUI generate the transparent areas of a reference anew, and nothing else, in the colours of
 * the file.
 * Method: fakes read the picture and the mask as the sources or the documentation of their servers say; each pixel is compared
 * with the formula of the picture.
 */
import { expect } from 'chai';
import { writeFile } from 'node:fs/promises';
import sharp from 'sharp';
import { comfyUiDriver } from '../../../adapters/providers/comfyui/comfyui-driver.js';
import { openAiCapabilities } from '../../../adapters/providers/openai/openai-capabilities.js';
import { openAiDriver } from '../../../adapters/providers/openai/openai-driver.js';
import { settingsFault as openAiFault } from '../../../adapters/providers/openai/openai-settings.js';
import type { ReferenceRole } from '../../../core/generation/generation.js';
import type { JsonObject } from '../../../core/json.js';
import type { ProviderReference, SubmitAnswer } from '../../../core/ports/provider.js';
import { submitted, WANTED } from '../../contracts/provider.contract.js';
import { image } from '../../fixtures/images.js';
import { IMAGE_PLACE } from '../../fixtures/settings-place.js';
import { HEIGHT_PX, maskedPicture, maskedReference, pixelAt, WIDTH_PX } from '../../fixtures/marked-media.js';
import { A1111Fake } from '../../providers/fakes/a1111-fake.js';
import { OpenAiFake, type OpenAiVendor } from '../../providers/fakes/openai-fake.js';
import {
  readByLoadImage,
  readByLoadImageMask,
  readBySdServer,
  type ReadMask,
} from '../../providers/fakes/read-masks.js';
import { SdcppFake } from '../../providers/fakes/sdcpp-fake.js';
import { a1111At, SETTINGS as A1111_SETTINGS, task as a1111Task } from './a1111/opened-a1111.js';
import { openStudio, type Studio, task as comfyUiTask } from './comfyui/opened-comfyui.js';
import { EDIT, PROMPT } from './comfyui/workflows.js';
import { openAiAt, task as openAiTask } from './openai/opened-openai.js';
import { sdcppAt, SETTINGS as SDCPP_SETTINGS, task as sdcppTask } from './sdcpp/opened-sdcpp.js';
import { referenceOf, vendorForEach } from './vendor-subject.js';

/** Rounds as a server does that knows no soft edges. */
const hard = (share: number): number => Math.round(share);
const soft = (share: number): number => share;
/** OpenAI speaks of fully transparent pixels only. */
const transparentOnly = (share: number): number => (share === 1 ? 1 : 0);

function expectAnew(read: ReadMask | undefined, share: (transparency: number) => number): void {
  expect([read?.widthPx, read?.heightPx]).to.deep.equal([WIDTH_PX, HEIGHT_PX]);
  for (let y = 0; y < HEIGHT_PX; y += 1)
    for (let x = 0; x < WIDTH_PX; x += 1) {
      const [red, green, blue, alpha] = pixelAt(x, y);
      expect(read?.anewAt(x, y), `${x}, ${y}`).to.be.closeTo(share(1 - alpha / 255), 1e-9);
      expect(read?.colourAt(x, y), `${x}, ${y}`).to.deep.equal([red, green, blue]);
    }
}

const FILES: Readonly<Record<string, () => Promise<ProviderReference>>> = {
  'a PNG': async () => maskedReference(await maskedPicture().png().toBuffer()),
  'a WebP': async () =>
    maskedReference(await maskedPicture().webp({ lossless: true, exact: true }).toBuffer(), 'image/webp'),
  'a PNG that EXIF turns': async () => {
    const stored = sharp(await maskedPicture().png().toBuffer())
      .rotate(270)
      .withMetadata({ orientation: 6 });
    return maskedReference(await stored.png().toBuffer());
  },
};

/** Frees the outputs of an answer that nobody reads. */
async function accepted(answer: Promise<SubmitAnswer>): Promise<void> {
  const given = await answer;
  expect(given).to.have.property('accepted', true);
  if ('outputs' in given) given.close?.();
}

describe('masks for sd-server', () => {
  const vendor = vendorForEach({
    openFake: () => SdcppFake.open(),
    providerAt: (base) => sdcppAt(base),
    task: sdcppTask,
  });

  for (const [what, file] of Object.entries(FILES))
    it(`make anew what is transparent in ${what}`, async () => {
      expect(await vendor.submit({ references: [await file()] })).to.have.property('accepted', true);
      expect(vendor.fake.masks).to.have.length(1);
      expectAnew(vendor.fake.masks[0], hard);
    });

  it('are promised for the picture to begin with alone', async () => {
    const settings = { ...SDCPP_SETTINGS, references: 'ref_images' };
    expect(vendor.provider.capabilities(SDCPP_SETTINGS).maxMaskedReferences).to.equal(1);
    for (const none of [settings, {}])
      expect(vendor.provider.capabilities(none)).to.not.have.property('maxMaskedReferences');
    const references = [await FILES['a PNG']!()];
    expect(await vendor.refusedUnsent({ settings, references })).to.equal('INPUT_INVALID');
  });

  it('are absent for an opaque file', async () => {
    expect(await vendor.submit({ references: [referenceOf(await image('png'))] })).to.have.property('accepted', true);
    expect(JSON.parse(vendor.server.requests.at(-1)!.body.toString())).to.not.have.property('mask_image');
  });
});

describe('masks for Stable Diffusion web UI', () => {
  const vendor = vendorForEach({
    openFake: () => A1111Fake.open(),
    providerAt: (base) => a1111At(base),
    task: a1111Task,
  });

  async function sent(reference: ProviderReference, settings: JsonObject = A1111_SETTINGS) {
    await accepted(vendor.submit({ settings, references: [reference] }));
    return vendor.fake.taken.at(-1)!.fields;
  }

  for (const [what, file] of Object.entries(FILES))
    it(`make anew what is transparent in ${what}`, async () => {
      await sent(await file());
      expect(vendor.fake.masks).to.have.length(1);
      expectAnew(vendor.fake.masks[0], soft);
    });

  it('come with the fields that say how they are used, which settings may change', async () => {
    const file = await FILES['a PNG']!();
    const byDefault = { inpainting_mask_invert: 0, inpainting_fill: 1, inpaint_full_res: false, mask_blur: 0 };
    expect(await sent(file)).to.include(byDefault);
    const own = { mask_blur: { value: 6 }, inpaint_full_res: { value: true } };
    const settings = { ...A1111_SETTINGS, fields: { ...(A1111_SETTINGS['fields'] as JsonObject), ...own } };
    expect(await sent(file, settings)).to.include({ inpainting_fill: 1, inpaint_full_res: true, mask_blur: 6 });
    const opaque = await sent(referenceOf(await image('png')), settings);
    for (const name of ['mask', ...Object.keys(byDefault)]) expect(opaque).to.not.have.property(name);
  });

  it('are promised where the model takes references', () => {
    expect(vendor.provider.capabilities(A1111_SETTINGS).maxMaskedReferences).to.equal(1);
    expect(vendor.provider.capabilities({})).to.not.have.property('maxMaskedReferences');
  });
});

describe('masks for servers with the API of OpenAI', () => {
  let fake: OpenAiFake;
  afterEach(() => fake.close());

  async function sent(vendor: OpenAiVendor, settings: JsonObject, references: readonly ProviderReference[]) {
    fake = await OpenAiFake.open(vendor);
    const provider = openAiAt(fake.base);
    await accepted(provider.submit(openAiTask({ settings, references, parameters: { n: 1 } }), WANTED));
    await provider.close();
    return fake.images.taken.at(-1)!.files;
  }

  for (const [what, file] of Object.entries(FILES))
    it(`make anew what is transparent in ${what} at OpenAI`, async () => {
      await sent('openai', { model: 'gpt-image-2' }, [await file()]);
      expect(fake.images.masks).to.have.length(1);
      expectAnew(fake.images.masks[0], transparentOnly);
    });

  it('give OpenAI an upright PNG as it is, before the other files', async () => {
    const [bytes, other] = [await maskedPicture().png().toBuffer(), await image('png')];
    const files = await sent('openai', { model: 'gpt-image-2' }, [referenceOf(other), maskedReference(bytes)]);
    expect(files.map(({ field }) => field)).to.deep.equal(['image[]', 'image[]', 'mask']);
    const order = files.map(({ bytes: found }) => [bytes, other].findIndex((one) => found.equals(one)));
    expect(order).to.deep.equal([0, 1, 0]);
    expect(files[2]).to.include({ name: 'mask.png', type: 'image/png' });
  });

  it('have an alpha channel at OpenAI where the file has a palette', async () => {
    const palette = await maskedPicture().png({ palette: true }).toBuffer();
    await sent('openai', { model: 'gpt-image-2' }, [maskedReference(palette)]);
    expect(fake.images.masks[0]?.anewAt(0, 0)).to.equal(1);
    expect(fake.images.masks[0]?.anewAt(23, 0)).to.equal(0);
  });

  it('are smaller than 4 MB at OpenAI where the file is not', async () => {
    const side = 1_300;
    const noise = Buffer.from(
      Uint8Array.from({ length: side * side * 4 }, (_, at) =>
        at % 4 === 3 ? (at < 4_000 ? 0 : 255) : (at * 7_919) >> 3,
      ),
    );
    const bytes = await sharp(noise, { raw: { width: side, height: side, channels: 4 } })
      .png({ compressionLevel: 0 })
      .toBuffer();
    const [picture, mask] = await sent('openai', { model: 'gpt-image-2' }, [maskedReference(bytes)]);
    expect([picture!.bytes.equals(bytes), mask!.bytes.byteLength < 4_000_000]).to.deep.equal([true, true]);
    expect([fake.images.masks[0]?.anewAt(999, 0), fake.images.masks[0]?.anewAt(1_000, 0)]).to.deep.equal([1, 0]);
  });

  it('are white at sd-server', async () => {
    const [picture, mask] = await sent('localai', { preset: 'sd-cpp' }, [await FILES['a PNG']!()]);
    expect([picture?.field, mask?.field]).to.deep.equal(['image[]', 'mask']);
    expectAnew(await readBySdServer(picture!.bytes, mask!.bytes), hard);
  });

  it('go to the field that the settings name, as they say', async () => {
    const settings = { preset: 'vllm-omni', mask: { field: 'mask_image', form: 'black' } };
    const [picture, mask] = await sent('vllm-omni', settings, [await FILES['a WebP']!()]);
    expect([picture?.field, mask?.field]).to.deep.equal(['image', 'mask_image']);
    const read = await readBySdServer(picture!.bytes, mask!.bytes);
    expectAnew({ ...read, anewAt: (x, y) => 1 - read.anewAt(x, y) }, (share) => 1 - Math.round(1 - share));
  });

  it('are promised where the server takes them', async () => {
    fake = await OpenAiFake.open('localai');
    const promised = (settings: JsonObject) => openAiCapabilities(settings).maxMaskedReferences;
    for (const one of [{ model: 'gpt-image-2' }, { preset: 'sd-cpp' }, { preset: 'sglang', mask: { form: 'white' } }])
      expect(promised(one), JSON.stringify(one)).to.equal(1);
    for (const none of [
      { preset: 'localai', model: 'x' },
      { preset: 'vllm-omni' },
      { preset: 'sglang' },
      { model: 'gpt-image-2', mask: { form: 'none' } },
      { model: 'gpt-image-2', references: { max: 0 } },
      { preset: 'vllm-omni', api: 'video' },
    ])
      expect(promised(none), JSON.stringify(none)).to.equal(undefined);
    const needing = { preset: 'sglang', mask: { form: 'white', required: true } };
    expect(openAiCapabilities(needing)).to.include({ maxMaskedReferences: 1, needsMask: true });
    expect(openAiCapabilities({ model: 'gpt-image-2' })).to.not.have.property('needsMask');
    const provider = openAiAt(fake.base);
    const png = await FILES['a PNG']!();
    const none = { preset: 'localai', model: 'x' };
    const { isMasked: _, ...opaque } = png;
    for (const [settings, references] of [
      [none, [png]],
      [needing, [opaque]],
      [needing, []],
    ] as const) {
      const answer = await provider.submit(openAiTask({ settings, references }), WANTED);
      expect(answer).to.have.nested.property('failure.code', 'INPUT_INVALID');
    }
    expect(fake.server.requests).to.have.length(0);
    await provider.close();
  });

  it('are refused in settings that have no place for them', async () => {
    fake = await OpenAiFake.open('openai');
    for (const [settings, fault] of [
      [{ preset: 'vllm-omni', api: 'video', mask: { form: 'white' } }, /with api video/],
      [{ preset: 'localai', model: 'x', mask: { form: 'white' } }, /references\.as to be multipart/],
      [{ preset: 'sglang', mask: { form: 'white', field: 'image[]' } }, /this field takes the references/],
      [{ preset: 'sglang', mask: { form: 'white', field: 'prompt' } }, /given twice/],
      [{ preset: 'sglang', mask: { form: 'grey' } }, /form must be/],
      [{ preset: 'sglang', mask: {} }, /form/],
      [{ preset: 'sglang', mask: { form: 'none', required: true } }, /other than none/],
      [{ preset: 'sglang', references: { max: 0 }, mask: { form: 'white', required: true } }, /references\.max/],
    ] as const)
      expect(openAiFault(settings), JSON.stringify(settings)).to.match(fault);
    const needing = { preset: 'sglang', mask: { form: 'white', required: true } };
    const faultFor = (requiredRoles: readonly ReferenceRole[]) =>
      openAiDriver.settingsFault?.(needing, { ...IMAGE_PLACE, requiredRoles });
    expect(faultFor(['reference_image'])).to.equal(undefined);
    expect(faultFor([])).to.match(/^mask\.required is true, so required_roles of the model must have reference_image/);
  });
});

describe('masks for ComfyUI', () => {
  let studio: Studio;
  beforeEach(async () => void (studio = await openStudio()));
  afterEach(() => studio.close());

  const node = (classType: string, inputs: JsonObject): JsonObject => ({ class_type: classType, inputs });
  const MASKED: JsonObject = {
    2: node('PrimitiveStringMultiline', { value: '' }),
    8: node('LoadImage', { image: 'example.png' }),
    9: node('MaskToImage', { mask: ['8', 1] }),
    4: node('SaveImage', { images: ['9', 0], filename_prefix: 'ComfyUI' }),
  };
  const byChannel = (channel: string): JsonObject => ({
    ...MASKED,
    8: node('LoadImageMask', { image: 'example.png', channel }),
    9: node('MaskToImage', { mask: ['8', 0] }),
  });

  let count = 0;

  /** A model of a workflow, with these nodes for its reference images. */
  async function settingsOf(workflow: JsonObject, ...nodes: readonly string[]): Promise<JsonObject> {
    const name = `masked-${(count += 1)}.json`;
    await writeFile(`${studio.folder}/${name}`, JSON.stringify(workflow));
    return {
      workflow: name,
      inputs: { prompt: PROMPT, reference_image: nodes.map((id) => ({ node: id, input: 'image' })) },
    };
  }

  async function uploadedOf(settings: JsonObject, references: readonly ProviderReference[]): Promise<Uint8Array[]> {
    await submitted(studio.provider, comfyUiTask({ settings, references }));
    return [...studio.fake.queue.files].filter(([path]) => path.startsWith('input/')).map(([, bytes]) => bytes);
  }

  for (const [what, file] of Object.entries(FILES))
    it(`make anew what is transparent in ${what}, which is uploaded as it is`, async () => {
      const reference = await file();
      const [uploaded] = await uploadedOf(await settingsOf(MASKED, '8'), [reference]);
      expect(uploaded?.byteLength).to.equal(reference.byteSize);
      expectAnew(await readByLoadImage(uploaded!), soft);
    });

  it('have an alpha channel where the file has a palette', async () => {
    const palette = await maskedPicture().png({ palette: true }).toBuffer();
    const [uploaded] = await uploadedOf(await settingsOf(MASKED, '8'), [maskedReference(palette)]);
    const read = await readByLoadImage(uploaded!);
    expect([read.anewAt(0, 0), read.anewAt(23, 0)]).to.deep.equal([1, 0]);
  });

  it('are what LoadImageMask takes of its channel', async () => {
    for (const channel of ['alpha', 'red'] as const) {
      studio.fake.queue.files.clear();
      const [uploaded] = await uploadedOf(await settingsOf(byChannel(channel), '8'), [await FILES['a PNG']!()]);
      const { anewAt } = await readByLoadImageMask(uploaded!, channel);
      for (const x of [0, 12, 23]) expect(anewAt(x, 2), channel).to.be.closeTo(1 - pixelAt(x, 2)[3] / 255, 1e-9);
    }
  });

  it('are promised for as many files as the workflow uses masks of', async () => {
    const two: JsonObject = {
      ...MASKED,
      10: node('LoadImage', { image: 'example.png' }),
      11: node('ImageCompositeMasked', { destination: ['9', 0], source: ['10', 0], mask: ['10', 1] }),
      12: node('LoadImage', { image: 'example.png' }),
      13: node('MaskToImage', { mask: ['12', 1] }),
      4: node('SaveImage', { images: ['11', 0], filename_prefix: 'ComfyUI' }),
    };
    const promised = async (workflow: JsonObject, ...nodes: readonly string[]) => {
      const settings = await settingsOf(workflow, ...nodes);
      const { maxMaskedReferences } = studio.provider.capabilities(settings);
      const options = { servers: [], settle_seconds: 30, workflow_folder: '.' };
      expect(comfyUiDriver.capabilities?.(settings, options, studio.folder).maxMaskedReferences).to.equal(
        maxMaskedReferences,
      );
      return maxMaskedReferences;
    };
    expect(await promised(EDIT, '8'), 'a mask that nothing uses').to.equal(undefined);
    expect(await promised(MASKED, '8')).to.equal(1);
    expect(await promised(two, '8', '10')).to.equal(2);
    expect(await promised(two, '8', '12'), 'a mask that no output needs').to.equal(1);
    expect(await promised(byChannel('alpha'), '8')).to.equal(1);
    expect(studio.provider.capabilities({ workflow: 'missing.json', inputs: { prompt: PROMPT } })).to.not.have.property(
      'maxMaskedReferences',
    );
  });

  it('go to the input whose mask the workflow uses, and are refused for others before anything is sent', async () => {
    const workflow: JsonObject = {
      ...MASKED,
      10: node('LoadImage', { image: 'example.png' }),
      11: node('ImageCompositeMasked', { destination: ['9', 0], source: ['10', 0], mask: ['8', 1] }),
      4: node('SaveImage', { images: ['11', 0], filename_prefix: 'ComfyUI' }),
    };
    const [opaque, masked] = [referenceOf(await image('png')), await FILES['a PNG']!()];
    for (const [nodes, order] of [
      [
        ['8', '10'],
        [masked, opaque],
      ],
      [
        ['10', '8'],
        [opaque, masked],
      ],
    ] as const) {
      const inSlots = await settingsOf(workflow, ...nodes);
      for (const given of [order, order.toReversed()]) {
        studio.fake.queue.files.clear();
        const sizes = (await uploadedOf(inSlots, given)).map((bytes) => bytes.byteLength);
        expect(sizes, nodes.join()).to.deep.equal(order.map(({ byteSize }) => byteSize));
      }
    }
    const sent = studio.fake.server.requests.length;
    const settings = await settingsOf(workflow, '8', '10');
    const references = [masked, masked];
    const answer = await studio.provider.submit(comfyUiTask({ settings, references }), WANTED);
    expect(answer).to.have.nested.property('failure.code', 'INPUT_INVALID');
    expect(studio.fake.server.requests).to.have.length(sent);
  });
});
