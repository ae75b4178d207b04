import { expect } from 'chai';
import { writeFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Generations } from '../../apps/grpc/generated/darkroom/v1/generations_pb.js';
import { Operation } from '../../apps/grpc/generated/darkroom/v1/media_pb.js';
import type { Model } from '../../core/catalog/model.js';
import type { JsonObject } from '../../core/json.js';
import { image } from '../fixtures/images.js';
import { catalogOf, MODELS } from '../fixtures/models.js';
import { CliService } from '../harness/cli-service.js';
import { errorOf, GrpcHarness, refusalOf } from './grpc/grpc-harness.js';
import { codeOf, McpHarness, picture, textOf } from './mcp/mcp-harness.js';

// Goal: every front takes a request without a prompt where the model does without, and refuses one with fewer files of a
// role than are required, in the terms of the front.
// Method: one model that takes no prompt and requires a picture, one that requires two, one whose prompt is optional, and one
// film that requires a frame, over REST, gRPC, MCP, the OpenAI-compatible API and the command line.

const [PICTURE] = MODELS as [Model];
const PARAMETERS = { size: '96x64' };
const ENLARGE: Model = {
  ...PICTURE,
  modelKey: 'enlarge',
  promptRule: 'none',
  requiredRoles: ['reference_image'],
};
const DRESS: Model = { ...ENLARGE, modelKey: 'dress', requiredRoles: ['reference_image', 'reference_image'] };
const VARY: Model = { ...PICTURE, modelKey: 'vary', promptRule: 'optional' };
const FILM: Model = {
  ...(MODELS.find(({ modelKey }) => modelKey === 'clip') as Model),
  requiredRoles: ['start_frame'],
};
const BETWEEN: Model = { ...FILM, modelKey: 'between', requiredRoles: ['start_frame', 'end_frame'] };
const ports = {
  catalog: catalogOf(() => [
    ...MODELS.filter(({ modelKey }) => modelKey !== 'clip'),
    ENLARGE,
    DRESS,
    VARY,
    FILM,
    BETWEEN,
  ]),
};

describe('a model without a prompt', () => {
  let fronts: McpHarness;
  let folder: string;
  let key: string;
  let png: Uint8Array<ArrayBuffer>;

  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'promptless-'));
    fronts = await McpHarness.open({ spool: { folder, maxBytes: 1_000_000 } }, { ports });
    await fronts.service.startWorker();
    key = await fronts.key();
    png = new Uint8Array(await image('png', 96, 64));
  });
  after(async () => {
    await fronts.close();
    await rm(folder, { recursive: true });
  });

  const body = (model: string): JsonObject => ({
    model_key: model,
    operation: 'image_generation',
    parameters: PARAMETERS,
  });

  it('needs none over REST, and its file of a required role', async () => {
    const create = (model: string, idempotencyKey: string) =>
      fronts.rest(key, 'POST', '/generations', body(model), idempotencyKey);
    expect(await create('vary', 'rest-1')).to.have.nested.property('data.status', 'queued');
    expect(await create('picture', 'rest-2')).to.have.nested.property('code', 'FIELD_REQUIRED');
    for (const path of ['/generations', '/generations/estimate']) {
      const refused = await fronts.rest(key, 'POST', path, body('enlarge'), 'rest-3');
      expect(refused).to.have.nested.property('code', 'FIELD_REQUIRED');
      expect(JSON.stringify(refused)).to.include('reference_upload_ids must name a file');
    }
    const refused = await fronts.rest(key, 'POST', '/generations/estimate', body('dress'), 'rest-4');
    expect(JSON.stringify(refused)).to.include('must name at least 2 files of the role reference_image, which dress');
  });

  it('needs none over MCP', async () => {
    const client = await fronts.connect('2026-07-28', key);
    const { prompt: _, ...args } = picture('mcp-1');
    const file = { data: Buffer.from(png).toString('base64'), media_type: 'image/png' };
    const call = (more: JsonObject) => client.call('generate_image', { ...args, ...more });
    expect(codeOf(await call({ model_key: 'enlarge', reference_pictures: [file] }))).to.equal('OK');
    const refused = await call({ model_key: 'enlarge', idempotency_key: 'mcp-2' });
    expect(textOf(refused)).to.include(
      'reference_image, which enlarge requires. Small files can be sent as reference_',
    );
    expect(codeOf(await call({ idempotency_key: 'mcp-3' }))).to.equal('FIELD_REQUIRED');
    const dressed = (idempotencyKey: string, count: number) =>
      call({
        model_key: 'dress',
        idempotency_key: idempotencyKey,
        reference_pictures: Array.from({ length: count }, () => file),
      });
    expect(codeOf(await dressed('mcp-4', 1))).to.equal('FIELD_REQUIRED');
    expect(codeOf(await dressed('mcp-5', 2))).to.equal('OK');
    const estimated = await client.call('estimate_generation', body('vary'));
    expect(estimated).to.have.nested.property('structuredContent.estimated_credits', 10);
  });

  it('needs none over the OpenAI-compatible API, and its file in the field of that API', async () => {
    const send = async (path: string, sent: FormData | JsonObject) => {
      const response = await fetch(`${fronts.origin}/v1${path}`, {
        method: 'POST',
        headers: {
          Authorization: `Bearer ${key}`,
          ...(sent instanceof FormData ? {} : { 'Content-Type': 'application/json' }),
        },
        body: sent instanceof FormData ? sent : JSON.stringify(sent),
      });
      return (await response.json()) as JsonObject;
    };
    const form = (fields: Readonly<Record<string, string>>, ...files: readonly string[]): FormData => {
      const made = new FormData();
      for (const [name, text] of Object.entries(fields)) made.set(name, text);
      for (const file of files) made.append(file, new Blob([png], { type: 'image/png' }), 'a.png');
      return made;
    };
    const edited = await send('/images/edits', form({ model: 'enlarge', size: '96x64' }, 'image'));
    expect(edited).to.have.nested.property('darkroom.charged_credits', 10);
    expect(await send('/images/generations', { model: 'vary', size: '96x64' })).to.have.property('data');
    const film = form({ model: 'clip', prompt: 'waves', seconds: '2' }, 'input_reference');
    expect(await send('/videos', film)).to.have.property('status', 'queued');

    const dress = (...files: readonly string[]) =>
      send('/images/edits', form({ model: 'dress', size: '96x64' }, ...files));
    expect(await dress('image[]', 'image[]')).to.have.nested.property('darkroom.charged_credits', 10);
    for (const answer of [await dress('image'), await send('/images/generations', { model: 'dress', size: '96x64' })])
      expect(answer['error']).to.deep.include({
        message: 'image must be at least 2 files for dress; send them to /images/edits.',
        param: 'image',
      });

    const refused = await send('/images/generations', { model: 'enlarge', size: '96x64' });
    expect(refused['error']).to.deep.include({
      message: 'image is required for enlarge; send it to /images/edits.',
      param: 'image',
    });
    const withoutFrame = await send('/videos', { model: 'clip', prompt: 'waves', seconds: '2' });
    expect(withoutFrame['error']).to.deep.include({
      message: 'input_reference is required for clip.',
      param: 'input_reference',
    });
    const beyond = await send('/videos', form({ model: 'between', prompt: 'waves', seconds: '2' }, 'input_reference'));
    expect(beyond['error']).to.deep.include({
      message: 'between requires a start_frame and an end_frame, which cannot be sent here.',
    });
    const withoutPrompt = await send('/images/generations', { model: 'picture', size: '96x64' });
    expect(withoutPrompt).to.have.nested.property('error.param', 'prompt');
  });

  it('needs none over gRPC, and its file of a required role', async () => {
    const harness = await GrpcHarness.open({ ports });
    try {
      const input = (modelKey: string) => ({
        modelKey,
        operation: Operation.IMAGE_GENERATION,
        parameters: PARAMETERS,
      });
      const create = (modelKey: string) =>
        harness.call(Generations.method.createGeneration, { input: input(modelKey), idempotencyKey: modelKey });
      expect((await create('vary')).generation?.modelKey).to.equal('vary');
      const estimate = (modelKey: string) =>
        harness.call(Generations.method.estimateGeneration, { input: input(modelKey) });
      const refused = await Promise.all(
        [create('picture'), create('enlarge'), estimate('enlarge'), estimate('dress')].map(errorOf),
      );
      expect(refused.map((error) => refusalOf(error)[1])).to.deep.equal(Array(4).fill('FIELD_REQUIRED'));
    } finally {
      await harness.close();
    }
  });

  it('needs none of darkroom generate and estimate', async () => {
    const catalog = join(folder, 'catalog.yaml');
    for (const name of ['small.png', 'second.png']) writeFileSync(join(folder, name), png);
    writeFileSync(
      catalog,
      `version: 1
models:
  - model_key: enlarge
    price: 4
    prompt: none
    limits: { reference_roles: [reference_image] }
    required_roles: [reference_image]
    provider: sandbox
    provider_settings: { painter: image }
  - model_key: dress
    price: 4
    prompt: none
    limits: { reference_roles: [reference_image], max_reference_uploads: 2 }
    required_roles: [reference_image, reference_image]
    provider: sandbox
    provider_settings: { painter: image }
`,
    );
    const service = await CliService.start({ DARKROOM_CATALOG: catalog });
    try {
      const file = ['--reference', join(folder, 'small.png')];
      const small = ['--model', 'enlarge', ...file];
      expect(await service.json(['estimate', ...small])).to.have.property('estimated_credits', 4);
      const made = await service.json<JsonObject>(['generate', ...small, '--out', 'large.png']);
      expect(made).to.deep.include({ status: 'succeeded', charged_credits: 4 });
      const shown = await service.run(['generations', 'show', made['generation_id'] as string]);
      expect(shown.stdout).to.match(/^prompt: +none, or no longer kept$/m);
      const dress = ['estimate', '--model', 'dress', ...file];
      expect((await service.run(dress)).stderr).to.include('must name at least 2 files of the role reference_image');
      expect(await service.json([...dress, '--reference', join(folder, 'second.png')])).to.have.property(
        'estimated_credits',
        4,
      );
      const { code, stderr } = await service.run(['generate', '--model', 'enlarge']);
      expect(code).to.equal(3);
      expect(stderr).to.include(
        'which enlarge requires. Files are given with --reference, --start-frame and --end-frame. (FIELD_REQUIRED',
      );
    } finally {
      await service.stop();
    }
  });
});
