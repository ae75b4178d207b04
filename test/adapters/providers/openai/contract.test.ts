import { expect } from 'chai';
import { APIError, OpenAI, toFile } from 'openai';
import sharp from 'sharp';
import type { OpenAiProvider } from '../../../../adapters/providers/openai/openai-provider.js';
import type { JsonObject } from '../../../../core/json.js';
import type { Submission } from '../../../../core/ports/provider.js';
import { WANTED } from '../../../contracts/provider.contract.js';
import { remoteProviderContract } from '../../../contracts/remote-provider.contract.js';
import { collected } from '../../../fixtures/byte-streams.js';
import { image } from '../../../fixtures/images.js';
import { halfMasked, keptOf } from '../../../fixtures/marked-media.js';
import { OpenAiFake, type OpenAiVendor } from '../../../providers/fakes/openai-fake.js';
import { orSkip, sdServer } from '../../../servers/servers.js';
import { CAPABILITIES, failuresOf, proveContracts, refusalsOf, vendorSubject } from '../vendor-subject.js';
import { file, IMAGES, openAiAt, task, video } from './opened-openai.js';

const KEY = 'sk-contractsecret';

/** Opens and closes providers at a vendor's fake, which asks for a key. */
function subjectAt(vendor: OpenAiVendor, taskOf: (wish: Partial<Submission>) => Submission) {
  return vendorSubject({
    openFake: () => OpenAiFake.open(vendor, KEY),
    providerAt: openAiAt,
    tasksOf: (fake) => fake.tasks,
    task: taskOf,
    key: KEY,
    queued: () => ({ prompt: 'endless' }),
  });
}

const errorOf = (code: string | null, type = 'invalid_request_error') => ({
  error: { message: 'Words of the server that nobody may read.', type, param: null, code },
});

/*
 * Goal: pictures by the Images API keep the contract of remote providers.
 * Method: the shared contract, against a server that answers as the documentation of OpenAI says, and one as vLLM-Omni does.
 */

for (const [vendor, settings] of [
  ['openai', IMAGES],
  ['vllm-omni', { preset: 'vllm-omni' }],
] as const) {
  const taskOf = (wish: Partial<Submission>) => task({ settings, ...wish });
  const isPaid = vendor === 'openai';
  remoteProviderContract({
    name: `openai, pictures of ${vendor}`,
    ...subjectAt(vendor, taskOf),
    supports: {
      capabilities: {
        ...CAPABILITIES,
        answersWithOutputs: true,
        ...(isPaid ? { maxMaskedReferences: 1 } : {}),
        isPaid,
      },
      cost: isPaid,
      checksKey: true,
      readsErrors: true,
    },
    refusals: refusalsOf([
      ['too many requests', 429, errorOf('rate_limit_exceeded'), 'PROVIDER_UNAVAILABLE', 'capacity'],
      ['too many requests at once', 429, errorOf('slow_down'), 'PROVIDER_UNAVAILABLE', 'capacity'],
      ['the balance is used up', 429, errorOf('credit_balance_exhausted'), 'PROVIDER_REJECTED', 'not-here'],
      ['the quota is used up', 429, errorOf(null, 'insufficient_quota'), 'PROVIDER_REJECTED', 'not-here'],
      ['a wrong key', 401, errorOf('invalid_api_key'), 'PROVIDER_REJECTED', 'not-here'],
      ['a country', 403, errorOf('unsupported_country_region_territory'), 'PROVIDER_REJECTED', 'not-here'],
      ['an unknown model', 404, errorOf('model_not_found'), 'MODEL_UNAVAILABLE', 'not-here'],
      ['a blocked prompt', 400, errorOf('moderation_blocked'), 'CONTENT_REJECTED_INPUT'],
      ['a violated policy', 400, errorOf('content_policy_violation'), 'CONTENT_REJECTED_INPUT'],
      ['a wrong value', 400, errorOf('invalid_value'), 'PROVIDER_REJECTED'],
      ['a request that is too large', 413, errorOf(null), 'INPUT_INVALID'],
    ]),
    failures: failuresOf(taskOf, [
      ['forbidden', 'CONTENT_REJECTED_INPUT', 'the prompt meets the content policy'],
      ['forbidden result', 'CONTENT_REJECTED_OUTPUT', 'the result meets the content policy'],
    ]),
    partial: { task: (_, token) => taskOf({ token, prompt: 'fewer' }), outputs: 1 },
  });
}

/*
 * Goal: videos by the Videos API keep the contracts of providers, on servers that can stop a job and on those that cannot.
 * Method: the shared contracts, against servers that answer as the documentation of vLLM-Omni, SGLang and OpenAI says.
 */

for (const [vendor, more] of [
  ['vllm-omni', {}],
  ['sglang', {}],
  ['openai', { model: 'gpt-image-2' }],
] as const) {
  const taskOf = (wish: Partial<Submission>) => video({ settings: { preset: vendor, api: 'video', ...more }, ...wish });
  const isPaid = vendor === 'openai';
  proveContracts({
    name: `openai, videos of ${vendor}`,
    ...subjectAt(vendor, taskOf),
    supports: {
      capabilities: { ...CAPABILITIES, cancels: vendor === 'vllm-omni' ? 'running' : 'nothing', isPaid },
      cost: !isPaid,
      checksKey: true,
      readsErrors: true,
      hasStatusWord: true,
      followsRedirects: true,
    },
    refusals: refusalsOf([
      ['its rate is limited', 429, errorOf('rate_limit_exceeded', 'requests'), 'PROVIDER_UNAVAILABLE', 'capacity'],
      ['a field is wrong', 422, { detail: [{ loc: ['body'], msg: 'Words of the server.' }] }, 'INPUT_INVALID'],
    ]),
    failures: failuresOf(taskOf, [
      ['fails', 'INTERNAL_ERROR', 'the server breaks'],
      ['forbidden result', 'CONTENT_REJECTED_OUTPUT', 'the result meets the content policy'],
      ['invalid', 'INPUT_INVALID', 'the server finds the input wrong'],
    ]),
  });
}

/*
 * Goal: the fake answers as OpenAI does, and the provider asks as OpenAI's own client does.
 * Method: the official client of OpenAI for Node, which never retries here, against the fake; the requests that the
 * fake received from it are compared with those of the provider.
 */

const CLIENT_KEY = 'sk-test';
const PNG = Buffer.from('the bytes of a picture');

describe('the official client of OpenAI', () => {
  let fake: OpenAiFake;
  let client: OpenAI;
  beforeEach(async () => {
    fake = await OpenAiFake.open('openai', CLIENT_KEY);
    client = new OpenAI({ apiKey: CLIENT_KEY, baseURL: fake.base, maxRetries: 0 });
  });
  afterEach(() => fake.close());

  it('reads the answer to a task for pictures, and sends the same', async () => {
    const parameters = { n: 2, size: '1024x1024', output_format: 'webp' } as const;
    const made = await client.images.generate({ model: 'gpt-image-2', prompt: 'a lighthouse', ...parameters });
    const { data = [], usage, output_format: format } = made;
    expect(data).to.have.length(2);
    for (const { b64_json: base64 = '' } of data) expect(Buffer.from(base64, 'base64')).to.not.have.length(0);
    expect([usage?.input_tokens, usage?.output_tokens, format]).to.deep.equal([44, 1_056, 'webp']);
    const provider = openAiAt(fake.base, { api_key: CLIENT_KEY });
    expect(await provider.submit(task({ parameters }), WANTED)).to.have.property('accepted', true);
    await provider.close();
    const [theirs, ours] = fake.images.taken;
    expect(ours).to.deep.equal(theirs);
  });

  it('reads the answer to an edit, and sends the same', async () => {
    const edited = await Promise.all(
      [1, 2].map((number) => toFile(PNG, `reference-${number}.png`, { type: 'image/png' })),
    );
    const { data = [] } = await client.images.edit({ model: 'gpt-image-2', prompt: 'a lighthouse', image: edited });
    expect(data).to.have.length(1);
    const provider = openAiAt(fake.base, { api_key: CLIENT_KEY });
    await provider.submit(task({ parameters: {}, references: [file(PNG), file(PNG)] }), WANTED);
    await provider.close();
    const [theirs, ours] = fake.images.taken;
    expect(ours).to.deep.equal(theirs);
  });

  it('reads a job from its beginning to its video, and sends the same', async () => {
    const input = await toFile(PNG, 'reference-1.png', { type: 'image/png' });
    const job = await client.videos.create({
      model: 'sora-2',
      prompt: 'a lighthouse',
      seconds: '4',
      size: '1280x720',
      input_reference: input,
    });
    expect(job.status).to.equal('queued');
    expect(await client.videos.retrieve(job.id)).to.include({ status: 'in_progress', progress: 40 });
    expect(await client.videos.retrieve(job.id)).to.include({ status: 'completed', progress: 100 });
    const content = await client.videos.downloadContent(job.id);
    expect((await content.arrayBuffer()).byteLength).to.be.greaterThan(0);
    expect(await client.videos.delete(job.id)).to.deep.include({ id: job.id, deleted: true });
    const provider = openAiAt(fake.base, { api_key: CLIENT_KEY });
    const settings = { api: 'video', model: 'sora-2' };
    const parameters = { duration_seconds: 4, size: '1280x720' };
    await provider.submit(video({ settings, parameters, references: [file(PNG)] }), WANTED);
    await provider.close();
    const [theirs, ours] = fake.videos.jobs;
    expect([ours?.fields, ours?.files]).to.deep.equal([theirs?.fields, theirs?.files]);
  });

  it('reads the errors, and the list of models', async () => {
    const errorSeen = (prompt: string, model = 'gpt-image-2', by = client) =>
      by.images.generate({ model, prompt }).then(
        () => undefined,
        (error: unknown) => (error instanceof APIError ? [error.status, error.code, error.type] : error),
      );
    const stranger = new OpenAI({ apiKey: 'sk-wrong', baseURL: fake.base, maxRetries: 0 });
    const type = 'invalid_request_error';
    expect(await errorSeen('forbidden')).to.deep.equal([400, 'moderation_blocked', 'image_generation_user_error']);
    expect(await errorSeen('a lighthouse', 'gpt-image-9')).to.deep.equal([404, 'model_not_found', type]);
    expect(await errorSeen('a lighthouse', 'gpt-image-2', stranger)).to.deep.equal([401, 'invalid_api_key', type]);
    expect((await client.models.list()).data.map(({ id }) => id)).to.deep.equal(['gpt-image-2']);
  });
});

/*
 * Goal: the provider works with a third-party server, and the vulnerability that the preset closes is a real one.
 * Method: sd-server of stable-diffusion.cpp by its API of OpenAI, with a model of zeros. Its own commands in the prompt, which the
 * preset refuses, make it quick.
 */

const UNGUARDED: JsonObject = { preset: 'sd-cpp', refused_in_prompts: [] };

describe('a real sd-server by the API of OpenAI', () => {
  let provider: OpenAiProvider;
  before(async function () {
    const { url } = await orSkip(this, sdServer());
    provider = openAiAt(`${url}/v1`);
  });
  after(() => provider?.close());

  async function made(commands: object, wish: Partial<Submission> = {}) {
    return sharp(await bytesMade(commands, wish)).metadata();
  }

  async function bytesMade(commands: object, wish: Partial<Submission>): Promise<Uint8Array> {
    const prompt = `a lighthouse <sd_cpp_extra_args>${JSON.stringify({ sample_params: { sample_steps: 1 }, ...commands })}</sd_cpp_extra_args>`;
    const parameters = { size: '64x64', n: 1, output_format: 'jpeg' };
    const answer = await provider.submit(task({ settings: UNGUARDED, prompt, parameters, ...wish }), WANTED);
    if (!('outputs' in answer)) throw new Error('There are no outputs.');
    expect(answer.outputs.map(({ mediaType }) => mediaType)).to.deep.equal(['image/jpeg']);
    return collected(answer.outputs[0]!.bytes);
  }

  it('is what its address and its model say', async () => {
    expect(await provider.check([UNGUARDED], WANTED)).to.deep.equal({ faults: [] });
    expect((await provider.check([{ ...UNGUARDED, model: 'sdxl' }], WANTED)).faults).to.have.length(1);
  });

  it('makes a picture, whose size a command in the prompt decides if that is not refused', async () => {
    expect(await made({ width: 128 })).to.include({ format: 'jpeg', width: 128, height: 64 });
  });

  it('makes a picture of a picture', async () => {
    const references = [file(await image('png', 64, 64))];
    expect(await made({}, { references })).to.include({ format: 'jpeg', width: 64, height: 64 });
  });

  it('makes anew what is transparent in a picture, and keeps the rest', async () => {
    const output = await bytesMade({ strength: 1 }, { references: [await halfMasked()] });
    const { left, right, all } = await keptOf(output);
    expect(right).to.equal(all);
    expect(left).to.be.lessThan(all / 10);
  });
});
