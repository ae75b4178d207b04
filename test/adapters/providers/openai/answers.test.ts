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
import { submitted, WANTED } from '../../../contracts/provider.contract.js';
import { collected } from '../../../fixtures/byte-streams.js';
import { closedAfterEach } from '../../../fixtures/opened.js';
import { type FakeAnswer, type FakeRoute, FakeServer } from '../../../providers/fakes/fake-server.js';
import { OpenAiFake, type OpenAiVendor } from '../../../providers/fakes/openai-fake.js';
import { jsonFault } from '../../../providers/fakes/faults.js';
import { closeAnswers, failureOf, outputsOf } from '../vendor-subject.js';
import { IMAGES, openAiAt, task, video, VIDEOS } from './opened-openai.js';

const nextTurn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));
const PNG_START = '89504e47';

describe('answers of servers with the API of OpenAI', () => {
  const kept = closedAfterEach();
  afterEach(closeAnswers);

  async function open(vendor: OpenAiVendor = 'openai'): Promise<{ fake: OpenAiFake; provider: OpenAiProvider }> {
    const fake = kept(await OpenAiFake.open(vendor));
    const provider = kept(openAiAt(fake.base));
    return { fake, provider };
  }
  /** A server that answers each submission so. */
  async function answering(answer: FakeAnswer): Promise<OpenAiProvider> {
    const server = kept(await FakeServer.open([{ method: 'POST', path: '/images/generations', handle: () => answer }]));
    return kept(openAiAt(server.url));
  }
  /** A server with these routes for its tasks, below the path of the API. */
  async function serving(routes: readonly FakeRoute[]): Promise<OpenAiProvider> {
    const server = kept(await FakeServer.open(routes.map((route) => ({ ...route, path: `/v1${route.path}` }))));
    return kept(openAiAt(`${server.url}/v1`, { api_key: 'sk-test' }));
  }
  const json = (value: unknown): FakeAnswer => ({ json: value });
  const base64 = (text: string) => Buffer.from(text).toString('base64');
  const picture = (text: string) => ({ b64_json: base64(text) });
  const expectFailure = async (work: Promise<unknown>, about = '') =>
    expect(await failureOf(work), about).to.be.instanceOf(Error);

  it('have each picture in whichever member is not empty', async () => {
    const data = `data:image/png;base64,${base64('data')}`;
    const url = '/v1/images/0/content';
    const b64_json = base64('base64');
    for (const [entry, expected] of [
      [{ b64_json: '', url }, 'fetched'],
      [{ b64_json: null, url }, 'fetched'],
      [{ url, b64_json: '' }, 'fetched'],
      [{ url: '', b64_json }, 'base64'],
      [{ url: null, b64_json }, 'base64'],
      [{ b64_json, url: 'https://elsewhere.example/x.png' }, 'base64'],
      [{ b64_json: 'None', url }, 'fetched'],
      [{ b64_json: 'null', url }, 'fetched'],
      [{ url: data }, 'data'],
      [{ url: data, b64_json: '' }, 'data'],
      [{ b64_json: data }, 'data'],
      [{ b64_json: 'ORIGIN/v1/images/0/content' }, 'fetched'],
      [{ url: { url } }, 'fetched'],
      [{ b64_json: 'b-_-\r\nb_8' }, Buffer.from('b+/+b/8=', 'base64').toString('latin1')],
    ] as const) {
      const provider = await serving([
        {
          method: 'POST',
          path: '/images/generations',
          handle: ({ headers }) =>
            json({ data: [null, JSON.parse(JSON.stringify(entry).replace('ORIGIN', `http://${headers.host}`))] }),
        },
        // A result that begins like a text would be refused, so this one begins with a zero byte.
        { method: 'GET', path: '/images/0/content', handle: () => ({ body: '\u0000fetched' }) },
      ]);
      const outputs = await outputsOf(provider.submit(task({ outputCount: 4 }), WANTED));
      expect(outputs, JSON.stringify(entry)).to.have.length(1);
      const bytes = Buffer.from(await collected(outputs[0]!.bytes)).toString('latin1');
      expect(bytes.replace('\0', ''), JSON.stringify(entry)).to.equal(expected);
    }
  });

  it('give the pictures of a list, of one object or of a list of another name in their order, each once', async () => {
    const [one, two] = [picture('one'), picture('two')];
    for (const [body, expected] of [
      [{ data: [one, {}, { b64_json: null }, two] }, ['one', 'two']],
      [{ data: one }, ['one']],
      [{ images: [one, two] }, ['one', 'two']],
      [{ data: null, images: [null, two] }, ['two']],
      [{ data: [one], images: [two] }, ['one']],
    ] as const) {
      const provider = await answering(json(body));
      const texts = [];
      for (const { bytes } of await outputsOf(provider.submit(task({ outputCount: 4 }), WANTED)))
        texts.push(Buffer.from(await collected(bytes)).toString());
      expect(texts, JSON.stringify(body)).to.deep.equal(expected);
    }
  });

  it('with an error in place of pictures are refusals where the error is certain, and of unknown outcome otherwise', async () => {
    const settings = { preset: 'vllm-omni' };
    const error = (members: object) => ({ error: { message: 'Words of the server.', ...members } });
    const xai = {
      code: 'Client specified an invalid argument',
      error: 'Generated image rejected by content moderation.',
    };
    for (const [body, paid, own = paid] of [
      [error({ code: 'moderation_blocked' }), 'CONTENT_REJECTED_INPUT'],
      [{ data: [], ...error({ code: 'content_filter' }) }, 'CONTENT_REJECTED_INPUT'],
      [{ data: [error({ code: 'moderation_blocked' })] }, 'CONTENT_REJECTED_INPUT'],
      [{ data: [{ b64_json: '', respect_moderation: false }] }, 'CONTENT_REJECTED_OUTPUT'],
      [xai, 'CONTENT_REJECTED_OUTPUT'],
      [error({ code: 'insufficient_quota' }), 'PROVIDER_REJECTED'],
      [error({ code: 'rate_limit_exceeded' }), 'PROVIDER_UNAVAILABLE'],
      [error({ code: 'model_not_found' }), 'MODEL_UNAVAILABLE'],
      [error({ type: 'image_generation_user_error', code: 'x' }), 'INPUT_INVALID'],
      [error({ code: 422 }), 'INPUT_INVALID'],
      [error({ code: 'server_error' }), 'unknown', 'INTERNAL_ERROR'],
      [error({ code: 408 }), 'unknown', 'INTERNAL_ERROR'],
      [{ detail: 'x' }, 'unknown', 'INTERNAL_ERROR'],
      [{ created: 1 }, 'unknown'],
    ] as const)
      for (const [expected, wish] of [
        [paid, {}],
        [own, { settings }],
      ] as const) {
        const answer = await (await answering(json(body))).submit(task(wish), WANTED).catch(() => undefined);
        const seen = answer === undefined ? 'unknown' : answer.accepted ? 'accepted' : answer.failure.code;
        expect(seen, JSON.stringify(body)).to.equal(expected);
      }
  });

  it('may begin with headers and spaces long before the pictures, whatever pauses of a connection are', async () => {
    const { fake } = await open();
    const provider = kept(openAiAt(fake.base, { idle_timeout_seconds: 0.05, answer_timeout_seconds: 0.05 }));
    const planned = fake.server.plan({ type: 'early-headers' }, { of: 'submit' });
    const work = outputsOf(provider.submit(task(), WANTED));
    await planned.met;
    await sleep(300);
    await planned.release();
    expect(await work).to.have.length(2);
  });

  it('with addresses are fetched through three redirects, and the key goes to the first origin only', async () => {
    const seen: unknown[] = [];
    const provider = await serving([
      {
        method: 'GET',
        path: '/images/:id/content',
        handle: ({ headers, path }) => {
          seen.push(headers.authorization);
          const hop = Number(path.split('/')[3]);
          if (hop < 3) return { status: 302, headers: { location: `/v1/images/${hop + 1}/content` } };
          return { headers: { 'content-type': 'image/png' }, body: '\u0000PNG' };
        },
      },
      { method: 'POST', path: '/images/generations', handle: () => json({ data: [{ url: '/v1/images/0/content' }] }) },
    ]);
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
    const webp = { ...IMAGES, fields: { output_format: { value: 'webp' } } };
    for (const [answer, wish, mediaType] of [
      [{ data: [picture('x')], output_format: 'webp' }, {}, 'image/webp'],
      [{ data: [{ b64_json: `data:image/jpeg;base64,${base64('x')}` }] }, {}, 'image/jpeg'],
      [{ data: [picture('x')] }, {}, 'image/png'],
      [{ data: [picture('x')] }, { parameters: { output_format: 'jpeg' } }, 'image/jpeg'],
      [{ data: [picture('x')] }, { settings: webp }, 'image/webp'],
    ] as const) {
      const [output] = await outputsOf((await answering(json(answer))).submit(task(wish), WANTED));
      expect(output?.mediaType).to.equal(mediaType);
    }
  });

  const invalid: Record<string, FakeAnswer> = {
    'a list of something else': json({ data: { 0: { b64_json: 'eA==' } } }),
    'invalid base64': json({ data: [{ b64_json: '*' }] }),
    'JSON that is cut off': { body: '{"data":[{"b64_json":"eA=="}' },
    'a picture that is too large': json({ data: [{ b64_json: Buffer.alloc(5 * 1024 * 1024).toString('base64') }] }),
  };
  for (const [what, answer] of Object.entries(invalid))
    it(`of unknown outcome are those with ${what}`, async () => {
      await expectFailure((await answering(answer)).submit(task(), WANTED));
    });

  it('free their pictures when they are closed, when the task is aborted, and when nobody reads', async () => {
    const { provider } = await open();
    const answer = await provider.submit(task(), WANTED);
    if (!('outputs' in answer)) throw new Error('The answer has no outputs.');
    const [first, second] = answer.outputs;
    for (const { bytes } of [second!, first!, second!])
      expect(Buffer.from(await collected(bytes)).toString('hex', 0, 4)).to.equal(PNG_START);
    answer.close?.();
    expect(await failureOf(collected(first!.bytes))).to.have.property('message', 'The outputs are no longer kept.');

    const [late] = await outputsOf(provider.submit(task({ timeLeftMs: 1_000 }), WANTED));
    while (!((await failureOf(collected(late!.bytes))) instanceof Error)) await nextTurn();

    const abort = new AbortController();
    const [left] = await outputsOf(provider.submit(task(), abort));
    abort.abort(new Error('It is over.'));
    expect(await failureOf(collected(left!.bytes))).to.have.property('message', 'It is over.');
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
    const fake = kept(await OpenAiFake.open('sglang', 'sk-1'));
    const provider = kept(openAiAt(fake.base, { api_key: 'sk-1' }));
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
      expect(await failureOf(collected(output!.bytes)), address)
        .to.have.property('message')
        .that.matches(/^An address in the answer/);
    }
  });

  it('of 5xx leave the outcome open at a paid service, and end the task on a server of one’s own', async () => {
    const { fake, provider } = await open();
    const error = { error: { message: 'x' } };
    const outcome = async (settings: JsonObject, status: number, body: unknown) => {
      fake.server.plan(jsonFault(status, body));
      return provider.submit(task({ settings }), WANTED).catch(() => 'unknown');
    };
    const own: JsonObject = { ...IMAGES, server_errors: 'final', paid: false };
    for (const status of [500, 502, 503]) expect(await outcome(IMAGES, status, error)).to.equal('unknown');
    expect(await outcome(own, 500, error)).to.have.nested.property('failure.code', 'INTERNAL_ERROR');
    expect(await outcome(own, 503, { detail: 'not ready' })).to.include({ accepted: false, because: 'capacity' });
    for (const status of [502, 504]) expect(await outcome(own, status, error)).to.equal('unknown');
    expect(await outcome(own, 500, 'text')).to.equal('unknown');
  });

  it('about jobs may have the ids of a gateway, and another id than was asked for ends no task', async () => {
    const id = `video_${Buffer.from(`litellm:custom_llm_provider:vertex_ai;model_id:veo;video_id:${'x'.repeat(301)}`).toString('base64')}`;
    let named = id;
    let polled: object = {};
    const paths: string[] = [];
    const provider = await serving([
      { method: 'POST', path: '/videos', of: 'submit', handle: () => json({ id: named, status: 'queued' }) },
      {
        method: 'GET',
        path: '/*',
        handle: ({ path }) => {
          paths.push(path);
          return json(polled);
        },
      },
    ]);
    expect(id).to.match(/=$/);
    expect(await provider.submit(video(), WANTED)).to.deep.equal({ accepted: true, reference: id });
    for (const [shown, status, state] of [
      [id, 'in_progress', 'running'],
      ['projects/p/operations/1', 'in_progress', 'running'],
      ['video_of_the_vendor', 'completed', 'succeeded'],
      ['video_of_the_vendor', 'failed', 'no report'],
      ['video_of_the_vendor', 'cancelled', 'no report'],
      [id, 'failed', 'failed'],
    ] as const) {
      polled = { id: shown, status };
      const report = await provider.poll(id, video().settings, WANTED).catch(() => ({ state: 'no report' }));
      expect(report.state, `${shown} ${status}`).to.equal(state);
    }
    expect(paths[0]).to.equal(`/v1/videos/${encodeURIComponent(id)}`);
    for (const wrong of ['.', '..', '', 'a b', 'a\n', 'ä', 'x'.repeat(1_001)]) {
      named = wrong;
      await expectFailure(provider.submit(video(), WANTED), JSON.stringify(wrong));
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
      const handle = () => json({ ...job, ...members });
      const provider = await serving([{ method: 'GET', path: '/videos/:id', handle }]);
      const report = await provider.poll('video_1', video().settings, WANTED);
      expect(report, JSON.stringify(members)).to.have.nested.property('failure.code', code);
    }
  });

  /** A job of vLLM-Omni, and a way to poll it. */
  async function startedJob(wish: Partial<Submission> = {}) {
    const { fake, provider } = await open('vllm-omni');
    const reference = await submitted(provider, video(wish));
    return { fake, provider, reference, poll: () => provider.poll(reference, VIDEOS, WANTED) };
  }

  it('about jobs say the state, the share that is done and when to ask again', async () => {
    const { poll } = await startedJob();
    expect(await poll()).to.deep.equal({ state: 'running', progress: 0.4, pollAfterMs: 250 });
    expect(await poll()).to.deep.equal({
      state: 'succeeded',
      outputs: [{ kind: 'video', mediaType: 'video/mp4' }],
      cost: { computeMs: 12_346 },
    });
  });

  it('to a cancel of a finished job are not asked for: a deletion would take its video', async () => {
    const { fake, provider, reference, poll } = await startedJob();
    for (let times = 0; times < 2; times += 1) await poll();
    await provider.cancel(reference, VIDEOS, WANTED);
    expect(fake.server.requests.filter(({ method }) => method === 'DELETE')).to.deep.equal([]);
    await collected(await provider.output(reference, 0, VIDEOS, WANTED));
  });

  it('to a cancel in progress are not failures', async () => {
    const { provider, reference, poll } = await startedJob({ prompt: 'stubborn' });
    await provider.cancel(reference, VIDEOS, WANTED);
    expect(await poll()).to.have.property('state', 'running');
  });

  it('name models that are not there', async () => {
    const { fake, provider } = await open();
    expect(await provider.check([IMAGES, { model: 'sora' }], WANTED)).to.deep.equal({
      faults: [`${fake.base} has no model sora.`],
    });
  });
});
