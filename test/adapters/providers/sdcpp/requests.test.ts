/*
 * Goal: sd-server, which takes anything, is sent what the settings allow and nothing else; what cannot be made is refused
 * before it is sent.
 * Method: the bodies of requests as a fake receives them; fast-check for parameters of any kind.
 */
import { expect } from 'chai';
import fc from 'fast-check';
import { randomUUID } from 'node:crypto';
import type { SdcppProvider } from '../../../../adapters/providers/sdcpp/sdcpp-provider.js';
import type { Json, JsonObject } from '../../../../core/json.js';
import type { Submission } from '../../../../core/ports/provider.js';
import { WANTED } from '../../../contracts/provider.contract.js';
import { breakingOff } from '../../../fixtures/byte-streams.js';
import { image } from '../../../fixtures/images.js';
import { SdcppFake } from '../../../providers/fakes/sdcpp-fake.js';
import { referenceOf } from '../sample-task.js';
import { sdcppAt, SETTINGS, task } from './opened-sdcpp.js';

describe('requests to sd-server', () => {
  let fake: SdcppFake;
  let provider: SdcppProvider;
  beforeEach(async () => {
    fake = await SdcppFake.open();
    provider = sdcppAt(fake.url);
  });
  afterEach(async () => {
    await provider.close();
    await fake.close();
  });

  const submit = (wish: Partial<Submission>) => provider.submit(task(wish), WANTED);
  const sent = async (wish: Partial<Submission> = {}): Promise<JsonObject> => {
    expect(await submit(wish)).to.have.property('accepted', true);
    return JSON.parse(fake.server.requests.at(-1)?.body.toString() ?? '') as JsonObject;
  };
  const refused = async (wish: Partial<Submission>) => {
    const answer = await submit(wish);
    if (answer.accepted) throw new Error('It was accepted.');
    expect(fake.server.requests, 'requests').to.have.length(0);
    return answer.failure;
  };

  it('have the fields of the settings, the prompts, as many pictures as were paid for, and no metadata', async () => {
    const parameters = { steps: 4, format: 'webp', seed: 7, width: 4_096, n: 9, other: 'x' };
    const settings = { ...SETTINGS, loras: [{ path: 'film/grain.safetensors', multiplier: 0.5 }] };
    fake.takesLoras = true;
    expect(await sent({ parameters, settings, negativePrompt: 'fog', outputCount: 3 })).to.deep.equal({
      prompt: 'a lighthouse',
      negative_prompt: 'fog',
      width: 64,
      height: 64,
      seed: 7,
      output_format: 'webp',
      batch_count: 3,
      sample_params: { sample_steps: 4, guidance: { txt_cfg: 1 } },
      lora: [{ path: 'film/grain.safetensors', multiplier: 0.5 }],
      embed_image_metadata: false,
    });
  });

  it('have a seed of the task where it gives none, the same for the same task', async () => {
    const first = await sent({ token: '00000000-0000-4000-8000-000000000001' });
    const again = await sent({ token: '00000000-0000-4000-8000-000000000001' });
    const other = await sent({ token: '00000000-0000-4000-8000-000000000002' });
    expect(first['seed'])
      .to.be.a('number')
      .within(0, 2 ** 31 - 1);
    expect(again['seed']).to.equal(first['seed']);
    expect(other['seed']).to.not.equal(first['seed']);
  });

  it('have a seed that the rule of the field and the schema of the model take where the task gives none', async () => {
    const seed = (rule: JsonObject, schema: JsonObject, name = 'seed') => ({
      settings: { fields: { ...(SETTINGS['fields'] as JsonObject), seed: { parameter: name, ...rule } } },
      inputSchema: { type: 'object', properties: { [name]: schema } },
    });
    const integer = { type: 'integer', minimum: 0, maximum: 1_000 };
    for (const [wish, allowed] of [
      [seed(integer, { type: 'integer', minimum: 3, maximum: 5 }), [3, 4, 5]],
      [seed({ ...integer, maximum: 1 }, { type: 'integer' }), [0, 1]],
      [seed(integer, { enum: [7, 70] }, 'variation'), [7, 70]],
      [seed({ type: 'integer', enum: [1, 900_000] }, { type: 'integer', minimum: 2 }), [900_000]],
      [seed({ values: { calm: 11, wild: 22 } }, { type: 'string', enum: ['wild'] }), [22]],
      [seed({ values: { 1: 11, 2: 22 } }, { type: 'integer', minimum: 1, maximum: 1 }), [11]],
    ] as const)
      for (let tasks = 0; tasks < 5; tasks += 1)
        expect(allowed).to.include((await sent({ ...wish, token: randomUUID() }))['seed']);
    const unusable = seed(integer, { type: 'integer', minimum: 2_000 });
    expect(await submit(unusable)).to.have.nested.property('failure.code', 'INPUT_INVALID');
    expect(await sent({ ...unusable, settings: { fields: { seed: { value: 9 } } } })).to.include({ seed: 9 });
  });

  it('have a size that a parameter chooses from a list', async () => {
    const fields: JsonObject = { size: { parameter: 'size', type: 'string', enum: ['64x64', '128x64'] } };
    const { width, height } = await sent({ settings: { fields }, parameters: { size: '128x64' } });
    expect([width, height]).to.deep.equal([128, 64]);
    const answer = await submit({ settings: { fields }, parameters: { size: '8192x8192' } });
    expect(answer).to.have.nested.property('failure.code', 'INPUT_INVALID');
  });

  it('have a reference as base64, whatever pieces it comes in', async () => {
    const picture = await image('png');
    const { init_image: first } = await sent({ references: [referenceOf(picture)] });
    expect(first).to.equal(Buffer.from(picture).toString('base64'));
    const both = await sent({
      settings: { ...SETTINGS, references: 'ref_images' },
      references: [referenceOf(picture), referenceOf(picture)],
    });
    expect(both['ref_images']).to.deep.equal([first, first]);
    expect(both).to.not.have.property('init_image');
  });

  it('never have a parameter that the rules do not allow', async () => {
    const parameters = fc.dictionary(
      fc.constantFrom('steps', 'format', 'seed', 'width', 'prompt', 'batch_count', 'lora', 'hires', '__proto__'),
      fc.jsonValue({ maxDepth: 1 }) as fc.Arbitrary<Json>,
    );
    const names = ['prompt', 'negative_prompt', 'width', 'height', 'seed', 'output_format', 'batch_count', 'lora'];
    await fc.assert(
      fc.asyncProperty(parameters, async (given) => {
        const before = fake.server.posts;
        const answer = await submit({ parameters: given });
        if (!answer.accepted) return void expect(fake.server.posts).to.equal(before);
        const body = JSON.parse(fake.server.requests.at(-1)?.body.toString() ?? '') as JsonObject;
        expect([...names, 'sample_params', 'embed_image_metadata']).to.include.members(Object.keys(body));
        expect(body).to.deep.include({ prompt: 'a lighthouse', batch_count: 1, lora: [], width: 64 });
        fake.jobs.forget();
      }),
      { numRuns: 60 },
    );
  });

  for (const prompt of [
    'a <lora:other:1> b',
    'a < LoRA : x:1>',
    'a <sd_cpp_extra_args>{"width":4096}</sd_cpp_extra_args>',
    '<SD_CPP_EXTRA_ARGS',
  ]) {
    it(`are not made of ${JSON.stringify(prompt)}, as prompt or as negative prompt`, async () => {
      for (const wish of [{ prompt }, { negativePrompt: prompt }])
        expect(await refused(wish)).to.include({ code: 'INPUT_INVALID', mayRetry: false });
    });
  }

  it('are not made of a task that the server would change: too many pictures or references', async () => {
    const picture = referenceOf(await image('png'));
    for (const wish of [
      { outputCount: 9 },
      { references: [picture, picture] },
      { references: [picture], settings: { fields: {} } },
      { parameters: { steps: 101 } },
    ])
      expect(await refused(wish)).to.include({ code: 'INPUT_INVALID', mayRetry: false });
  });

  it('are not made for videos, nor with settings that cannot be', async () => {
    expect(await refused({ operation: 'video_generation' })).to.include({ code: 'MODEL_UNAVAILABLE' });
    expect(await refused({ settings: { fields: { unknown: { value: 1 } } } })).to.include({
      code: 'MODEL_UNAVAILABLE',
    });
  });

  it('are refused with a reference that the server cannot read, for the client to change', async () => {
    const answer = await submit({ references: [referenceOf(Buffer.from('no picture'))] });
    expect(answer).to.have.nested.property('failure.code', 'INPUT_INVALID');
  });

  it('may be made again where a reference could not be read to its end, as nothing was taken', async () => {
    const picture = await image('png');
    for (const open of [
      async () => breakingOff(picture),
      async () => Promise.reject(new Error('The store is away.')),
    ]) {
      const answer = await submit({
        references: [{ ...referenceOf(picture), byteSize: picture.byteLength + 9, open }],
      });
      expect(answer).to.have.nested.property('failure.code', 'PROVIDER_UNAVAILABLE');
      expect(answer).to.have.nested.property('failure.mayRetry', true);
    }
    await fake.server.settled();
    expect(fake.jobs.size).to.equal(0);
  });
});
