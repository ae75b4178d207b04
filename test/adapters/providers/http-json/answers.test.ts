import { expect } from 'chai';
import { randomUUID } from 'node:crypto';
import type { HttpJsonProvider } from '../../../../adapters/providers/http-json/http-json-provider.js';
import type { Json, JsonObject } from '../../../../core/json.js';
import { hintsOf, type ProviderReport } from '../../../../core/ports/provider.js';
import { reportsUntilOver, submitted, WANTED } from '../../../contracts/provider.contract.js';
import { collected } from '../../../fixtures/byte-streams.js';
import { type CallKind, type FakeAnswer, FakeServer } from '../../../providers/fakes/fake-server.js';
import { FalFake } from '../../../providers/fakes/fal-fake.js';
import { jsonFault } from '../../../providers/fakes/faults.js';
import { StudioFake } from '../../../providers/fakes/studio-fake.js';
import { failureOf, recordingLog } from '../vendor-subject.js';
import { AUTH, httpJsonAt, mapping, studioMapping, task } from './opened-http-json.js';

/*
 * Goal: an answer is believed only where the mapping says what it means; addresses in it lead nowhere but to the
 * configured server and listed hosts; and the key stays with that server.
 * Method: servers that answer as three APIs do, with single answers replaced, and the provider's interpretation of
 * them.
 */

const STUDIO = studioMapping();
const SUBMIT = STUDIO['submit'] as JsonObject;

/** Expects that the work throws. */
async function expectFailure(work: Promise<unknown>, about = ''): Promise<void> {
  expect(await failureOf(work), about).to.be.instanceOf(Error);
}

describe('answers by the mapping of the example', () => {
  let fake: StudioFake;
  let provider: HttpJsonProvider;
  const { log, logged } = recordingLog();
  beforeEach(async () => {
    fake = await StudioFake.open();
    provider = httpJsonAt(fake.base, { auth: AUTH.studio, api_key: fake.key }, log);
  });
  afterEach(async () => {
    await provider.close();
    await fake.close();
  });

  const plan = (of: CallKind, status: number, body: unknown) => fake.server.plan(jsonFault(status, body), { of });
  /** Submits a task that becomes a picture, and polls it until its end. */
  const ended = async (settings: JsonObject, parameters: JsonObject = {}) => {
    const submission = task({ settings, parameters, token: randomUUID() });
    const reference = await submitted(provider, submission);
    return { reference, reports: await reportsUntilOver(provider, reference, submission) };
  };
  const expectPng = async (reference: string, index: number, settings: JsonObject) => {
    const bytes = Buffer.from(await collected(await provider.output(reference, index, settings, WANTED)));
    expect(bytes.subarray(1, 4).toString()).to.equal('PNG');
  };

  it('tell the progress, the cost and the picture of a task, whose reference is its number', async () => {
    const { reference, reports } = await ended(STUDIO);
    expect(reference).to.equal('1000');
    expect(reports).to.deep.equal([
      { state: 'running', progress: 0.4 },
      {
        state: 'succeeded',
        outputs: [{ kind: 'image', mediaType: 'image/png' }],
        cost: { computeMs: 1_250, money: { micros: 4_000, currency: 'EUR' } },
      },
    ]);
    await expectPng(reference, 0, STUDIO);
  });

  it('give outputs in base64 also where the result has a path of its own', async () => {
    const settings = { ...STUDIO, result: { path: '/jobs/{id}' } };
    const { reference, reports } = await ended(settings, { n: 2 });
    expect(reports.at(-1)).to.have.property('outputs').with.lengthOf(2);
    await expectPng(reference, 1, settings);
  });

  it('name a state that is not listed, while the task counts as running', async () => {
    const reference = await submitted(provider, task({ settings: STUDIO }));
    const reported = (job: object) => {
      plan('poll', 200, { job: { number: 1_000, ...job } });
      return provider.poll(reference, STUDIO, WANTED);
    };
    const running = (unknownStatus: string) => ({ state: 'running', unknownStatus });
    expect(await reported({ state: 'paused', percent: 30 })).to.deep.equal({ ...running('paused'), progress: 0.3 });
    expect(await reported({ state: 7 })).to.deep.equal(running('7'));
    expect(await reported({ state: true })).to.deep.equal(running('true'));
    for (const state of [fake.key, '审核中', 'a'.repeat(60), '<b>'])
      expect(await reported({ state }), state).to.deep.equal(running('a state that is not shown'));
  });

  it('throw without a state, with a state that is not a word, and about another task', async () => {
    const reference = await submitted(provider, task({ settings: STUDIO }));
    const said = async (job: object) => {
      plan('poll', 200, { job });
      return String(await failureOf(provider.poll(reference, STUDIO, WANTED)));
    };
    for (const state of [undefined, null, '', {}, ['done']])
      expect(await said({ number: 1_000, state })).to.include('The answer has no state at poll.state.');
    expect(await said({ number: 2, state: 'done' })).to.include('is not about the task');
    expect(await said({ number: 2, state: 'paused' })).to.include('is not about the task');
  });

  it('name a task only by an id of the pattern', async () => {
    for (const number of ['..', '.', '1/2', '-1', 1.5, -7, '', null, {}, 'x'.repeat(300)]) {
      plan('submit', 201, { job: { number } });
      await expectFailure(provider.submit(task({ settings: STUDIO }), WANTED), JSON.stringify(number));
    }
    const loose = { ...STUDIO, submit: { ...SUBMIT, id_pattern: '.*' } };
    for (const number of ['..', '.', 'a b', 'ä'])
      expect(await provider.poll(number, loose, WANTED)).to.deep.equal({ state: 'unknown' });
    expect(fake.server.requests.filter(({ of }) => of.includes('poll'))).to.have.length(0);
    await provider.poll('a/b?c#d', loose, WANTED).catch(() => undefined);
    expect(fake.server.requests.at(-1)?.path).to.equal('/api/jobs/a%2Fb%3Fc%23d');
  });

  it('leave open what was seen before, and refuse what the vendor promises to have refused', async () => {
    const outcome = async (status: number, kind: string) => {
      plan('submit', status, { error: { kind, reason: 'A long reason of the vendor' } });
      return provider.submit(task({ settings: STUDIO }), WANTED).catch(() => 'unknown');
    };
    expect(await outcome(422, 'key_reused')).to.equal('unknown');
    for (const kind of ['other', 'busy']) expect(await outcome(503, kind)).to.equal('unknown');
    expect(await outcome(503, 'closed')).to.include({ because: 'capacity' });
  });

  it('refuse a task in a success only where the settings say so, by a listed code', async () => {
    const says = { ...STUDIO, submit: { ...SUBMIT, error_in_success: true } };
    const outcome = (settings: JsonObject, body: unknown) => {
      plan('submit', 200, body);
      return provider.submit(task({ settings }), WANTED).catch(() => 'unknown');
    };
    const refused = { error: { kind: 'no_credit' } };
    expect(await outcome(STUDIO, refused)).to.equal('unknown');
    expect(await outcome(says, { error: { kind: 'else' } })).to.equal('unknown');
    expect(await outcome(says, refused)).to.include({ accepted: false, because: 'not-here' });
    expect(await outcome(says, { ...refused, job: { number: 5 } })).to.deep.equal({ accepted: true, reference: '5' });
    expect(logged()).to.include('"code":"no_credit"').and.not.include('else');
  });

  it('find a task by its token only, and not another one', async () => {
    const submission = task({ settings: STUDIO, token: randomUUID() });
    await submitted(provider, task({ settings: STUDIO, token: randomUUID() }));
    const { token } = submission;
    const recovered = (settings: JsonObject, status: number, body: unknown) => {
      plan('recover', status, body);
      return provider.recover(token, settings, WANTED).catch(() => 'unknown');
    };
    expect(await provider.recover(token, STUDIO, WANTED)).to.deep.equal({ found: false });
    // A server that does not know the query answers with every task.
    expect(await recovered(STUDIO, 200, { jobs: [{ number: 1_000, external_id: randomUUID() }] })).to.equal('unknown');
    expect(await recovered(STUDIO, 200, { jobs: 0 })).to.equal('unknown');
    expect(await recovered(STUDIO, 404, { error: { kind: 'no_route' } })).to.equal('unknown');
    const byPath = {
      ...STUDIO,
      recover: { path: '/jobs?external_id={token}', id: '/number', token: '/external_id', missing_status: [404] },
    };
    expect(await recovered(byPath, 404, { message: 'no Route matched with those values' })).to.equal('unknown');
    expect(await recovered(byPath, 404, { error: { kind: 'no_job' } })).to.deep.equal({ found: false });
    const found = { number: 7, external_id: token };
    expect(await recovered(byPath, 200, found)).to.deep.equal({ found: true, reference: '7' });
    expect(fake.server.posts).to.equal(1);
  });

  it('fail a task for good where its outputs are not at output.at', async () => {
    const settings = { ...STUDIO, output: { media_type: 'image/png', at: '/job/images/*/url' } };
    expect((await ended(settings)).reports.at(-1)).to.have.nested.property('failure.mayRetry', false);
    expect(logged()).to.include('no outputs at output.at');
  });

  it('give the key for outputs of their own server only where the settings say so', async () => {
    fake.further['files'] = [`${fake.base}/about`];
    const fetched = async (sendsKey: boolean) => {
      const settings = { ...STUDIO, output: { media_type: 'image/png', at: '/job/files/*', sends_key: sendsKey } };
      const { reference } = await ended(settings);
      // The fetched file is not a picture, which does not matter here.
      await failureOf(provider.output(reference, 0, settings, WANTED));
      return fake.server.requests.at(-1)!;
    };
    expect((await fetched(false)).headers).to.not.have.property('x-api-key');
    expect((await fetched(true)).headers).to.have.property('x-api-key');
  });
});

describe('addresses in answers', () => {
  const FAL = mapping('fal');
  let fake: FalFake;
  let elsewhere: FakeServer;
  let provider: HttpJsonProvider;
  beforeEach(async () => {
    fake = await FalFake.open('k');
    elsewhere = await FakeServer.open([]);
    provider = httpJsonAt(fake.base, { auth: AUTH.fal, api_key: 'k' });
  });
  afterEach(async () => {
    await provider.close();
    await elsewhere.close();
    await fake.close();
  });

  it('are kept in the reference without the origin of the server', async () => {
    const reference = await submitted(provider, task({ settings: FAL }));
    const { id } = fake.queue[0]!;
    expect(JSON.parse(reference)).to.deep.equal({
      id,
      poll: `/fal-ai/flux/requests/${id}/status`,
      cancel: `/fal-ai/flux/requests/${id}/cancel`,
    });
  });

  it('of other hosts are not called: the outcome is unknown, and a task cannot be stopped', async () => {
    const addresses = [
      (path: string) => `${elsewhere.url}/${path}`,
      (path: string) => `https://elsewhere.example/${path}`,
      (path: string) => `http://user:password@127.0.0.1:${fake.server.port}/${path}`,
      () => 'file:///etc/passwd',
      () => `/${'x'.repeat(2_000)}`,
    ];
    for (const addressOf of addresses) {
      fake.addressOf = addressOf;
      await expectFailure(provider.submit(task({ settings: FAL }), WANTED));
    }
    fake.addressOf = (path) => (path.endsWith('/cancel') ? `${elsewhere.url}/${path}` : `${fake.base}/${path}`);
    const reference = await submitted(provider, task({ settings: FAL, prompt: 'endless' }));
    await provider.cancel(reference, FAL, WANTED);
    expect(await provider.poll(reference, FAL, WANTED)).to.deep.equal({ state: 'running' });
    expect(elsewhere.requests).to.have.length(0);
  });

  it('in a stored reference lead nowhere else', async () => {
    await submitted(provider, task({ settings: FAL }));
    const { id } = fake.queue[0]!;
    for (const poll of [`${elsewhere.url}/x`, '//127.0.0.1/x', 'http://169.254.169.254/latest'])
      await expectFailure(provider.poll(JSON.stringify({ id, poll }), FAL, WANTED));
    expect(elsewhere.requests).to.have.length(0);
  });

  it('of a result that has an error without a code do not end the task', async () => {
    const submission = task({ settings: FAL });
    const reference = await submitted(provider, submission);
    await reportsUntilOver(provider, reference, submission);
    const result = { of: 'poll', path: /requests\/[^/]+$/ } as const;
    for (const [status, body] of [
      [404, { detail: 'Not Found' }],
      [500, { error_type: 'gateway_error' }],
      [401, { error_type: 'content_policy_violation' }],
      [429, { error_type: 'content_policy_violation' }],
    ] as const) {
      fake.server.plan(jsonFault(status, body), result);
      await expectFailure(provider.poll(reference, FAL, WANTED), String(status));
    }
    expect(await provider.poll(reference, FAL, WANTED)).to.have.property('state', 'succeeded');
    fake.server.plan(jsonFault(504, { error_type: 'runner_scheduling_failure' }), result);
    expect(await provider.poll(reference, FAL, WANTED)).to.have.nested.property('failure.code', 'PROVIDER_UNAVAILABLE');
  });
});

/*
 * Goal: the states, errors and results of APIs of other shapes are read as their settings say: states that are absent,
 * errors within a status of success, ids with slashes, results by an id, and cancels that need a look first.
 * Method: one server whose answers each test gives, and settings with one form each.
 */

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
  const failureAt = (settings = OPERATION): Promise<unknown> => failureOf(polled(settings));
  const endedAs = async (json: Json, settings = OPERATION, more: Partial<FakeAnswer> = {}) => {
    says(json, more);
    return ended(await polled(settings));
  };
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
    expect(await endedAs({ response: video() }, { ...WORDS, poll })).to.equal('succeeded');
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
      const answered = { done: true, response: video(), ...(error === undefined ? {} : { error }) };
      expect(await endedAs(answered), JSON.stringify(error)).to.equal('succeeded');
    }
    expect(await endedAs({ done: true, error: { code: 'policy' } })).to.equal('CONTENT_REJECTED_INPUT');
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
    for (const [code, meaning] of Object.entries(codes))
      expect(await endedAs({ done: true, error: { code } }), code).to.equal(meaning);
  });

  it('know refusals of content by the codes of vendors where the settings list none', async () => {
    for (const [code, meaning] of [
      ['content_policy_violation', 'CONTENT_REJECTED_INPUT'],
      ['OutputVideoSensitiveContentDetected', 'CONTENT_REJECTED_OUTPUT'],
    ] as const)
      expect(await endedAs({ done: true, error: { code } })).to.equal(meaning);
  });

  it('say of a success without outputs that they were withheld, where the answer says so', async () => {
    for (const [response, meaning] of [
      [{ filtered: 1 }, 'CONTENT_REJECTED_OUTPUT'],
      [{ filtered: 1, reasons: ['The input image violates a rule'] }, 'CONTENT_REJECTED_INPUT'],
      [{ filtered: 1, ...video() }, 'succeeded'],
      [{ filtered: 0 }, 'INTERNAL_ERROR'],
      [{ filtered: null }, 'INTERNAL_ERROR'],
    ] as (readonly [Json, string])[])
      expect(await endedAs({ done: true, response }), JSON.stringify(response)).to.equal(meaning);
    says({ done: true, response: { videos: [null, { uri: '' }, { uri: `${server.url}/b.mp4` }] } });
    expect(await polled())
      .to.have.property('outputs')
      .with.lengthOf(1);
  });

  it('end a task by an error in place of its state only where it is about the content', async () => {
    for (const status of [200, 400, 500])
      expect(await endedAs({ base: { status: 'policy' } }, WORDS, { status })).to.equal('CONTENT_REJECTED_INPUT');
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
    for (const [code, more, hints] of [
      ['busy', { status: 429, headers: { 'retry-after': '7' } }, { retryAfterMs: 7_000 }],
      ['', { status: 401 }, { isAccessRefused: true }],
      ['', { status: 403 }, { isAccessRefused: true }],
      ['key', { status: 200 }, { isAccessRefused: true }],
      ['key', { status: 400 }, { isAccessRefused: true }],
      ['', { status: 503, headers: { 'retry-after': 'soon' } }, {}],
    ] as const) {
      says(code === '' ? {} : { base: { status: code } }, more);
      expect(hintsOf(await failureAt(WORDS)), `${code} ${more.status}`).to.deep.equal(hints);
    }
  });

  it('refuse a submission by an error about the content in an answer of success', async () => {
    const outcome = () => provider.submit(task({ settings: OPERATION }), WANTED).catch(() => 'unknown');
    for (const json of [{ base: { status: 'policy' } }, { error: { code: 'content_filter' } }]) {
      says(json);
      expect(await outcome()).to.have.nested.property('failure.code', 'CONTENT_REJECTED_INPUT');
    }
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
    await expectFailure(provider.output('op1', 0, settings, WANTED).then(collected));
    const svg = { status: 'done', files: ['data:image/svg+xml,<svg/>'] };
    expect(await endedAs(svg, settings)).to.equal('INTERNAL_ERROR');
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
    for (const [json, status] of [
      [{ message: 'no Route matched with those values' }, 404],
      [{}, 503],
    ] as const) {
      says(json, { status });
      await expectFailure(provider.cancel('op1', { ...WORDS, cancel }, WANTED), String(status));
    }
    expect(server.requests.filter(({ method }) => method === 'DELETE')).to.have.length(1);
  });

  it('show no code in the log that the settings do not list', async () => {
    says({ base: { status: 'secret-word' } }, { status: 400 });
    expect(String(await failureAt(WORDS))).to.not.include('secret-word');
    expect(logged()).to.not.include('secret-word');
  });
});
