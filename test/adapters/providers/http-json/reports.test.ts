/*
 * Goal: the states, errors and results of APIs of other shapes are read as their settings say: states that are absent,
 * errors within a status of success, ids with slashes, results by an id, and cancels that need a look first.
 * Method: one server whose answers each test gives, and settings with one form each.
 */
import { expect } from 'chai';
import type { HttpJsonProvider } from '../../../../adapters/providers/http-json/http-json-provider.js';
import type { Json, JsonObject } from '../../../../core/json.js';
import { hintsOf, type ProviderReport } from '../../../../core/ports/provider.js';
import { WANTED } from '../../../contracts/provider.contract.js';
import { collected } from '../../../fixtures/byte-streams.js';
import { type FakeAnswer, FakeServer } from '../../../providers/fakes/fake-server.js';
import { recordingLog } from '../recording-log.js';
import { httpJsonAt, task } from './opened-http-json.js';

/** Not a sentence, which would be taken for a message in the place of a file. */
const VIDEO = '\u0000bytes';
const OPERATION: JsonObject = {
  submit: { path: '/jobs', body: { prompt: '{prompt}' }, id: '/name' },
  poll: {
    path: '/jobs/{id}',
    state: '/done',
    states: { running: [null, false], succeeded: [true] },
    failed_if: '/error',
  },
  output: { media_type: 'video/mp4', at: '/response/videos/*/uri', withheld: '/response/filtered' },
  errors: {
    code: ['/error/code', '/base/status'],
    message: ['/error/message', '/response/reasons/0'],
    success_codes: [0, 'OK'],
    codes: {
      'policy': { code: 'CONTENT_REJECTED_INPUT' },
      'policy.output*': { code: 'CONTENT_REJECTED_OUTPUT' },
      'policy.output.frame': { code: 'INPUT_INVALID' },
      'key': { code: 'PROVIDER_REJECTED', because: 'not-here' },
      'busy': { code: 'PROVIDER_UNAVAILABLE', because: 'capacity' },
    },
    messages: [{ contains: 'input image', code: 'CONTENT_REJECTED_INPUT' }],
  },
};

const WORDS: JsonObject = {
  ...OPERATION,
  poll: { path: '/jobs/{id}', state: '/status', states: { queued: ['wait'], succeeded: ['done'], failed: ['error'] } },
};

describe('reports by a mapping', () => {
  let server: FakeServer;
  let provider: HttpJsonProvider;
  let answer: (path: string, method: string) => FakeAnswer;
  const { log, logged } = recordingLog();
  beforeEach(async () => {
    server = await FakeServer.open([], { otherwise: ({ path, method }) => answer(path, method) });
    provider = httpJsonAt(server.url, { api_key: 'a-key' }, log);
  });
  afterEach(async () => {
    await provider.close();
    await server.close();
  });

  const says = (json: Json, more: Partial<FakeAnswer> = {}) => {
    answer = () => ({ json, ...more });
  };
  const polled = (settings = OPERATION, id = 'op1') => provider.poll(id, settings, WANTED);
  const failureAt = async (settings = OPERATION): Promise<unknown> =>
    polled(settings).then(
      () => undefined,
      (error: unknown) => error,
    );
  const ended = (report: ProviderReport) => (report.state === 'failed' ? report.failure.code : report.state);
  const video = (name = 'a.mp4') => ({ videos: [{ uri: `${server.url}/${name}` }] });

  it('say running without a state where it is listed as null, or as false', async () => {
    const onlyFalse = {
      ...OPERATION,
      poll: { ...(OPERATION['poll'] as JsonObject), states: { running: [false], succeeded: [true] } },
    };
    for (const settings of [OPERATION, onlyFalse])
      for (const json of [{ name: 'op1' }, { name: 'op1', done: null }, { done: '' }, { done: false }, {}]) {
        says(json);
        expect(await polled(settings), JSON.stringify(json)).to.deep.equal({ state: 'running' });
      }
  });

  it('say what null is listed for', async () => {
    const poll = {
      ...(WORDS['poll'] as JsonObject),
      states: { running: ['busy'], succeeded: [null], failed: ['error'] },
    };
    says({ response: video() });
    expect(ended(await polled({ ...WORDS, poll }))).to.equal('succeeded');
  });

  it('throw for what cannot have a state, or has one of another kind', async () => {
    for (const json of [[], null, 42, 'text', { done: {} }, { done: [true] }]) {
      says(json);
      expect(await failureAt(), JSON.stringify(json)).to.be.instanceOf(Error);
    }
    says({ name: 'op1' });
    expect(String(await failureAt(WORDS))).to.include('The answer has no state at poll.state.');
  });

  it('decide at the end by a member whether a task has failed', async () => {
    for (const error of [null, undefined, {}, '', 0, false, []]) {
      says({ done: true, response: video(), ...(error === undefined ? {} : { error }) });
      expect(ended(await polled()), JSON.stringify(error)).to.equal('succeeded');
    }
    says({ done: true, error: { code: 'policy' } });
    expect(ended(await polled())).to.equal('CONTENT_REJECTED_INPUT');
    says({ done: true, error: { code: 13, message: 'Something broke' } });
    expect(await polled()).to.have.nested.property('failure.mayRetry', false);
    says({ done: false, error: { code: 'policy' } });
    expect(await polled(), 'not before the end').to.deep.equal({ state: 'running' });
  });

  it('mean by a code its own entry, or the one with its longest beginning', async () => {
    const codes = {
      'policy.output.video': 'CONTENT_REJECTED_OUTPUT',
      'policy.output': 'CONTENT_REJECTED_OUTPUT',
      'policy.output.frame': 'INPUT_INVALID',
      'policy.other': 'INTERNAL_ERROR',
      '__proto__': 'INTERNAL_ERROR',
    };
    for (const [code, meaning] of Object.entries(codes)) {
      says({ done: true, error: { code } });
      expect(ended(await polled()), code).to.equal(meaning);
    }
  });

  it('know refusals of content by the codes of vendors where the settings list none', async () => {
    says({ done: true, error: { code: 'content_policy_violation' } });
    expect(ended(await polled())).to.equal('CONTENT_REJECTED_INPUT');
    says({ done: true, error: { code: 'OutputVideoSensitiveContentDetected' } });
    expect(ended(await polled())).to.equal('CONTENT_REJECTED_OUTPUT');
  });

  it('say of a success without outputs that they were withheld, where the answer says so', async () => {
    says({ done: true, response: { filtered: 1 } });
    expect(ended(await polled())).to.equal('CONTENT_REJECTED_OUTPUT');
    says({ done: true, response: { filtered: 1, reasons: ['The input image violates a rule'] } });
    expect(ended(await polled())).to.equal('CONTENT_REJECTED_INPUT');
    says({ done: true, response: { filtered: 1, ...video() } });
    expect(ended(await polled()), 'some are there').to.equal('succeeded');
    for (const filtered of [0, null]) {
      says({ done: true, response: { filtered } });
      expect(ended(await polled())).to.equal('INTERNAL_ERROR');
    }
    says({ done: true, response: { videos: [null, { uri: '' }, { uri: `${server.url}/b.mp4` }] } });
    expect(await polled())
      .to.have.property('outputs')
      .with.lengthOf(1);
  });

  it('end a task by an error in place of its state only where it is about the content', async () => {
    for (const status of [200, 400, 500]) {
      says({ base: { status: 'policy' } }, { status });
      expect(ended(await polled(WORDS)), String(status)).to.equal('CONTENT_REJECTED_INPUT');
    }
    for (const [code, status] of [
      ['busy', 200],
      ['else', 200],
      ['busy', 400],
      ['policy.output.frame', 400],
      ['policy', 429],
      ['policy', 401],
      [0, 200],
    ] as const) {
      says({ base: { status: code } }, { status });
      expect(await failureAt(WORDS), `${code} ${status}`).to.be.instanceOf(Error);
    }
  });

  it('tell core of a wait, and of a key that is refused', async () => {
    const hints = async () => hintsOf(await failureAt(WORDS));
    says({ base: { status: 'busy' } }, { status: 429, headers: { 'retry-after': '7' } });
    expect(await hints()).to.deep.equal({ retryAfterMs: 7_000 });
    for (const status of [401, 403]) {
      says({}, { status });
      expect(await hints()).to.deep.equal({ isAccessRefused: true });
    }
    says({ base: { status: 'key' } });
    expect(await hints(), 'in an answer of success').to.deep.equal({ isAccessRefused: true });
    says({ base: { status: 'key' } }, { status: 400 });
    expect(await hints()).to.deep.equal({ isAccessRefused: true });
    says({}, { status: 503, headers: { 'retry-after': 'soon' } });
    expect(await hints()).to.deep.equal({});
  });

  it('refuse a submission by an error about the content in an answer of success', async () => {
    const outcome = () => provider.submit(task({ settings: OPERATION }), WANTED).catch(() => 'unknown');
    says({ base: { status: 'policy' } });
    expect(await outcome()).to.have.nested.property('failure.code', 'CONTENT_REJECTED_INPUT');
    says({ error: { code: 'content_filter' } });
    expect(await outcome()).to.have.nested.property('failure.code', 'CONTENT_REJECTED_INPUT');
    for (const code of ['busy', 'key', 'else', 0]) {
      says({ base: { status: code } });
      expect(await outcome(), String(code)).to.equal('unknown');
    }
  });

  it('keep the slashes of an id where a path has it with a plus', async () => {
    const settings: JsonObject = {
      ...OPERATION,
      submit: { ...(OPERATION['submit'] as JsonObject), id_pattern: '[a-zA-Z0-9./ %~-]+' },
      poll: { ...(OPERATION['poll'] as JsonObject), path: '/v1/{+id}', id: '/name' },
    };
    const id = 'models/veo-3.0/operations/a%2eb';
    says({ name: id });
    expect(await provider.submit(task({ settings }), WANTED)).to.deep.equal({ accepted: true, reference: id });
    expect(await polled(settings, id)).to.deep.equal({ state: 'running' });
    expect(server.requests.at(-1)?.path).to.equal('/v1/models/veo-3.0/operations/a%252eb');
    const before = server.requests.length;
    for (const wrong of ['models/../admin', './a', 'a//b', '/a', 'a/', '..', 'a/.', 'models/..', '//evil.example/a'])
      expect(await polled(settings, wrong), wrong).to.deep.equal({ state: 'unknown' });
    expect(server.requests).to.have.length(before);
    for (const name of ['models/../admin', 'a//b', '/a', 'a?b']) {
      says({ name });
      expect(await provider.submit(task({ settings }), WANTED).catch(() => 'unknown'), name).to.equal('unknown');
    }
  });

  it('take a data URL in the place of an address', async () => {
    const settings: JsonObject = { ...WORDS, output: { media_type: 'image/png', at: '/files/*' } };
    const dataUrl = `data:image/webp;base64,${Buffer.from('RIFF').toString('base64url')}`;
    says({ status: 'done', files: [null, dataUrl, `${server.url}/a.png`] });
    expect(await polled(settings)).to.deep.include({
      state: 'succeeded',
      outputs: [
        { kind: 'image', mediaType: 'image/webp' },
        { kind: 'image', mediaType: 'image/png' },
      ],
    });
    const bytes = await collected(await provider.output('op1', 0, settings, WANTED));
    expect(Buffer.from(bytes).toString()).to.equal('RIFF');
    says({ status: 'done', files: ['data:image/png;base64,A!'] });
    expect(
      await provider
        .output('op1', 0, settings, WANTED)
        .then(collected)
        .catch((error: unknown) => error),
    ).to.be.instanceOf(Error);
    says({ status: 'done', files: ['data:image/svg+xml,<svg/>'] });
    expect(ended(await polled(settings))).to.equal('INTERNAL_ERROR');
  });

  it('fetch a result by the id in the answer about the state', async () => {
    const settings: JsonObject = {
      ...WORDS,
      result: { path: '/files?file_id={result_id}', id: '/file_id', id_pattern: '[0-9]+' },
      output: { media_type: 'video/mp4', at: '/file/url' },
    };
    let fileId: Json = 42;
    let file: Json = { file: { url: `${server.url}/a.mp4` } };
    answer = (path) => {
      if (path === '/a.mp4') return { headers: { 'content-type': 'video/mp4' }, body: VIDEO };
      return { json: path === '/files' ? file : { status: 'done', file_id: fileId } };
    };
    expect(ended(await polled(settings))).to.equal('succeeded');
    expect(server.requests.at(-1)).to.include({ path: '/files', query: '?file_id=42' });
    const bytes = await collected(await provider.output('op1', 0, settings, WANTED));
    expect(Buffer.from(bytes).toString()).to.equal(VIDEO);
    for (const wrong of ['', null, '../x', '42/..', {}]) {
      fileId = wrong;
      expect(await failureAt(settings), JSON.stringify(wrong)).to.be.instanceOf(Error);
    }
    fileId = '42';
    file = { base: { status: 'busy' } };
    expect(await failureAt(settings), 'the task is not given up').to.be.instanceOf(Error);
    file = { base: { status: 'key' } };
    expect(hintsOf(await failureAt(settings))).to.deep.equal({ isAccessRefused: true });
    file = { base: { status: 'policy.output' } };
    expect(ended(await polled(settings))).to.equal('CONTENT_REJECTED_OUTPUT');
  });

  it('precede a cancel that is sent in some states only', async () => {
    const cancel = { path: '/jobs/{id}', method: 'DELETE', stops: 'queued', only_in: ['queued'] };
    for (const [status, sent] of [
      ['wait', ['GET', 'DELETE']],
      ['done', ['GET']],
      ['error', ['GET']],
      ['else', ['GET']],
    ] as const) {
      const before = server.requests.length;
      says({ status });
      await provider.cancel('op1', { ...WORDS, cancel }, WANTED);
      expect(
        server.requests.slice(before).map(({ method }) => method),
        status,
      ).to.deep.equal(sent);
    }
    says({ error: { code: 'not_found' } }, { status: 404 });
    await provider.cancel('op1', { ...WORDS, cancel }, WANTED);
    expect(server.requests.at(-1)?.method).to.equal('GET');
    says({ message: 'no Route matched with those values' }, { status: 404 });
    const gateway = await provider.cancel('op1', { ...WORDS, cancel }, WANTED).catch((thrown: unknown) => thrown);
    expect(gateway).to.be.instanceOf(Error);
    says({}, { status: 503 });
    const error = await provider.cancel('op1', { ...WORDS, cancel }, WANTED).catch((thrown: unknown) => thrown);
    expect(error).to.be.instanceOf(Error);
    expect(server.requests.filter(({ method }) => method === 'DELETE')).to.have.length(1);
  });

  it('show no code in the log that the settings do not list', async () => {
    says({ base: { status: 'secret-word' } }, { status: 400 });
    expect(String(await failureAt(WORDS))).to.not.include('secret-word');
    expect(logged()).to.not.include('secret-word');
  });
});
