/*
 * Goal: pictures are taken from answers of every form that servers give, in bounded memory and freed; and jobs are stopped only as
 * the server can.
 * Method: the fakes, and answers written by hand where a server would have to misbehave.
 */
import { getEventListeners } from 'node:events';
import { expect } from 'chai';
import type { OpenAiProvider } from '../../../../adapters/providers/openai/openai-provider.js';
import type { JsonObject } from '../../../../core/json.js';
import type { Submission } from '../../../../core/ports/provider.js';
import { WANTED } from '../../../contracts/provider.contract.js';
import { collected } from '../../../fixtures/byte-streams.js';
import type { OpenAiVendor } from '../../../providers/fakes/openai-error.js';
import { OpenAiFake } from '../../../providers/fakes/openai-fake.js';
import { FakeServer, type FakeAnswer } from '../../../providers/fakes/fake-server.js';
import { closeAnswers, outputsOf } from '../sample-task.js';
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

  it('to a cancel that is under way are no failure', async () => {
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
