import { expect } from 'chai';
import fc from 'fast-check';
import sharp from 'sharp';
import { connect } from 'node:net';
import { randomBytes } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { type Caller, SCOPES } from '../../../core/access/credential.js';
import { verifyCredits } from '../../../core/credits/verify.js';
import { createGeneration } from '../../../core/generation/create-generation.js';
import { cancelGeneration } from '../../../core/generation/end-generation.js';
import type { JsonObject } from '../../../core/json.js';
import type { ProviderFailure, ProviderReport } from '../../../core/ports/provider.js';
import { image } from '../../fixtures/images.js';
import type { Owner } from '../../fixtures/memory-stores.js';
import { catalogOf, imageModel, MODELS } from '../../fixtures/models.js';
import { oneProvider, ScriptedProvider } from '../../fixtures/scripted-provider.js';
import { mp4 } from '../../fixtures/videos.js';
import { forAll } from '../../harness/for-all.js';
import { createRequestFixture, type RequestFixture } from '../../harness/request-fixture.js';
import { openServiceHarness, type ServiceHarness } from '../../harness/service-harness.js';
import { type RunningServer, serve } from '../http/host/rest-client.js';
import { onChosenStores } from './chosen-stores.js';

// Goal: a client of OpenAI's videos API gets its video, the reason of a failure, its list and its file, pays once whatever
// it repeats, and never sees what belongs to another App.
// Method: requests over sockets to the server in front of a whole service in this process, with a provider whose tasks the
// test ends; after every test the balance is compared with what was delivered, and the books are verified.

const CLIP = imageModel({
  modelKey: 'maker/clip-1',
  modality: 'video',
  operations: ['video_generation'],
  inputSchema: {
    type: 'object',
    additionalProperties: false,
    properties: {
      duration_seconds: { type: 'integer', minimum: 1, maximum: 10, default: 4 },
      size: { type: 'string', enum: ['64x48', '48x64'], default: '64x48' },
      seed: { type: 'integer', minimum: 0, maximum: 1_000 },
    },
  },
  limits: {
    maxReferenceUploads: 1,
    referenceRoles: ['reference_image', 'start_frame'],
    uploadMediaTypes: ['image/png', 'image/jpeg'],
    maxUploadBytes: 400_000,
    maxOutputs: 1,
    negativePrompt: false,
  },
  price: {
    version: '1',
    unit: 'second',
    microcreditsPerUnit: 5_000_000,
    baseMicrocredits: 0,
    durationParameter: 'duration_seconds',
    sizeParameter: 'size',
    multipliers: [],
    minimumCredits: 1,
    maximumCredits: 1_000,
  },
  pollIntervalMs: 10,
});
/** Takes no pictures, and has neither size nor duration. */
const PLAIN = imageModel({
  ...CLIP,
  modelKey: 'plain-clip',
  inputSchema: { type: 'object', additionalProperties: false, properties: {} },
  limits: { ...CLIP.limits, maxReferenceUploads: 0, referenceRoles: [], uploadMediaTypes: [] },
  price: { ...imageModel().price, unit: 'video', microcreditsPerUnit: 7_000_000 } as never,
});
const CREATE = { model: CLIP.modelKey, prompt: 'a boat', seconds: '2', size: '48x64', seed: 5 };
const CREDITS = 1_000;

interface Answered {
  readonly status: number;
  readonly headers: Headers;
  readonly body: JsonObject;
}

interface ShownError {
  readonly message: string;
  readonly type: string;
  readonly param: string | null;
  readonly code: string;
}

describe('videos for clients of OpenAI', () => {
  let harness: ServiceHarness;
  let fixture: RequestFixture;
  let running: RunningServer;
  let provider: ScriptedProvider;
  let film: Uint8Array;
  /** Holds back every create until it resolves. */
  let held: Promise<unknown>;
  /** Called when a create has reached the stores. */
  let arrived: () => void;

  before(async () => {
    film = await mp4(20, 48, 64);
  });
  beforeEach(async () => {
    provider = new ScriptedProvider();
    provider.newReport = () => ({ state: 'running', progress: 0.429, pollAfterMs: 10 });
    provider.newOutputs = () => [film];
    held = Promise.resolve();
    arrived = () => undefined;
    harness = await openServiceHarness({
      ...onChosenStores(),
      settings: { leaseMs: 300 },
      ports: { providers: oneProvider(provider), catalog: catalogOf(() => [CLIP, PLAIN, ...MODELS]) },
      around: (ports) => ({
        ...ports,
        acceptances: {
          async accept(batch) {
            arrived();
            await held;
            return ports.acceptances.accept(batch);
          },
        },
        clock: {
          now: () => ports.clock.now(),
          monotonic: () => ports.clock.monotonic(),
          // A deletion waits so long for a video that does not stop.
          after: (ms, then) => ports.clock.after(ms === 10_000 ? 300 : ms, then),
        },
      }),
    });
    fixture = await createRequestFixture(
      harness.context,
      (name) => !/-(generation|webhook|delivery|upload)$/.test(name),
    );
    running = await serve(harness);
  });
  afterEach(async () => {
    const [accountId] = fixture.accountIds;
    const account = await harness.context.accounts.read(accountId as string);
    const all = await harness.context.generations.list(
      { of: 'account', accountId: accountId as string },
      { limit: 500 },
    );
    const videos = all.items.filter(({ modality }) => modality === 'video');
    const owed = videos.reduce(
      (sum, one) => sum + (one.completedAt === undefined ? one.reservedCredits : one.chargedCredits),
      0,
    );
    expect(account?.available, 'the balance').to.equal(CREDITS - owed - deletedCredits);
    deletedCredits = 0;
    expect((await verifyCredits(harness.context)).findings).to.deep.equal([]);
    await running.server.close(100);
    await harness.close();
  });
  /** The charges of deleted videos, whose records are gone. */
  let deletedCredits = 0;

  async function api(
    method: string,
    path: string,
    { body, as = 'owner', headers = {} }: { body?: JsonObject; as?: string; headers?: Record<string, string> } = {},
  ): Promise<Answered> {
    const response = await fetch(`${running.origin}/v1${path}`, {
      method,
      headers: {
        Authorization: `Bearer ${fixture.secrets.get(as) ?? ''}`,
        ...(body === undefined ? {} : { 'Content-Type': 'application/json' }),
        ...headers,
      },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    expect(response.headers.get('x-request-id')).to.be.a('string');
    return { status: response.status, headers: response.headers, body: (await response.json()) as JsonObject };
  }

  function owner(): Caller {
    return { ...(fixture.owners.get('owner') as Owner), credentialId: 'x', scopes: SCOPES };
  }

  function errorOf({ body }: Answered): ShownError {
    const { error } = body as unknown as { readonly error: ShownError };
    expect(Object.keys(error)).to.deep.equal(['message', 'type', 'param', 'code']);
    return error;
  }

  async function create(values: JsonObject = {}, options: { as?: string; headers?: Record<string, string> } = {}) {
    const created = await api('POST', '/videos', { body: { ...CREATE, ...values }, ...options });
    expect(created.status, JSON.stringify(created.body)).to.equal(200);
    return created.body['id'] as string;
  }

  async function until(id: string, isReached: (video: JsonObject) => boolean): Promise<Answered> {
    for (let tries = 0; tries < 500; tries += 1) {
      const got = await api('GET', `/videos/${id}`);
      if (got.status !== 200 || isReached(got.body)) return got;
      await sleep(10);
    }
    throw new Error(`The video ${id} did not reach that state.`);
  }

  const inState = (status: string) => (video: JsonObject) => video['status'] === status;

  /** The task of the last video. */
  async function report(made: ProviderReport): Promise<void> {
    while (provider.tasks.size === 0) await sleep(5);
    ([...provider.tasks.values()].at(-1) as { report: ProviderReport }).report = made;
  }

  const DONE: ProviderReport = { state: 'succeeded', outputs: [{ kind: 'video', mediaType: 'video/mp4' }] };

  async function completed(values: JsonObject = {}): Promise<string> {
    const before = provider.tasks.size;
    const id = await create(values);
    while (provider.tasks.size === before) await sleep(5);
    await report(DONE);
    await until(id, inState('completed'));
    return id;
  }

  it('are created at once, polled, and downloaded whole and in parts', async () => {
    const created = await api('POST', '/videos', { body: { ...CREATE, user: 'someone@example.com', seed: '5' } });
    const { id, created_at: createdAt, darkroom } = created.body;
    const generationId = (darkroom as JsonObject)['generation_id'] as string;
    expect(created.status).to.equal(200);
    expect(created.headers.get('darkroom-generation-id')).to.equal(generationId);
    expect(Number(created.headers.get('openai-poll-after-ms'))).to.be.greaterThan(0);
    expect(id).to.match(/^video_[0-9a-f]{32}$/);
    expect(createdAt).to.be.closeTo(Date.now() / 1_000, 5);
    const open = {
      id,
      object: 'video',
      created_at: createdAt,
      status: 'queued',
      model: CLIP.modelKey,
      progress: 0,
      prompt: 'a boat',
      seconds: '2',
      size: '48x64',
      completed_at: null,
      expires_at: null,
      error: null,
      remixed_from_video_id: null,
      darkroom: { generation_id: generationId, charged_credits: 0 },
    };
    expect(created.body).to.deep.equal(open);
    const early = await api('GET', `/videos/${id as string}/content`);
    expect([early.status, errorOf(early)]).to.deep.equal([
      400,
      {
        message: 'The video is queued; its file can be read once it is completed.',
        type: 'invalid_request_error',
        param: null,
        code: 'video_not_ready',
      },
    ]);

    await harness.startWorker();
    const started = await until(id as string, (video) => video['progress'] === 42);
    expect(started.body).to.deep.equal({ ...open, status: 'in_progress', progress: 42 });
    expect(provider.onlyTask.submission.parameters).to.deep.equal({ duration_seconds: 2, size: '48x64', seed: 5 });
    await report(DONE);
    const { body, headers } = await until(id as string, inState('completed'));
    const stored = await harness.context.generations.read(generationId);
    const { completedAt = 0, clientTraceId } = stored as { completedAt?: number; clientTraceId?: string };
    expect(clientTraceId).to.match(/^user-[0-9a-f]{32}$/);
    expect(headers.get('openai-poll-after-ms')).to.equal(null);
    expect(body).to.deep.equal({
      ...open,
      status: 'completed',
      progress: 100,
      completed_at: Math.floor(completedAt / 1_000),
      expires_at: Math.floor((completedAt + harness.context.settings.outputRetentionMs) / 1_000),
      darkroom: { generation_id: generationId, charged_credits: 10 },
    });
    await checkContent(id as string);
  });

  async function content(id: string, headers: Record<string, string> = {}, method = 'GET') {
    const response = await fetch(`${running.origin}/v1/videos/${id}/content`, {
      method,
      headers: { Authorization: `Bearer ${fixture.secrets.get('owner') ?? ''}`, ...headers },
    });
    return { status: response.status, headers: response.headers, bytes: Buffer.from(await response.arrayBuffer()) };
  }

  async function checkContent(id: string): Promise<void> {
    const whole = await content(id);
    const { length } = whole.bytes;
    const etag = whole.headers.get('etag') as string;
    expect([whole.status, whole.headers.get('content-type')]).to.deep.equal([200, 'video/mp4']);
    expect([Number(whole.headers.get('content-length')), whole.headers.get('accept-ranges')]).to.deep.equal([
      length,
      'bytes',
    ]);
    expect(whole.bytes.subarray(4, 8).toString()).to.equal('ftyp');
    const ranges = fc.record({ from: fc.nat(length - 1), count: fc.integer({ min: 1, max: length }) });
    await forAll(15, [ranges], async ({ from, count }) => {
      const part = await content(id, { Range: `bytes=${from}-${from + count - 1}` });
      const to = Math.min(length, from + count);
      expect(part.status).to.equal(206);
      expect(part.headers.get('content-range')).to.equal(`bytes ${from}-${to - 1}/${length}`);
      expect(part.bytes.equals(whole.bytes.subarray(from, to))).to.equal(true);
    });
    expect((await content(id, { Range: 'bytes=-10' })).bytes.equals(whole.bytes.subarray(-10))).to.equal(true);
    expect((await content(id, { 'Range': 'bytes=0-9', 'If-Range': '"other"' })).bytes.length).to.equal(length);
    expect((await content(id, { 'If-None-Match': etag })).status).to.equal(304);
    const head = await content(id, {}, 'HEAD');
    expect([head.status, head.headers.get('content-length'), head.bytes.length]).to.deep.equal([
      200,
      String(length),
      0,
    ]);
    const behind = await api('GET', `/videos/${id}/content`, { headers: { Range: `bytes=${length}-` } });
    expect([behind.status, errorOf(behind).code, behind.headers.get('content-range')]).to.deep.equal([
      416,
      'range_not_satisfiable',
      `bytes */${length}`,
    ]);
  }

  it('that fail have the reason and cost nothing', async () => {
    await harness.startWorker();
    const failures: readonly (readonly [ProviderFailure['code'], string, string])[] = [
      [
        'CONTENT_REJECTED_OUTPUT',
        'content_policy_violation',
        'The request was rejected as a result of the safety system: No.',
      ],
      ['INPUT_INVALID', 'invalid_value', 'No.'],
      ['PROVIDER_TIMEOUT', 'generation_timeout', 'No.'],
    ];
    for (const [code, shown, message] of failures) {
      const before = provider.tasks.size;
      const id = await create({ prompt: code });
      while (provider.tasks.size === before) await sleep(5);
      await report({ state: 'failed', failure: { code, message: 'No.', mayRetry: false } });
      const { body } = await until(id, inState('failed'));
      expect(body['error']).to.include({ code: shown, message, param: null });
      expect(body['darkroom']).to.include({ charged_credits: 0 });
      expect([body['progress'] === 100, body['expires_at'], body['prompt']]).to.deep.equal([false, null, code]);
      const file = await api('GET', `/videos/${id}/content`);
      expect([file.status, errorOf(file).code, errorOf(file).message]).to.deep.equal([
        404,
        'not_found',
        `There is no file: ${message}`,
      ]);
    }
  });

  it('that were cancelled are failed ones', async () => {
    const id = await create();
    const { body } = await api('GET', `/videos/${id}`);
    const { generation_id: generationId } = body['darkroom'] as { generation_id: string };
    await cancelGeneration(harness.context, owner(), generationId);
    expect((await api('GET', `/videos/${id}`)).body).to.deep.include({
      status: 'failed',
      error: {
        message: 'The generation was cancelled.',
        type: 'invalid_request_error',
        param: null,
        code: 'generation_cancelled',
      },
    });
  });

  it('are deleted when they have ended, while they are queued, and while they run', async () => {
    const deleted = async (id: string): Promise<void> => {
      const { status, body } = await api('DELETE', `/videos/${id}`);
      expect([status, body]).to.deep.equal([200, { id, object: 'video.deleted', deleted: true }]);
      for (const path of ['', '/content']) {
        const gone = await api('GET', `/videos/${id}${path}`);
        expect([gone.status, errorOf(gone).code]).to.deep.equal([404, 'not_found']);
      }
      expect((await api('DELETE', `/videos/${id}`)).status).to.equal(404);
    };
    await deleted(await create());
    await harness.startWorker();
    const done = await completed();
    await deleted(done);
    deletedCredits = 10;
    const open = await create({ prompt: 'another boat' });
    await until(open, inState('in_progress'));
    await deleted(open);
    expect([...provider.tasks.values()].at(-1)?.cancels).to.equal(1);
    expect((await api('GET', '/videos')).body).to.deep.equal({
      object: 'list',
      data: [],
      first_id: null,
      last_id: null,
      has_more: false,
    });
  });

  it('that do not stop in time are not deleted, and can be deleted again', async () => {
    provider.onCancel = () => undefined;
    await harness.startWorker();
    const id = await create();
    await until(id, inState('in_progress'));
    const refused = await api('DELETE', `/videos/${id}`);
    expect([refused.status, errorOf(refused).code]).to.deep.equal([409, 'conflict']);
    expect((await api('GET', `/videos/${id}`)).body['status']).to.equal('in_progress');
    await report({ state: 'cancelled', outputs: [] });
    await until(id, inState('failed'));
    expect((await api('DELETE', `/videos/${id}`)).status).to.equal(200);
  });

  it('are listed once each, in both orders and pages of any size, and without pictures and those of other Apps', async () => {
    const mine: string[] = [];
    for (let n = 0; n < 9; n += 1) {
      mine.push(
        await create(n % 3 === 0 ? { model: PLAIN.modelKey, seconds: null, size: null, seed: null } : { seed: n }),
      );
      if (n % 3 === 1) await create({}, { as: 'other-app' });
    }
    const pages = fc.record({
      limit: fc.integer({ min: 1, max: 12 }),
      order: fc.constantFrom('asc', 'desc', undefined),
    });
    await forAll(20, [pages], async ({ limit, order }) => {
      const seen: string[] = [];
      for (let after: string | undefined; ;) {
        const query = new URLSearchParams({ limit: String(limit), ...(order && { order }), ...(after && { after }) });
        const { body } = await api('GET', `/videos?${query.toString()}`);
        const ids = (body['data'] as unknown as { readonly id: string }[]).map(({ id }) => id);
        expect([body['object'], body['first_id'], body['last_id']]).to.deep.equal(['list', ids[0], ids.at(-1)]);
        seen.push(...ids);
        after = ids.at(-1);
        if (body['has_more'] !== true) break;
      }
      expect(seen.toSorted()).to.deep.equal(mine.toSorted());
      expect(seen).to.deep.equal(order === 'asc' ? mine : mine.toReversed());
    });
    const one = (await api('GET', '/videos?limit=1')).body['data'] as JsonObject[];
    expect(one).to.deep.equal([(await api('GET', `/videos/${mine.at(-1) ?? ''}`)).body]);
  });

  it('are found by each form of their id, and by no other id', async () => {
    const id = await create();
    const hex = id.slice('video_'.length);
    const { body } = await api('GET', `/videos/${id}`);
    const { generation_id: uuid } = body['darkroom'] as { generation_id: string };
    const wrapped = Buffer.from(`litellm:custom_llm_provider:openai;model_id:x;video_id:${id}`).toString('base64');
    for (const form of [id, uuid, hex, id.toUpperCase().replace('VIDEO', 'video'), `video_${wrapped}`])
      expect((await api('GET', `/videos/${encodeURIComponent(form)}`)).body, form).to.deep.equal(body);
    expect(((await api('GET', `/videos?after=${uuid}`)).body['data'] as unknown[]).length).to.equal(0);
    const aPicture = {
      model_key: 'picture',
      operation: 'image_generation',
      prompt: 'x',
      parameters: { size: '96x64' },
    };
    const { generation } = await createGeneration(harness.context, owner(), 'k', aPicture);
    const { generationId: picture } = await cancelGeneration(harness.context, owner(), generation.generationId);
    for (const none of [picture, `video_${'0'.repeat(32)}`, 'video_', 'x', `video_${'A'.repeat(2_000)}`, '%00'])
      for (const [method, path] of [
        ['GET', ''],
        ['GET', '/content'],
        ['DELETE', ''],
      ] as const)
        expect((await api(method, `/videos/${none}${path}`)).status, `${method} ${none}`).to.equal(404);
    for (const as of ['other-app', 'stranger'])
      for (const [method, path] of [
        ['GET', ''],
        ['GET', '/content'],
        ['DELETE', ''],
      ] as const) {
        const refused = await api(method, `/videos/${id}${path}`, { as });
        expect([refused.status, errorOf(refused).code], `${method} as ${as}`).to.deep.equal([404, 'not_found']);
      }
    expect((await api('GET', `/videos/${id}`)).body['status']).to.equal('queued');
  });

  it('need the scopes of what is done', async () => {
    const id = await create();
    const png = `data:image/png;base64,${Buffer.from(await image('png')).toString('base64')}`;
    const cases = [
      ['POST', '/videos', 'generations:write', { body: CREATE }],
      ['GET', '/videos', 'generations:read', {}],
      ['GET', `/videos/${id}`, 'generations:read', {}],
      ['GET', `/videos/${id}/content`, 'generations:read', {}],
      ['DELETE', `/videos/${id}`, 'generations:write', {}],
    ] as const;
    for (const [method, path, , options] of cases) {
      const refused = await api(method, path, { ...options, as: 'only uploads:write' });
      expect([refused.status, errorOf(refused).code], `${method} ${path}`).to.deep.equal([403, 'missing_scope']);
      expect((await api(method, path, { ...options, as: 'none' })).status).to.equal(401);
    }
    const body = { ...CREATE, input_reference: { image_url: png } };
    const withFile = await api('POST', '/videos', { body, as: 'only generations:write' });
    expect([withFile.status, errorOf(withFile).code]).to.deep.equal([403, 'missing_scope']);
    for (const [method, path, scope, options] of cases)
      expect((await api(method, path, { ...options, as: `only ${scope}` })).status, path).to.be.oneOf([200, 400]);
  });

  it('begin with the picture of the request, whatever type it declares', async () => {
    await harness.startWorker();
    const jpeg = Buffer.from(await image('jpeg', 48, 64)).toString('base64');
    const forms: readonly JsonObject[] = [
      { input_reference: { image_url: `data:image/jpeg;base64,${jpeg}` } },
      { input_reference: { image_url: `data:application/octet-stream;base64,${jpeg}`, file_id: null }, seed: 1 },
      { 'input_reference[image_url]': `data:;base64,${jpeg}`, 'seed': 2 },
      { input_reference: `data:image/png;base64,${jpeg}`, seed: 3 },
    ];
    for (const form of forms) {
      const before = provider.submissions.length;
      await create(form);
      while (provider.submissions.length === before) await sleep(5);
      const references = provider.submissions.at(-1)?.references;
      expect(references?.map(({ role, mediaType }) => [role, mediaType])).to.deep.equal([
        ['start_frame', 'image/jpeg'],
      ]);
    }
  });

  function formOf(fields: Readonly<Record<string, string>>, file?: Uint8Array): FormData {
    const data = new FormData();
    for (const [name, value] of Object.entries(fields)) data.append(name, value);
    // OpenAI's Python library sends bytes without a file name like this.
    if (file !== undefined)
      data.append('input_reference', new Blob([file], { type: 'application/octet-stream' }), 'upload');
    return data;
  }

  async function createForm(data: FormData, headers: Record<string, string> = {}, as = 'owner'): Promise<Answered> {
    const sent = { Authorization: `Bearer ${fixture.secrets.get(as) ?? ''}`, ...headers };
    const response = await fetch(`${running.origin}/v1/videos`, { method: 'POST', headers: sent, body: data });
    return { status: response.status, headers: response.headers, body: (await response.json()) as JsonObject };
  }

  const TEXTS = { model: CLIP.modelKey, prompt: 'a boat', seconds: '2', size: '48x64', seed: '5' };

  it('are created from forms, with a file or a long address, and bought once by a repeated form', async () => {
    await harness.startWorker();
    const picture = await sharp(randomBytes(3 * 300 * 300), { raw: { width: 300, height: 300, channels: 3 } })
      .png()
      .toBuffer();
    expect(picture.byteLength, 'longer than a text of a form may be').to.be.greaterThan(256 * 1024);
    const address = `data:image/png;base64,${picture.toString('base64')}`;
    const created: string[] = [];
    for (const data of [
      formOf(TEXTS),
      formOf(TEXTS, picture),
      formOf({ ...TEXTS, 'input_reference[image_url]': address, 'prompt': 'another boat' }),
    ]) {
      const before = provider.submissions.length;
      const { status, body } = await createForm(data);
      expect([status, body['seconds'], body['size']], JSON.stringify(body)).to.deep.equal([200, '2', '48x64']);
      created.push(body['id'] as string);
      while (provider.submissions.length === before) await sleep(5);
    }
    expect(new Set(created).size).to.equal(3);
    const [plain, ...others] = provider.submissions;
    expect([plain?.parameters, plain?.references]).to.deep.equal([{ duration_seconds: 2, size: '48x64', seed: 5 }, []]);
    for (const { references } of others) {
      expect(references.map(({ role, mediaType }) => [role, mediaType])).to.deep.equal([['start_frame', 'image/png']]);
      const pieces: Uint8Array[] = [];
      for await (const piece of (await references[0]?.open()) ?? []) pieces.push(piece);
      expect(Buffer.concat(pieces).equals(picture)).to.equal(true);
    }
    const retried = await createForm(formOf(TEXTS, picture), { 'x-stainless-retry-count': '2' });
    expect(retried.body['id']).to.equal(created[1]);
  });

  it('are refused for files that are not pictures of the request, and for forms without the scope', async () => {
    const png = Buffer.from(await image('png', 48, 64));
    const cases: readonly (readonly [FormData, status: number, code: string, param: string])[] = [
      [formOf(TEXTS, Buffer.from('GIF89a;; padding')), 400, 'invalid_image_format', 'input_reference'],
      [formOf(TEXTS, new Uint8Array(0)), 400, 'invalid_image_format', 'input_reference'],
      [
        formOf({ ...TEXTS, 'input_reference[image_url]': 'https://example.com/a.png' }),
        400,
        'invalid_value',
        'input_reference',
      ],
      [formOf({ ...TEXTS, 'input_reference[file_id]': 'file-1' }), 400, 'invalid_value', 'input_reference'],
      [
        formOf({ ...TEXTS, 'input_reference[image_url]': 'data:image/png;base64,AAAA' }, png),
        400,
        'invalid_value',
        'input_reference',
      ],
      [formOf(TEXTS, Buffer.concat([png, Buffer.alloc(400_000)])), 413, 'file_too_large', 'input_reference'],
      [formOf({ ...TEXTS, video: 'x' }), 400, 'unknown_parameter', 'video'],
      [formOf({ ...TEXTS, seed: 'five' }), 400, 'invalid_value', 'seed'],
    ];
    for (const [data, status, code, param] of cases) {
      const refused = await createForm(data);
      expect([refused.status, errorOf(refused).code, errorOf(refused).param]).to.deep.equal([status, code, param]);
    }
    const scoped = await createForm(formOf(TEXTS, png), {}, 'only generations:write');
    expect([scoped.status, errorOf(scoped).code]).to.deep.equal([403, 'missing_scope']);
    expect((await createForm(formOf(TEXTS), {}, 'only generations:write')).status).to.equal(200);
  });

  it('are refused for what cannot be made, with the field at fault, and nothing is held or stored', async () => {
    const png = `data:image/png;base64,${Buffer.from(await image('png')).toString('base64')}`;
    const gif = `data:image/gif;base64,${Buffer.from('GIF89a;; padding').toString('base64')}`;
    const cases: readonly (readonly [JsonObject, status: number, code: string, param: string])[] = [
      [{ model: null }, 400, 'missing_required_parameter', 'model'],
      [{ model: 'sora-2' }, 404, 'model_not_found', 'model'],
      [{ model: 'picture' }, 400, 'invalid_value', 'model'],
      [{ prompt: null }, 400, 'missing_required_parameter', 'prompt'],
      [{ prompt: ' ' }, 400, 'invalid_value', 'prompt'],
      [{ size: '1280x720' }, 400, 'invalid_value', 'size'],
      [{ seconds: '12' }, 400, 'invalid_value', 'seconds'],
      [{ seconds: 'four' }, 400, 'invalid_value', 'seconds'],
      [{ seconds: null, duration_seconds: 12 }, 400, 'invalid_value', 'duration_seconds'],
      [{ n: 2 }, 400, 'invalid_value', 'n'],
      [{ seeed: 5 }, 400, 'unknown_parameter', 'seeed'],
      [{ response_format: 'url' }, 400, 'unknown_parameter', 'response_format'],
      [{ seed: 5_000 }, 400, 'invalid_value', 'seed'],
      [{ input_reference: { image_url: 'https://example.com/a.png' } }, 400, 'invalid_value', 'input_reference'],
      [{ input_reference: { image_url: 5 } }, 400, 'invalid_value', 'input_reference'],
      [{ input_reference: { file_id: 'file-1' } }, 400, 'invalid_value', 'input_reference'],
      [{ 'input_reference[file_id]': 'file-1' }, 400, 'invalid_value', 'input_reference'],
      [{ input_reference: {} }, 400, 'invalid_value', 'input_reference'],
      [{ input_reference: [png] }, 400, 'invalid_value', 'input_reference'],
      [{ input_reference: { image_url: png, name: 'x' } }, 400, 'unknown_parameter', 'input_reference'],
      [{ input_reference: { image_url: gif } }, 400, 'invalid_image_format', 'input_reference'],
      [{ input_reference: { image_url: 'data:image/png;base64,***' } }, 400, 'invalid_value', 'input_reference'],
    ];
    for (const [values, status, code, param] of cases) {
      const refused = await api('POST', '/videos', { body: { ...CREATE, ...values } });
      const error = errorOf(refused);
      expect([refused.status, error.code, error.param], JSON.stringify(values).slice(0, 90)).to.deep.equal([
        status,
        code,
        param,
      ]);
      expect(error.message).to.match(/^.{10,400}$/);
    }
    const plain = { ...CREATE, model: PLAIN.modelKey, seed: null };
    const noDuration = await api('POST', '/videos', { body: plain });
    expect(errorOf(noDuration)).to.include({ code: 'unknown_parameter', param: 'seconds' });
    const noPictures = { ...plain, seconds: null, input_reference: { image_url: png } };
    expect(errorOf(await api('POST', '/videos', { body: noPictures }))).to.include({ param: 'input_reference' });
    const poor = await api('POST', '/videos', {
      body: { ...CREATE, seconds: '10', input_reference: { image_url: png } },
      as: 'poor',
    });
    expect([poor.status, errorOf(poor).code]).to.deep.equal([402, 'insufficient_quota']);
    const [accountId, poorId] = fixture.accountIds as [string, string];
    for (const id of [accountId, poorId]) {
      const { items } = await harness.context.uploads.list(id, { limit: 100 });
      expect(items.filter(({ filename }) => filename.startsWith('input_reference'))).to.deep.equal([]);
    }
    for (const [path, param] of [
      ['?limit=0', 'limit'],
      ['?limit=101', 'limit'],
      ['?limit=x', 'limit'],
      ['?order=up', 'order'],
      ['?after=video_1', 'after'],
      [`?after=video_${'0'.repeat(32)}`, 'after'],
    ]) {
      const refused = await api('GET', `/videos${path ?? ''}`);
      expect([refused.status, errorOf(refused).code, errorOf(refused).param]).to.deep.equal([
        400,
        'invalid_value',
        param,
      ]);
    }
    const id = await create();
    const thumbnail = await api('GET', `/videos/${id}/content?variant=thumbnail`);
    expect([thumbnail.status, errorOf(thumbnail).param]).to.deep.equal([400, 'variant']);
    for (const path of [`/videos/${id}/remix`, '/videos/edits', '/videos/extensions', '/videos/characters'])
      expect((await api('POST', path, { body: { prompt: 'x' } })).status, path).to.equal(404);
  });

  it('are bought once when the answer to a create was cut, and each time that it was read', async () => {
    const [cut, release] = [new Promise<void>((resolve) => (arrived = resolve)), { now: (): void => undefined }];
    held = new Promise<void>((resolve) => (release.now = resolve));
    const text = JSON.stringify(CREATE);
    const socket = connect(running.port, '127.0.0.1');
    socket.write(
      `POST /v1/videos HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${fixture.secrets.get('owner') ?? ''}\r\nContent-Type: application/json\r\nContent-Length: ${text.length}\r\n\r\n${text}`,
    );
    await cut;
    socket.resetAndDestroy();
    await sleep(50);
    release.now();
    const count = async (): Promise<number> => ((await api('GET', '/videos')).body['data'] as unknown[]).length;
    while ((await count()) === 0) await sleep(5);
    const taken = await create();
    expect(await count()).to.equal(1);
    const second = await create();
    expect(second === taken).to.equal(false);
    expect(await create({}, { headers: { 'x-stainless-retry-count': '1' } })).to.equal(second);
    expect(await count()).to.equal(2);
  });

  it('are bought once under an idempotency key', async () => {
    const headers = { 'Idempotency-Key': 'mine' };
    const id = await create({}, { headers });
    expect(await create({}, { headers })).to.equal(id);
    const other = await api('POST', '/videos', { body: { ...CREATE, seed: 6 }, headers });
    expect([other.status, errorOf(other).code]).to.deep.equal([422, 'idempotency_key_reused']);
  });
});
