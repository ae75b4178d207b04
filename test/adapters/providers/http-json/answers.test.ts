/*
 * Goal: an answer is believed only where the mapping says what it means; addresses in it lead nowhere but to the
 * configured server and listed hosts; and the key stays with that server.
 * Method: servers that answer as three APIs do, with single answers replaced, and what the provider made of them.
 */
import { expect } from 'chai';
import { randomUUID } from 'node:crypto';
import type { HttpJsonProvider } from '../../../../adapters/providers/http-json/http-json-provider.js';
import type { JsonObject } from '../../../../core/json.js';
import { reportsUntilOver, submitted, WANTED } from '../../../contracts/provider.contract.js';
import { collected } from '../../../fixtures/byte-streams.js';
import { type CallKind, FakeServer } from '../../../providers/fakes/fake-server.js';
import { FalFake } from '../../../providers/fakes/fal-fake.js';
import { StudioFake } from '../../../providers/fakes/studio-fake.js';
import { recordingLog } from '../recording-log.js';
import { AUTH, httpJsonAt, mapping, studioMapping, task } from './opened-http-json.js';

const STUDIO = studioMapping();
const JSON_TYPE = { 'content-type': 'application/json' };

const thrown = (work: Promise<unknown>): Promise<unknown> =>
  work.then(
    () => undefined,
    (error: unknown) => error,
  );

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

  const plan = (of: CallKind, status: number, body: unknown) =>
    fake.server.plan({ type: 'status', status, headers: JSON_TYPE, body: JSON.stringify(body) }, { of });

  it('tell the progress, the cost and the picture of a task, whose reference is its number', async () => {
    const submission = task({ settings: STUDIO });
    const reference = await submitted(provider, submission);
    expect(reference).to.equal('1000');
    const reports = await reportsUntilOver(provider, reference, submission);
    expect(reports).to.deep.equal([
      { state: 'running', progress: 0.4 },
      {
        state: 'succeeded',
        outputs: [{ kind: 'image', mediaType: 'image/png' }],
        cost: { computeMs: 1_250, money: { micros: 4_000, currency: 'EUR' } },
      },
    ]);
    const bytes = Buffer.from(await collected(await provider.output(reference, 0, STUDIO, WANTED)));
    expect(bytes.subarray(1, 4).toString()).to.equal('PNG');
  });

  it('give outputs in base64 also where the result has a path of its own', async () => {
    const settings = { ...STUDIO, result: { path: '/jobs/{id}' } };
    const submission = task({ settings, parameters: { n: 2 } });
    const reference = await submitted(provider, submission);
    const last = (await reportsUntilOver(provider, reference, submission)).at(-1);
    expect(last).to.have.property('outputs').with.lengthOf(2);
    const bytes = Buffer.from(await collected(await provider.output(reference, 1, settings, WANTED)));
    expect(bytes.subarray(1, 4).toString()).to.equal('PNG');
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
      return String(await thrown(provider.poll(reference, STUDIO, WANTED)));
    };
    for (const state of [undefined, null, '', {}, ['done']])
      expect(await said({ number: 1_000, state })).to.include('The answer has no state at poll.state.');
    expect(await said({ number: 2, state: 'done' })).to.include('is not about the task');
    expect(await said({ number: 2, state: 'paused' })).to.include('is not about the task');
  });

  it('name a task only by an id of the pattern', async () => {
    for (const number of ['..', '.', '1/2', '-1', 1.5, -7, '', null, {}, 'x'.repeat(300)]) {
      plan('submit', 201, { job: { number } });
      expect(
        await thrown(provider.submit(task({ settings: STUDIO }), WANTED)),
        JSON.stringify(number),
      ).to.be.instanceOf(Error);
    }
    const loose = { ...STUDIO, submit: { ...(STUDIO['submit'] as JsonObject), id_pattern: '.*' } };
    for (const number of ['..', '.', 'a b', 'ä'])
      expect(await provider.poll(number, loose, WANTED)).to.deep.equal({ state: 'unknown' });
    expect(fake.server.requests.filter(({ of }) => of.includes('poll'))).to.have.length(0);
    await provider.poll('a/b?c#d', loose, WANTED).catch(() => undefined);
    expect(fake.server.requests.at(-1)?.path).to.equal('/api/jobs/a%2Fb%3Fc%23d');
  });

  it('leave open what was seen before, and refuse what the vendor promises to have refused', async () => {
    const error = (kind: string) => ({ error: { kind, reason: 'A long reason of the vendor' } });
    plan('submit', 422, error('key_reused'));
    expect(await thrown(provider.submit(task({ settings: STUDIO }), WANTED))).to.be.instanceOf(Error);
    plan('submit', 503, error('other'));
    expect(await thrown(provider.submit(task({ settings: STUDIO }), WANTED))).to.be.instanceOf(Error);
    plan('submit', 503, error('busy'));
    expect(await thrown(provider.submit(task({ settings: STUDIO }), WANTED))).to.be.instanceOf(Error);
    plan('submit', 503, error('closed'));
    expect(await provider.submit(task({ settings: STUDIO }), WANTED)).to.include({ because: 'capacity' });
  });

  it('refuse a task in a success only where the settings say so, by a listed code', async () => {
    const says = { ...STUDIO, submit: { ...(STUDIO['submit'] as JsonObject), error_in_success: true } };
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
    expect(await provider.recover(token, STUDIO, WANTED)).to.deep.equal({ found: false });
    // A server that does not know the query answers with every task.
    plan('recover', 200, { jobs: [{ number: 1_000, external_id: randomUUID() }] });
    expect(await thrown(provider.recover(token, STUDIO, WANTED))).to.be.instanceOf(Error);
    plan('recover', 200, { jobs: 0 });
    expect(await thrown(provider.recover(token, STUDIO, WANTED))).to.be.instanceOf(Error);
    plan('recover', 404, { error: { kind: 'no_route' } });
    expect(await thrown(provider.recover(token, STUDIO, WANTED))).to.be.instanceOf(Error);
    const byPath = {
      ...STUDIO,
      recover: { path: '/jobs?external_id={token}', id: '/number', token: '/external_id', missing_status: [404] },
    };
    plan('recover', 404, { message: 'no Route matched with those values' });
    expect(await thrown(provider.recover(token, byPath, WANTED))).to.be.instanceOf(Error);
    plan('recover', 404, { error: { kind: 'no_job' } });
    expect(await provider.recover(token, byPath, WANTED)).to.deep.equal({ found: false });
    plan('recover', 200, { number: 7, external_id: token });
    expect(await provider.recover(token, byPath, WANTED)).to.deep.equal({ found: true, reference: '7' });
    expect(fake.server.posts).to.equal(1);
  });

  it('fail a task for good where its outputs are not at output.at', async () => {
    const settings = { ...STUDIO, output: { media_type: 'image/png', at: '/job/images/*/url' } };
    const submission = task({ settings });
    const reference = await submitted(provider, submission);
    const last = (await reportsUntilOver(provider, reference, submission)).at(-1);
    expect(last).to.have.nested.property('failure.mayRetry', false);
    expect(logged()).to.include('no outputs at output.at');
  });

  it('give the key for outputs of their own server only where the settings say so', async () => {
    fake.further['files'] = [`${fake.base}/about`];
    const fetched = async (sendsKey: boolean) => {
      const settings = { ...STUDIO, output: { media_type: 'image/png', at: '/job/files/*', sends_key: sendsKey } };
      const submission = task({ settings, token: randomUUID() });
      const reference = await submitted(provider, submission);
      await reportsUntilOver(provider, reference, submission);
      // What is fetched is no picture, which is as good for this.
      await thrown(provider.output(reference, 0, settings, WANTED));
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
      expect(await thrown(provider.submit(task({ settings: FAL }), WANTED))).to.be.instanceOf(Error);
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
      expect(await thrown(provider.poll(JSON.stringify({ id, poll }), FAL, WANTED))).to.be.instanceOf(Error);
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
      fake.server.plan({ type: 'status', status, headers: JSON_TYPE, body: JSON.stringify(body) }, result);
      expect(await thrown(provider.poll(reference, FAL, WANTED)), String(status)).to.be.instanceOf(Error);
    }
    expect(await provider.poll(reference, FAL, WANTED)).to.have.property('state', 'succeeded');
    const failing = { error_type: 'runner_scheduling_failure' };
    fake.server.plan({ type: 'status', status: 504, headers: JSON_TYPE, body: JSON.stringify(failing) }, result);
    expect(await provider.poll(reference, FAL, WANTED)).to.have.nested.property('failure.code', 'PROVIDER_UNAVAILABLE');
  });
});
