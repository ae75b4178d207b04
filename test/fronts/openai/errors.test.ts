import { expect } from 'chai';
import { failureOf, renderApiError } from '../../../apps/http/openai/errors.js';
import { type ErrorCode, ERRORS, ServiceError } from '../../../core/errors.js';
import { type Generation, TASK_ERRORS, taskError, type TaskErrorCode } from '../../../core/generation/generation.js';
import type { JsonObject } from '../../../core/json.js';
import { issueToken, newPerson } from '../../fixtures/access-tokens.js';
import { until } from '../../fixtures/clocks.js';
import { exchange, parseAnswer } from '../http/host/raw-socket.js';
import { type ApiAnswer, GENERATIONS, OpenAiHarness, PICTURE, type Sent } from './openai-harness.js';

// Goal: every refusal has the status, type and code that clients of this API act on, all four members of an error object,
// and the field at fault by the name that the client gave it.
// Method: a table of all codes of the service and of failed generations, against the renderers; and requests to the front
// with the mistakes that people make.

type Expected = readonly [status: number, type: string, code: string];

const invalid = (status: number, code: string): Expected => [status, 'invalid_request_error', code];
const server = (status: number, code: string): Expected => [status, 'server_error', code];
const TOO_MANY: Expected = [429, 'requests', 'rate_limit_exceeded'];
const NO_CREDITS: Expected = [402, 'insufficient_quota', 'insufficient_quota'];
const BAD_KEY = invalid(401, 'invalid_api_key');

/** Those of sessions, pages and passkeys are never thrown here, and have an entry all the same. */
const OF_SERVICE: Readonly<Record<ErrorCode, Expected>> = {
  DEVELOPER_TOKEN_REQUIRED: BAD_KEY,
  DEVELOPER_TOKEN_INVALID: BAD_KEY,
  DEVELOPER_TOKEN_EXPIRED: BAD_KEY,
  DEVELOPER_TOKEN_REVOKED: BAD_KEY,
  SESSION_REQUIRED: BAD_KEY,
  DEVELOPER_SCOPE_INSUFFICIENT: invalid(403, 'missing_scope'),
  ORIGIN_REFUSED: invalid(403, 'forbidden'),
  OPERATOR_REQUIRED: invalid(403, 'forbidden'),
  PASSKEY_SIGN_IN_REQUIRED: invalid(403, 'forbidden'),
  RECENT_SIGN_IN_REQUIRED: invalid(403, 'forbidden'),
  CREDITS_INSUFFICIENT: NO_CREDITS,
  SPENDING_NOT_CONFIRMED: NO_CREDITS,
  RATE_LIMITED: TOO_MANY,
  QUEUE_FULL: TOO_MANY,
  FIELD_REQUIRED: invalid(400, 'missing_required_parameter'),
  FIELD_INVALID: invalid(400, 'invalid_value'),
  PASSKEY_REFUSED: invalid(400, 'invalid_value'),
  BODY_INVALID: invalid(400, 'invalid_body'),
  MEDIA_TYPE_UNSUPPORTED: invalid(400, 'invalid_body'),
  IDEMPOTENCY_KEY_REQUIRED: invalid(400, 'invalid_idempotency_key'),
  IDEMPOTENCY_KEY_INVALID: invalid(400, 'invalid_idempotency_key'),
  IDEMPOTENCY_PAYLOAD_MISMATCH: invalid(422, 'idempotency_key_reused'),
  IDEMPOTENCY_REPLAY_EXPIRED: invalid(422, 'idempotency_key_expired'),
  IDEMPOTENCY_IN_PROGRESS: server(504, 'generation_timeout'),
  UPLOAD_FILE_TOO_LARGE: invalid(413, 'file_too_large'),
  BODY_TOO_LARGE: invalid(413, 'file_too_large'),
  UPLOAD_TYPE_NOT_ALLOWED: invalid(400, 'invalid_image_format'),
  UPLOAD_URL_EXPIRED: server(503, 'service_unavailable'),
  REQUEST_TIMEOUT: invalid(408, 'request_timeout'),
  TASK_NOT_FOUND: invalid(404, 'not_found'),
  GENERATION_JOB_NOT_FOUND: invalid(404, 'not_found'),
  ROUTE_NOT_FOUND: invalid(404, 'not_found'),
  NOT_FOUND: invalid(404, 'not_found'),
  METHOD_NOT_ALLOWED: invalid(405, 'method_not_allowed'),
  CONFLICT: invalid(409, 'conflict'),
  SERVICE_UNAVAILABLE: server(503, 'service_unavailable'),
  INTERNAL_ERROR: server(500, 'server_error'),
};

const OF_GENERATIONS: Readonly<Record<TaskErrorCode, Expected>> = {
  CONTENT_REJECTED_INPUT: invalid(400, 'content_policy_violation'),
  CONTENT_REJECTED_OUTPUT: invalid(400, 'content_policy_violation'),
  INPUT_INVALID: invalid(400, 'invalid_value'),
  PROVIDER_REJECTED: invalid(400, 'provider_rejected'),
  MODEL_UNAVAILABLE: server(503, 'model_unavailable'),
  PROVIDER_UNAVAILABLE: server(503, 'provider_unavailable'),
  PROVIDER_TIMEOUT: server(504, 'generation_timeout'),
  TASK_TIMEOUT: server(504, 'generation_timeout'),
  OUTPUT_INVALID: server(500, 'server_error'),
  OUTPUT_STORE_FAILED: server(500, 'server_error'),
  INTERNAL_ERROR: server(500, 'server_error'),
};

describe('errors of the OpenAI-compatible API', () => {
  for (const code of Object.keys(ERRORS) as ErrorCode[])
    it(`report ${code} as ${OF_SERVICE[code].join(' ')}`, () => {
      const refusal = new ServiceError(code);
      const shown = { status: 0, code, message: refusal.message, requestId: 'r', refusal };
      const { status, reason, text } = renderApiError(shown);
      const { error } = JSON.parse(text) as { readonly error: JsonObject };
      expect(Object.keys(error)).to.deep.equal(['message', 'type', 'param', 'code']);
      expect([status, error['type'], error['code']]).to.deep.equal(OF_SERVICE[code]);
      expect(error['message']).to.match(/^[A-Z].*\.$/);
      expect(error['param']).to.equal(null);
      expect(reason).to.equal(error['code']);
    });

  for (const code of Object.keys(TASK_ERRORS) as TaskErrorCode[])
    it(`report a generation that failed with ${code} as ${OF_GENERATIONS[code].join(' ')}`, () => {
      const { status, error } = failureOf({ error: taskError(code, 'Why it failed.') } as Generation);
      expect([status, error.type, error.code]).to.deep.equal(OF_GENERATIONS[code]);
      const isRefused = code.startsWith('CONTENT_REJECTED');
      const message = `${isRefused ? 'The request was rejected as a result of the safety system: ' : ''}Why it failed.`;
      expect(error).to.include({ message, param: null });
    });

  it('report a cancelled generation as 400 generation_cancelled', () => {
    const { status, error } = failureOf({ status: 'cancelled' } as Generation);
    expect([status, error.type, error.code]).to.deep.equal(invalid(400, 'generation_cancelled'));
  });
});

interface Mistake {
  readonly body?: JsonObject;
  readonly headers?: Sent;
  readonly expected: Expected;
  readonly param: string | null;
  /** A part of the message. */
  readonly says?: RegExp;
  readonly hasHeader?: string;
}

describe('a request for pictures with a mistake', () => {
  let api: OpenAiHarness;
  before(async () => {
    api = await OpenAiHarness.open();
    await api.service.startWorker();
  });
  after(async () => {
    expect(await api.generations(), 'of the refused prompt alone').to.have.length(1);
    await api.expectPaid(0);
    await api.close();
  });

  const as = (kind: string): Sent => ({ Authorization: `Bearer ${api.secret(kind)}` });
  const MISTAKES: Readonly<Record<string, () => Mistake>> = {
    'without a key': () => ({
      headers: { Authorization: undefined },
      expected: BAD_KEY,
      param: null,
      hasHeader: 'www-authenticate',
    }),
    'with a wrong key': () => ({
      headers: as('unknown'),
      expected: BAD_KEY,
      param: null,
      says: /use a key of this service/,
      hasHeader: 'www-authenticate',
    }),
    'with a revoked key': () => ({ headers: as('revoked'), expected: BAD_KEY, param: null }),
    'of a suspended account': () => ({ headers: as('suspended'), expected: BAD_KEY, param: null }),
    'without the scope': () => ({
      headers: as('only generations:read'),
      expected: invalid(403, 'missing_scope'),
      param: null,
    }),
    'without the credits': () => ({
      headers: as('poor'),
      body: { ...PICTURE, n: 3 },
      expected: NO_CREDITS,
      param: null,
      hasHeader: 'darkroom-credits-available',
    }),
    'without a model': () => ({
      body: { prompt: 'x' },
      expected: invalid(400, 'missing_required_parameter'),
      param: 'model',
    }),
    'for an unknown model': () => ({
      body: { ...PICTURE, model: 'pictur' },
      expected: invalid(404, 'model_not_found'),
      param: 'model',
      says: /picture/,
    }),
    'for a model of another service': () => ({
      body: { ...PICTURE, model: 'gpt-image-1' },
      expected: invalid(404, 'model_not_found'),
      param: 'model',
      says: /GET \/v1\/models lists/,
    }),
    'for a model that is no text': () => ({
      body: { ...PICTURE, model: 1 },
      expected: invalid(400, 'invalid_value'),
      param: 'model',
    }),
    'for a model of videos': () => ({
      body: { model: 'clip', prompt: 'x' },
      expected: invalid(400, 'invalid_value'),
      param: 'model',
      says: /video/,
    }),
    'without a prompt': () => ({
      body: { model: 'picture', size: '96x64' },
      expected: invalid(400, 'missing_required_parameter'),
      param: 'prompt',
    }),
    'with a blank prompt': () => ({
      body: { ...PICTURE, prompt: ' \n' },
      expected: invalid(400, 'invalid_value'),
      param: 'prompt',
    }),
    'with a prompt that is null': () => ({
      body: { ...PICTURE, prompt: null },
      expected: invalid(400, 'missing_required_parameter'),
      param: 'prompt',
    }),
    // A client may cut a text in the middle of a character.
    'with half a character in the prompt': () => ({
      body: { ...PICTURE, prompt: 'a lighthouse \ud83c' },
      expected: invalid(400, 'invalid_value'),
      param: 'prompt',
      says: /lone surrogates/,
    }),
    'with half a character in an unknown name': () => ({
      body: { ...PICTURE, 'sea\ud83c': 1 },
      expected: invalid(400, 'unknown_parameter'),
      param: 'sea\ud83c',
    }),
    'with a size that the model lacks': () => ({
      body: { ...PICTURE, size: '1024x1024' },
      expected: invalid(400, 'invalid_value'),
      param: 'size',
      says: /^size must .*96x64.*512x512/,
    }),
    'for too many pictures': () => ({
      body: { ...PICTURE, n: 5 },
      expected: invalid(400, 'invalid_value'),
      param: 'n',
      says: /^n must .*4/,
    }),
    'for no picture': () => ({ body: { ...PICTURE, n: 0 }, expected: invalid(400, 'invalid_value'), param: 'n' }),
    'with an unknown field': () => ({
      body: { ...PICTURE, sead: 1 },
      expected: invalid(400, 'unknown_parameter'),
      param: 'sead',
      says: /^Unknown parameter: "sead"; picture has size, n, seed, style, tuning\.$/,
    }),
    'with a transparent background': () => ({
      body: { ...PICTURE, background: 'transparent' },
      expected: invalid(400, 'invalid_value'),
      param: 'background',
    }),
    'with another format': () => ({
      body: { ...PICTURE, output_format: 'webp' },
      expected: invalid(400, 'invalid_value'),
      param: 'output_format',
      says: /png/,
    }),
    'with another kind of answer': () => ({
      body: { ...PICTURE, response_format: 'json' },
      expected: invalid(400, 'invalid_value'),
      param: 'response_format',
    }),
    'with a stream that is no truth value': () => ({
      body: { ...PICTURE, stream: 'yes' },
      expected: invalid(400, 'invalid_value'),
      param: 'stream',
    }),
    'with a body that is a list': () => ({
      body: [] as unknown as JsonObject,
      expected: invalid(400, 'invalid_body'),
      param: null,
    }),
    'of another type': () => ({
      headers: { 'Content-Type': 'text/plain' },
      expected: invalid(400, 'invalid_body'),
      param: null,
    }),
    'that is too large': () => ({
      body: { ...PICTURE, prompt: 'x'.repeat(300_000) },
      expected: invalid(413, 'file_too_large'),
      param: null,
    }),
    'with a key that is none': () => ({
      headers: { 'Idempotency-Key': 'a b' },
      expected: invalid(400, 'invalid_idempotency_key'),
      param: null,
    }),
    'with a refused prompt': () => ({
      body: { ...PICTURE, model: 'picture-refused' },
      expected: invalid(400, 'content_policy_violation'),
      param: null,
      says: /^The request was rejected as a result of the safety system: /,
      hasHeader: 'x-should-retry',
    }),
  };

  const expectAnswer = ({ status, error, headers, reason }: ApiAnswer, mistake: Mistake): void => {
    expect([status, error['type'], error['code']]).to.deep.equal(mistake.expected);
    expect(Object.keys(error)).to.deep.equal(['message', 'type', 'param', 'code']);
    expect(error['param']).to.equal(mistake.param);
    expect(error['message']).to.match(mistake.says ?? /^\S.*\.$/);
    expect(reason).to.equal(error['code']);
    expect(headers.get('x-request-id')).to.match(/./);
    if (mistake.hasHeader !== undefined) expect(headers.get(mistake.hasHeader)).to.match(/./);
  };
  for (const [what, mistakeOf] of Object.entries(MISTAKES))
    it(`${what} is refused`, async () => {
      const mistake = mistakeOf();
      expectAnswer(await api.create(mistake.body ?? PICTURE, mistake.headers ?? {}), mistake);
      if (mistake.body === undefined || mistake.headers !== undefined) return;
      // A stream begins once the create is accepted.
      if (what === 'with a refused prompt' || Array.isArray(mistake.body)) return;
      expectAnswer(await api.create({ ...mistake.body, stream: mistake.body['stream'] ?? true }), mistake);
    });

  it('with an access token is allowed what the token is for, and nothing else', async () => {
    const { context } = api;
    const person = await newPerson(context, api.ownerOf('poor').accountId);
    const codeWith = async (audience: 'rest' | 'mcp', path: string, method: string) => {
      const { secret } = await issueToken(context, person, {
        clientId: 'a client',
        scopes: ['generations:write'],
        audience,
      });
      const { status, error } = await api.send(path, { method, headers: { Authorization: `Bearer ${secret}` } });
      return [status, error['code']];
    };
    expect(await codeWith('rest', '/v1/models', 'GET')).to.deep.equal([200, undefined]);
    expect(await codeWith('rest', GENERATIONS, 'POST')).to.deep.equal([400, 'invalid_body']);
    expect(await codeWith('rest', '/v1/videos', 'GET')).to.deep.equal([403, 'missing_scope']);
    expect(await codeWith('mcp', '/v1/models', 'GET')).to.deep.equal([401, 'invalid_api_key']);
  });

  it('that is not JSON is refused', async () => {
    for (const body of ['{', '', '\ufffe']) {
      const answer = await api.send(GENERATIONS, { method: 'POST', body });
      expect([answer.status, answer.error['type'], answer.error['code']]).to.deep.equal(invalid(400, 'invalid_body'));
    }
  });

  it('to another path or with another method is refused, and only once the key is known', async () => {
    for (const path of [
      '/v1/chat/completions',
      '/v1/images/variations',
      '/v1',
      '/v1/',
      '/v1//models',
      '/v1/images/generations/',
    ])
      expect((await api.send(path, { method: 'POST', body: '{}' })).error).to.include({
        code: 'not_found',
        message:
          'There is no such path: this API has /v1/images/generations, /v1/images/edits, /v1/videos and /v1/models.',
      });
    const unauthenticated = await api.send('/v1/chat/completions', { headers: { Authorization: undefined } });
    expect([unauthenticated.status, unauthenticated.error['code']]).to.deep.equal([401, 'invalid_api_key']);
    const { status, headers } = await api.send(GENERATIONS, { method: 'PUT' });
    expect([status, headers.get('allow')]).to.deep.equal([405, 'POST']);
  });

  it('to a base URL without /v1 is refused with the right base URL', async () => {
    for (const path of [
      '/images/generations',
      '/images/edits',
      '/videos',
      '/videos/video_1',
      '/models',
      '/chat/completions',
    ])
      expect((await api.send(path, { method: 'POST', body: '{}' })).error, path).to.include({
        code: 'not_found',
        message: 'There is no such path: the base URL of this API ends with /v1.',
      });
  });

  it('has the code as reason phrase on the wire', async () => {
    const head = `POST ${GENERATIONS} HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Length: 0\r\n\r\n`;
    const text = await exchange(api.running.port, head);
    expect(text).to.match(/^HTTP\/1\.1 401 invalid_api_key\r\n/);
    expect(parseAnswer(text).body).to.include('"param":null');
  });
});

describe('a credential that creates too often', () => {
  it('gets a time to try again; a create counts as one write, and a file does not count', async () => {
    const api = await OpenAiHarness.open({ limits: { writesPerMinute: 2, readsPerMinute: 2 } });
    try {
      await api.service.startWorker();
      const { body } = await api.create({ ...PICTURE, response_format: 'url' });
      const [{ url = '' } = {}] = body['data'] as unknown as readonly { readonly url?: string }[];
      for (let times = 0; times < 5; times += 1) await (await fetch(url)).arrayBuffer();
      expect((await api.create({ ...PICTURE, seed: 1 })).status).to.equal(200);
      const refused = await api.create({ ...PICTURE, seed: 2 });
      expect([refused.status, refused.error['type'], refused.error['code']]).to.deep.equal(TOO_MANY);
      expect(Number(refused.headers.get('retry-after'))).to.be.within(1, 60);
      await api.expectPaid(20);
    } finally {
      await api.close();
    }
  });

  it('gets a time to try again where too many generations are open', async () => {
    const api = await OpenAiHarness.open({}, { settings: { maxOpenGenerationsPerAccount: 1 } });
    try {
      const first = api.create().catch((error: unknown) => error);
      await until(async () => (await api.generations()).length === 1);
      const refused = await api.create({ ...PICTURE, seed: 1 });
      expect([refused.status, refused.error['type'], refused.error['code']]).to.deep.equal(TOO_MANY);
      expect(refused.headers.get('retry-after')).to.equal('5');
      await api.close();
      await first;
    } finally {
      await api.close();
    }
  });
});
