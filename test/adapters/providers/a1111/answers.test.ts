/*
 * Goal: pictures are taken from the answers that each kind of server gives, as many as were paid for and as what they are; what
 * says that a task has ended is told from what leaves it open.
 * Method: fakes of the servers, and answers written by hand where a server would have to misbehave.
 */
import { expect } from 'chai';
import { gzipSync } from 'node:zlib';
import type { A1111Provider } from '../../../../adapters/providers/a1111/a1111-provider.js';
import { WANTED } from '../../../contracts/provider.contract.js';
import { collected } from '../../../fixtures/byte-streams.js';
import { A1111Fake, type A1111Vendor } from '../../../providers/fakes/a1111-fake.js';
import { FakeServer, type FakeAnswer } from '../../../providers/fakes/fake-server.js';
import { closeAnswers, outputsOf } from '../sample-task.js';
import { a1111At, task } from './opened-a1111.js';

describe('answers of Stable Diffusion web UI', () => {
  const opened: { close(): Promise<unknown> }[] = [];
  afterEach(() => Promise.all(opened.splice(0).map((one) => one.close())));
  afterEach(closeAnswers);

  async function open(vendor: A1111Vendor = 'a1111'): Promise<{ fake: A1111Fake; provider: A1111Provider }> {
    const fake = await A1111Fake.open(vendor);
    const provider = a1111At(fake.url);
    opened.push(provider, fake);
    return { fake, provider };
  }
  /** A server that answers each submission so. */
  async function answering(answer: FakeAnswer): Promise<A1111Provider> {
    const server = await FakeServer.open([{ method: 'POST', path: '/sdapi/v1/txt2img', handle: () => answer }]);
    const provider = a1111At(server.url);
    opened.push(provider, server);
    return provider;
  }
  const base64 = (text: string) => Buffer.from(text).toString('base64');
  const isOpen = (work: Promise<unknown>) =>
    work.then(
      () => false,
      (error: unknown) => error instanceof Error,
    );

  it('have pictures in the format that the options of the server choose', async () => {
    const { fake, provider } = await open();
    for (const [format, mediaType] of [
      ['png', 'image/png'],
      ['jpg', 'image/jpeg'],
      ['webp', 'image/webp'],
      // It cannot be delivered, and core finds that it is no PNG.
      ['tiff', 'image/png'],
    ] as const) {
      fake.samplesFormat = format;
      const [output] = await outputsOf(provider.submit(task(), WANTED));
      expect(output?.mediaType, format).to.equal(mediaType);
      expect((await collected(output!.bytes)).byteLength).to.be.greaterThan(START_BYTES);
    }
  });

  it('have no more pictures than were paid for, in their order, and none that is empty', async () => {
    const { provider } = await open('forge');
    expect(await outputsOf(provider.submit(task({ prompt: 'more', outputCount: 2 }), WANTED))).to.have.length(2);
    const images = [base64('the first picture'), '', base64('the second picture'), base64('another one')];
    const own = await answering({ json: { images, parameters: {}, info: '{}' } });
    const texts = [];
    for (const { bytes } of await outputsOf(own.submit(task({ outputCount: 2 }), WANTED)))
      texts.push(Buffer.from(await collected(bytes)).toString());
    expect(texts).to.deep.equal(['the first picture', 'the second picture']);
  });

  it('are read where they are compressed, also when all pictures are of one colour', async () => {
    const text = JSON.stringify({ images: [base64('\0'.repeat(3_000_000))], parameters: {}, info: '{}' });
    const headers = { 'content-type': 'application/json', 'content-encoding': 'gzip' };
    const provider = await answering({ headers, body: gzipSync(text) });
    const [output] = await outputsOf(provider.submit(task(), WANTED));
    expect((await collected(output!.bytes)).byteLength).to.equal(3_000_000);
  });

  const invalid: Record<string, FakeAnswer> = {
    'no list': { json: { info: '{}' } },
    'none of its pictures sent': { json: { images: null, parameters: {}, info: '{}' } },
    'a picture that is none': { json: { images: [{ url: '/x' }], parameters: {}, info: '{}' } },
    'invalid base64': { json: { images: ['*'], parameters: {}, info: '{}' } },
    'numbers that have no end': { json: { images: [], info: Array(1024 * 1024).fill(1) } },
  };
  for (const [what, answer] of Object.entries(invalid)) {
    it(`of unknown outcome are those with ${what}`, async () => {
      expect(await isOpen((await answering(answer)).submit(task(), WANTED))).to.equal(true);
    });
  }

  it('that report an exception end the task', async () => {
    for (const vendor of ['a1111', 'forge', 'sdnext'] as const) {
      const answer = await (await open(vendor)).provider.submit(task({ prompt: 'nan' }), WANTED);
      expect(answer).to.deep.equal({
        accepted: false,
        failure: { code: 'INTERNAL_ERROR', message: 'The provider had an internal error.', mayRetry: true },
      });
    }
  });

  it('of 5xx that may be those of a proxy leave the task open', async () => {
    const bodies = [
      {},
      'text',
      { detail: 'Upstream timeout' },
      { error: 'x', message: 'y' },
      { error: { message: 'x' }, detail: '', body: '' },
    ];
    for (const json of bodies)
      expect(await isOpen((await answering({ status: 500, json })).submit(task(), WANTED))).to.equal(true);
    const report = { error: 'OutOfMemoryError', detail: '', body: '', errors: 'CUDA out of memory.' };
    for (const status of [502, 503, 504])
      expect(await isOpen((await answering({ status, json: report })).submit(task(), WANTED))).to.equal(true);
  });

  it('are never interrupted: that would stop the task of somebody else', async () => {
    const { fake, provider } = await open();
    const planned = fake.server.plan({ type: 'hang' }, { of: 'submit' });
    const abort = new AbortController();
    const work = isOpen(provider.submit(task(), abort));
    await planned.met;
    abort.abort();
    expect(await work).to.equal(true);
    await planned.left;
    await provider.cancel();
    await fake.server.settled();
    expect(fake.server.requests.map(({ path }) => path)).to.deep.equal(['/sdapi/v1/txt2img']);
  });
});

/** More than the start of a file. */
const START_BYTES = 12;
