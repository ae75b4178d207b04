/*
 * Goal: pictures are taken from answers of every form that servers give, in bounded memory and freed; and jobs are stopped only as
 * the server can.
 * Method: the fakes, and answers written by hand where a server would have to misbehave.
 */
import { expect } from 'chai';
import { getEventListeners } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import type { OpenAiProvider } from '../../../../adapters/providers/openai/openai-provider.js';
import type { JsonObject } from '../../../../core/json.js';
import type { Submission } from '../../../../core/ports/provider.js';
import { WANTED } from '../../../contracts/provider.contract.js';
import { collected } from '../../../fixtures/byte-streams.js';
import { type FakeAnswer, FakeServer } from '../../../providers/fakes/fake-server.js';
import { OpenAiFake, type OpenAiVendor } from '../../../providers/fakes/openai-fake.js';
import { closeAnswers, outputsOf } from '../vendor-subject.js';
import { IMAGES, openAiAt, task, video } from './opened-openai.js';

const PNG_START = '89504e47';

describe('answers of servers with the API of OpenAI', () => {
  const opened: { close(): Promise<unknown> }[] = [];
  afterEach(() => Promise.all(opened.splice(0).map((one) => one.close())));
  afterEach(closeAnswers);

  async function open(vendor: OpenAiVendor = 'openai'): Promise<{ fake: OpenAiFake; provider: OpenAiProvider }> {
    const fake = await OpenAiFake.open(vendor);
    const provider = openAiAt(fake.base);
    opened.push(provider, fake);
    return { fake, provider };
  }
  /** A server that answers each submission so. */
  async function answering(answer: FakeAnswer): Promise<OpenAiProvider> {
    const server = await FakeServer.open([{ method: 'POST', path: '/images/generations', handle: () => answer }]);
    const provider = openAiAt(server.url);
    opened.push(provider, server);
    return provider;
  }
  const json = (value: unknown): FakeAnswer => ({ json: value });
  const failureOf = (work: Promise<unknown>) =>
    work.then(
      () => undefined,
      (error: unknown) => error as Error,
    );

  it('with base64 give the pictures in their order, each once', async () => {
    const picture = (bytes: string) => ({ b64_json: Buffer.from(bytes).toString('base64') });
    const provider = await answering(json({ data: [picture('one'), {}, { b64_json: null }, picture('two')] }));
    const outputs = await outputsOf(provider.submit(task(), WANTED));
    const texts = [];
    for (const { bytes } of outputs) texts.push(Buffer.from(await collected(bytes)).toString());
    expect(texts).to.deep.equal(['one', 'two']);
  });

  it('have each picture in whichever member is not empty', async () => {
    const { fake, provider: _ } = await open();
    const url = `${fake.base}/images/0/content`;
    const b64_json = Buffer.from('base64').toString('base64');
    const fetched = Buffer.from(fake.images.picture).toString('latin1');
    const data = `data:image/png;base64,${Buffer.from('data').toString('base64')}`;
    for (const [entry, expected] of [
      [{ b64_json: '', url }, fetched],
      [{ b64_json: null, url }, fetched],
      [{ url, b64_json: '' }, fetched],
      [{ url: '', b64_json }, 'base64'],
      [{ url: null, b64_json }, 'base64'],
      [{ b64_json, url: 'https://elsewhere.example/x.png' }, 'base64'],
      [{ b64_json: 'None', url }, fetched],
      [{ b64_json: 'null', url }, fetched],
      [{ url: data }, 'data'],
      [{ url: data, b64_json: '' }, 'data'],
      [{ b64_json: data }, 'data'],
      [{ b64_json: url }, fetched],
      [{ url: { url } }, fetched],
      [{ b64_json: 'b-_-\r\nb_8' }, Buffer.from('b+/+b/8=', 'base64').toString('latin1')],
    ] as const) {
      const server = await FakeServer.open([
        { method: 'POST', path: '/v1/images/generations', handle: () => json({ data: [null, entry] }) },
        { method: 'GET', path: '/v1/images/0/content', handle: () => fake.images.content() },
      ]);
      const provider = openAiAt(`${server.url}/v1`);
      opened.push(provider, server);
      const moved = JSON.parse(JSON.stringify(entry).replaceAll(fake.server.url, server.url)) as object;
      server.plan({ type: 'altered', alter: () => json({ data: [null, moved] }) }, { method: 'POST' });
      const outputs = await outputsOf(provider.submit(task({ outputCount: 4 }), WANTED));
      expect(outputs, JSON.stringify(entry)).to.have.length(1);
      expect(Buffer.from(await collected(outputs[0]!.bytes)).toString('latin1'), JSON.stringify(entry)).to.equal(
        expected,
      );
    }
  });

  it('may have one object in the place of the list, or a list of another name', async () => {
    const [one, two] = ['one', 'two'].map((text) => ({ b64_json: Buffer.from(text).toString('base64') }));
    for (const [body, expected] of [
      [{ data: one }, ['one']],
      [{ images: [one, two] }, ['one', 'two']],
      [{ data: null, images: [null, two] }, ['two']],
      [{ data: [one], images: [two] }, ['one']],
    ] as const) {
      const provider = await answering(json(body));
      const outputs = await outputsOf(provider.submit(task({ outputCount: 4 }), WANTED));
      const texts = [];
      for (const { bytes } of outputs) texts.push(Buffer.from(await collected(bytes)).toString());
      expect(texts, JSON.stringify(body)).to.deep.equal(expected);
    }
  });

  it('with an error in place of pictures are refusals where the error is certain, and of unknown outcome otherwise', async () => {
    const settings = { preset: 'vllm-omni' };
    const error = (members: object) => ({ error: { message: 'Words of the server.', ...members } });
    for (const [body, paid, own] of [
      [error({ code: 'moderation_blocked' }), 'CONTENT_REJECTED_INPUT', 'CONTENT_REJECTED_INPUT'],
      [{ data: [], ...error({ code: 'content_filter' }) }, 'CONTENT_REJECTED_INPUT', 'CONTENT_REJECTED_INPUT'],
      [{ data: [error({ code: 'moderation_blocked' })] }, 'CONTENT_REJECTED_INPUT', 'CONTENT_REJECTED_INPUT'],
      [{ data: [{ b64_json: '', respect_moderation: false }] }, 'CONTENT_REJECTED_OUTPUT', 'CONTENT_REJECTED_OUTPUT'],
      [
        { code: 'Client specified an invalid argument', error: 'Generated image rejected by content moderation.' },
        'CONTENT_REJECTED_OUTPUT',
        'CONTENT_REJECTED_OUTPUT',
      ],
      [error({ code: 'insufficient_quota' }), 'PROVIDER_REJECTED', 'PROVIDER_REJECTED'],
      [error({ code: 'rate_limit_exceeded' }), 'PROVIDER_UNAVAILABLE', 'PROVIDER_UNAVAILABLE'],
      [error({ code: 'model_not_found' }), 'MODEL_UNAVAILABLE', 'MODEL_UNAVAILABLE'],
      [error({ type: 'image_generation_user_error', code: 'x' }), 'INPUT_INVALID', 'INPUT_INVALID'],
      [error({ code: 422 }), 'INPUT_INVALID', 'INPUT_INVALID'],
      [error({ code: 'server_error' }), 'unknown', 'INTERNAL_ERROR'],
      [error({ code: 408 }), 'unknown', 'INTERNAL_ERROR'],
      [{ detail: 'x' }, 'unknown', 'INTERNAL_ERROR'],
      [{ created: 1 }, 'unknown', 'unknown'],
    ] as const)
      for (const [expected, wish] of [
        [paid, {}],
        [own, { settings }],
      ] as const) {
        const provider = await answering(json(body));
        const answer = await provider.submit(task(wish), WANTED).catch(() => undefined);
        const seen = answer === undefined ? 'unknown' : answer.accepted ? 'accepted' : answer.failure.code;
        expect(seen, JSON.stringify(body)).to.equal(expected);
      }
  });

  it('may begin with headers and spaces long before the pictures, whatever pauses of a connection are', async () => {
    const { fake } = await open();
    const provider = openAiAt(fake.base, { idle_timeout_seconds: 0.05, answer_timeout_seconds: 0.05 });
    opened.push(provider);
    const planned = fake.server.plan({ type: 'early-headers' }, { of: 'submit' });
    const work = outputsOf(provider.submit(task(), WANTED));
    await planned.met;
    await sleep(300);
    await planned.release();
    expect(await work).to.have.length(2);
  });

  it('with addresses are fetched through three redirects, and the key goes to the first origin only', async () => {
    const seen: unknown[] = [];
    const server = await FakeServer.open([
      {
        method: 'GET',
        path: '/v1/images/:id/content',
        handle: ({ headers, path }) => {
          seen.push(headers.authorization);
          const hop = Number(path.split('/')[3]);
          if (hop < 3) return { status: 302, headers: { location: `/v1/images/${hop + 1}/content` } };
          return { headers: { 'content-type': 'image/png' }, body: '\u0000PNG' };
        },
      },
      {
        method: 'POST',
        path: '/v1/images/generations',
        handle: () => json({ data: [{ url: '/v1/images/0/content' }] }),
      },
    ]);
    const provider = openAiAt(`${server.url}/v1`, { api_key: 'sk-test' });
    opened.push(provider, server);
    const [output] = await outputsOf(provider.submit(task(), WANTED));
    expect(Buffer.from(await collected(output!.bytes)).toString()).to.equal('\u0000PNG');
    expect(seen).to.deep.equal(Array(4).fill('Bearer sk-test'));
  });

  it('have no more pictures than were paid for', async () => {
    const { provider } = await open();
    expect(await outputsOf(provider.submit(task({ parameters: { n: 4 }, outputCount: 2 }), WANTED))).to.have.length(2);
    expect(await outputsOf(provider.submit(task({ prompt: 'nothing' }), WANTED))).to.have.length(0);
  });

  it('say the format by what the answer says, the file declares or the task asked for', async () => {
    const b64 = Buffer.from('x').toString('base64');
    const typeOf = async (answer: object, wish: Partial<Submission> = {}) =>
      (await outputsOf((await answering(json(answer))).submit(task(wish), WANTED)))[0]?.mediaType;
    expect(await typeOf({ data: [{ b64_json: b64 }], output_format: 'webp' })).to.equal('image/webp');
    expect(await typeOf({ data: [{ b64_json: `data:image/jpeg;base64,${b64}` }] })).to.equal('image/jpeg');
    expect(await typeOf({ data: [{ b64_json: b64 }] })).to.equal('image/png');
    expect(await typeOf({ data: [{ b64_json: b64 }] }, { parameters: { output_format: 'jpeg' } })).to.equal(
      'image/jpeg',
    );
    const settings = { ...IMAGES, fields: { output_format: { value: 'webp' } } };
    expect(await typeOf({ data: [{ b64_json: b64 }] }, { settings })).to.equal('image/webp');
  });

  const invalid: Record<string, FakeAnswer> = {
    'no list': json({ created: 1 }),
    'a list of something else': json({ data: { 0: { b64_json: 'eA==' } } }),
    'invalid base64': json({ data: [{ b64_json: '*' }] }),
    'JSON that is cut off': { headers: { 'content-type': 'application/json' }, body: '{"data":[{"b64_json":"eA=="}' },
    'a picture that is too large': json({ data: [{ b64_json: Buffer.alloc(5 * 1024 * 1024).toString('base64') }] }),
    'HTML': { headers: { 'content-type': 'text/html' }, body: '<html></html>' },
  };
  for (const [what, answer] of Object.entries(invalid)) {
    it(`of unknown outcome are those with ${what}`, async () => {
      const provider = await answering(answer);
      expect(await failureOf(provider.submit(task(), WANTED))).to.be.instanceOf(Error);
    });
  }

  it('free their pictures when they are closed, when the task is aborted, and when nobody reads', async () => {
    const { provider } = await open();
    const answer = await provider.submit(task(), WANTED);
    if (!('outputs' in answer)) throw new Error('The answer has no outputs.');
    const [first, second] = answer.outputs;
    for (const { bytes } of [second!, first!, second!])
      expect(Buffer.from(await collected(bytes)).toString('hex', 0, 4)).to.equal(PNG_START);
    answer.close?.();
    expect((await failureOf(collected(first!.bytes)))?.message).to.equal('The outputs are no longer kept.');

    const [late] = await outputsOf(provider.submit(task({ timeLeftMs: 1_000 }), WANTED));
    while ((await failureOf(collected(late!.bytes))) === undefined) continue;

    const abort = new AbortController();
    const [left] = await outputsOf(provider.submit(task(), abort));
    abort.abort(new Error('It is over.'));
    expect((await failureOf(collected(left!.bytes)))?.message).to.equal('It is over.');
  });

  it('listen to the signal of their call until they are closed, and no longer', async () => {
    const { provider } = await open();
    const { signal } = new AbortController();
    const answer = await provider.submit(task(), { signal });
    if (!('outputs' in answer)) throw new Error('The answer has no outputs.');
    for (const { bytes } of answer.outputs) await collected(bytes);
    expect(getEventListeners(signal, 'abort')).to.have.length(1);
    answer.close?.();
    expect(getEventListeners(signal, 'abort')).to.have.length(0);
  });

  it('with addresses are fetched from the server itself with its key', async () => {
    const fake = await OpenAiFake.open('sglang', 'sk-1');
    const provider = openAiAt(fake.base, { api_key: 'sk-1' });
    opened.push(provider, fake);
    const settings = { preset: 'sglang', response_format: 'url' };
    for (const address of [undefined, '/v1/images/7/content']) {
      fake.images.address = address;
      const outputs = await outputsOf(provider.submit(task({ settings, prompt: 'by address' }), WANTED));
      // The second time it is fetched again.
      for (const { bytes } of [...outputs, ...outputs])
        expect(Buffer.from(await collected(bytes)).toString('hex', 0, 4)).to.equal(PNG_START);
    }
  });

  it('with addresses are fetched from no other host that is not listed', async () => {
    const { fake, provider } = await open('sglang');
    const settings = { preset: 'sglang', response_format: 'url', result_hosts: ['.example.com'] };
    for (const address of [
      'https://evilexample.com/x.png',
      'http://cdn.example.com/x.png',
      'https://169.254.169.254/x',
      'file:///etc/passwd',
      'https://user:word@cdn.example.com/x.png',
    ]) {
      fake.images.address = address;
      const [output] = await outputsOf(provider.submit(task({ settings, prompt: 'by address' }), WANTED));
      expect((await failureOf(collected(output!.bytes)))?.message, address).to.match(/^An address in the answer/);
    }
  });

  it('of 5xx leave the outcome open at a paid service, and end the task on a server of one’s own', async () => {
    const { fake, provider } = await open();
    const broken = (status: number, body = '{"error":{"message":"x"}}') =>
      fake.server.plan({ type: 'status', status, headers: { 'content-type': 'application/json' }, body });
    const own: JsonObject = { ...IMAGES, server_errors: 'final', paid: false };
    for (const status of [500, 502, 503]) {
      broken(status);
      expect(await failureOf(provider.submit(task(), WANTED))).to.be.instanceOf(Error);
    }
    broken(500);
    expect(await provider.submit(task({ settings: own }), WANTED)).to.have.nested.property(
      'failure.code',
      'INTERNAL_ERROR',
    );
    broken(503, '{"detail":"not ready"}');
    expect(await provider.submit(task({ settings: own }), WANTED)).to.include({ accepted: false, because: 'capacity' });
    for (const status of [502, 504]) {
      broken(status);
      expect(await failureOf(provider.submit(task({ settings: own }), WANTED))).to.be.instanceOf(Error);
    }
    broken(500, '"text"');
    expect(await failureOf(provider.submit(task({ settings: own }), WANTED))).to.be.instanceOf(Error);
  });

  it('about jobs may have the ids of a gateway, and another id than was asked for ends no task', async () => {
    const id = `video_${Buffer.from(`litellm:custom_llm_provider:vertex_ai;model_id:veo;video_id:${'x'.repeat(301)}`).toString('base64')}`;
    let submitted = id;
    let polled: object = {};
    const paths: string[] = [];
    const server = await FakeServer.open([
      { method: 'POST', path: '/v1/videos', of: 'submit', handle: () => json({ id: submitted, status: 'queued' }) },
      {
        method: 'GET',
        path: '/*',
        handle: ({ path }) => {
          paths.push(path);
          return json(polled);
        },
      },
    ]);
    const provider = openAiAt(`${server.url}/v1`);
    opened.push(provider, server);
    expect(id).to.match(/=$/);
    expect(await provider.submit(video(), WANTED)).to.deep.equal({ accepted: true, reference: id });
    const states = [];
    for (const members of [
      { id, status: 'in_progress' },
      { id: 'projects/p/operations/1', status: 'in_progress' },
      { id: 'video_of_the_vendor', status: 'completed' },
      { id: 'video_of_the_vendor', status: 'failed' },
      { id: 'video_of_the_vendor', status: 'cancelled' },
      { id, status: 'failed' },
    ]) {
      polled = members;
      states.push(
        await provider.poll(id, video().settings, WANTED).then(
          ({ state }) => state,
          () => 'no report',
        ),
      );
    }
    expect(states).to.deep.equal(['running', 'running', 'succeeded', 'no report', 'no report', 'failed']);
    expect(paths[0]).to.equal(`/v1/videos/${encodeURIComponent(id)}`);
    for (const wrong of ['.', '..', '', 'a b', 'a\n', 'ä', 'x'.repeat(1_001)]) {
      submitted = wrong;
      expect(await failureOf(provider.submit(video(), WANTED)), JSON.stringify(wrong)).to.be.instanceOf(Error);
    }
  });

  it('about failed jobs have the reason beside the status as well, and may repeat the prompt', async () => {
    const job = { id: 'video_1', status: 'FAILURE', prompt: 'a poster about our content policy and its safety system' };
    for (const [members, code] of [
      [{ fail_reason: '内容审核未通过' }, 'CONTENT_REJECTED_OUTPUT'],
      [{ failure_reason: 'The prompt was flagged by our content moderation.' }, 'CONTENT_REJECTED_INPUT'],
      [{ error: { code: 'upstream_error', message: "{'code': 'moderation_blocked'}" } }, 'CONTENT_REJECTED_OUTPUT'],
      [{ fail_reason: `Upstream failed for: ${job.prompt}` }, 'INTERNAL_ERROR'],
      [{ error: null }, 'INTERNAL_ERROR'],
    ] as const) {
      const server = await FakeServer.open([
        { method: 'GET', path: '/v1/videos/:id', handle: () => json({ ...job, ...members }) },
      ]);
      const provider = openAiAt(`${server.url}/v1`);
      opened.push(provider, server);
      const report = await provider.poll('video_1', video().settings, WANTED);
      expect(report, JSON.stringify(members)).to.have.nested.property('failure.code', code);
    }
  });

  it('about jobs say the state, the share that is done and when to ask again', async () => {
    const { provider } = await open('vllm-omni');
    const answer = await provider.submit(video(), WANTED);
    if (!('reference' in answer)) throw new Error('There is no reference.');
    const poll = () => provider.poll(answer.reference, video().settings, WANTED);
    expect(await poll()).to.deep.equal({ state: 'running', progress: 0.4, pollAfterMs: 250 });
    expect(await poll()).to.deep.equal({
      state: 'succeeded',
      outputs: [{ kind: 'video', mediaType: 'video/mp4' }],
      cost: { computeMs: 12_346 },
    });
  });

  it('to a cancel of a finished job are not asked for: a deletion would take its video', async () => {
    const { fake, provider } = await open('vllm-omni');
    const answer = await provider.submit(video(), WANTED);
    if (!('reference' in answer)) throw new Error('There is no reference.');
    const { settings } = video();
    for (let times = 0; times < 2; times += 1) await provider.poll(answer.reference, settings, WANTED);
    await provider.cancel(answer.reference, settings, WANTED);
    expect(fake.server.requests.filter(({ method }) => method === 'DELETE')).to.deep.equal([]);
    await collected(await provider.output(answer.reference, 0, settings, WANTED));
  });

  it('to a cancel in progress are not failures', async () => {
    const { provider } = await open('vllm-omni');
    const answer = await provider.submit(video({ prompt: 'stubborn' }), WANTED);
    if (!('reference' in answer)) throw new Error('There is no reference.');
    await provider.cancel(answer.reference, video().settings, WANTED);
    expect(await provider.poll(answer.reference, video().settings, WANTED)).to.have.property('state', 'running');
  });

  it('name models that are not there', async () => {
    const { fake, provider } = await open();
    expect(await provider.check([IMAGES, { model: 'sora' }], WANTED)).to.deep.equal({
      faults: [`${fake.base} has no model sora.`],
    });
  });
});
