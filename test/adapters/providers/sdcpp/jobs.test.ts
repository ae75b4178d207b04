/*
 * Goal: the state of a job is told as it is, and pictures of any size are read without being held.
 * Method: a fake sd-server, told what becomes of its jobs; a server whose answer is larger than the memory it may take.
 */
import { expect } from 'chai';
import fc from 'fast-check';
import { setTimeout as sleep } from 'node:timers/promises';
import { HttpError } from '../../../../adapters/http/http-error.js';
import type { SdcppProvider } from '../../../../adapters/providers/sdcpp/sdcpp-provider.js';
import type { ProviderReport } from '../../../../core/ports/provider.js';
import { reportsUntilOver, submitted, WANTED } from '../../../contracts/provider.contract.js';
import { collected } from '../../../fixtures/byte-streams.js';
import { FakeServer } from '../../../providers/fakes/fake-server.js';
import { HELD_STEPS, SdcppFake } from '../../../providers/fakes/sdcpp-fake.js';
import { sdcppAt, SETTINGS, task } from './opened-sdcpp.js';

const PICTURE = { kind: 'image', mediaType: 'image/png' } as const;
const MEBIBYTE = 1024 * 1024;

describe('jobs of sd-server', () => {
  let fake: SdcppFake;
  let provider: SdcppProvider;
  beforeEach(async () => {
    fake = await SdcppFake.open();
    provider = sdcppAt(fake.url);
  });
  afterEach(async () => {
    await provider.close();
    await fake.close();
  });

  const poll = (reference: string) => provider.poll(reference, SETTINGS, WANTED);
  const ended = async (wish = {}): Promise<{ reference: string; last: ProviderReport | undefined }> => {
    const submission = task(wish);
    const reference = await submitted(provider, submission);
    return { reference, last: (await reportsUntilOver(provider, reference, submission)).at(-1) };
  };
  const outputs = async (reference: string, count: number): Promise<Uint8Array[]> => {
    const read: Uint8Array[] = [];
    for (let index = 0; index < count; index += 1)
      read.push(await collected(await provider.output(reference, index, SETTINGS, WANTED)));
    return read;
  };
  const errorOf = (work: Promise<unknown>) =>
    work.then(
      () => undefined,
      (error: unknown) => error,
    );

  it('have run while they wait and while they are made', async () => {
    const running = await submitted(provider, task({ parameters: { steps: HELD_STEPS } }));
    const waiting = await submitted(provider, task());
    expect(await poll(running)).to.deep.equal({ state: 'running' });
    expect(await poll(waiting)).to.deep.equal({ state: 'running' });
    await fake.jobs.release();
    expect(await poll(running)).to.have.property('state', 'succeeded');
  });

  it('have each of their pictures, in the order and the format of the server', async () => {
    const { reference, last } = await ended({ outputCount: 2, parameters: { steps: 1, format: 'webp' } });
    expect(last).to.have.deep.property('outputs', [
      { kind: 'image', mediaType: 'image/webp' },
      { kind: 'image', mediaType: 'image/webp' },
    ]);
    for (const bytes of await outputs(reference, 2))
      expect(Buffer.from(bytes).toString('latin1', 8, 12)).to.equal('WEBP');
  });

  it('have pictures of any bytes', async () => {
    await fc.assert(
      fc.asyncProperty(fc.uint8Array({ minLength: 1, maxLength: 4_000 }), async (bytes) => {
        fake.pictureText = Buffer.from(bytes).toString('base64');
        const { reference } = await ended();
        expect(await outputs(reference, 1)).to.deep.equal([bytes]);
      }),
      { numRuns: 30 },
    );
  });

  it('have an end that is no longer known after ten minutes: another attempt may follow', async () => {
    const { reference } = await ended();
    fake.jobs.advance(600);
    const report = await poll(reference);
    expect(report).to.have.nested.property('failure.mayRetry', true);
    fake.jobs.advance(600);
    expect(await poll(reference)).to.deep.equal({ state: 'unknown' });
  });

  it('are unknown after a restart of the server', async () => {
    const { reference } = await ended();
    fake.jobs.forget();
    expect(await poll(reference)).to.deep.equal({ state: 'unknown' });
  });

  it('are not unknown when something before the server has lost its way', async () => {
    const { reference } = await ended();
    for (const status of [404, 410]) {
      fake.server.plan({ type: 'html', status }, { of: 'poll' });
      expect(await errorOf(poll(reference))).to.be.instanceOf(Error);
      const body = '{"error":"no such route"}';
      const headers = { 'content-type': 'application/json' };
      fake.server.plan({ type: 'status', status, headers, body }, { of: 'poll' });
      expect(await errorOf(poll(reference))).to.be.instanceOf(Error);
    }
  });

  it('fail where the server has made nothing, in words that are not its own', async () => {
    fake.failsWith = 'cannot open /models/secret.gguf';
    const { last } = await ended();
    expect(last).to.have.deep.property('failure', {
      code: 'INTERNAL_ERROR',
      message: 'The provider had an internal error.',
      mayRetry: true,
    });
  });

  it('deliver nothing of a picture that is no base64', async () => {
    for (const text of ['AAAAA', 'A===', 'AAB', '!!!!', 'AAAA=AAA']) {
      fake.pictureText = text;
      const { reference } = await ended();
      expect(await errorOf(outputs(reference, 1)), text).to.be.instanceOf(Error);
    }
  });

  it('are not those that another job answers for', async () => {
    const { reference } = await ended();
    const json = JSON.stringify({ id: 'job_0_00000000', status: 'failed', error: { code: 'x', message: 'y' } });
    fake.server.plan(
      { type: 'status', status: 200, headers: { 'content-type': 'application/json' }, body: json },
      { of: 'poll' },
    );
    expect(await errorOf(poll(reference))).to.be.instanceOf(Error);
  });

  const result = '"result":{"images":[{"b64_json":"QUJD"}],"output_format":"png"}';
  for (const [how, answer, isOwn] of [
    ['names another one first', (_: string) => `{"id":"job_0_00000000",${result}}`, false],
    ['names another one last', (_: string) => `{${result},"id":"job_0_00000000"}`, false],
    ['names one whose id begins with theirs', (id: string) => `{"id":"${id}0",${result}}`, false],
    ['names none', (_: string) => `{${result}}`, false],
    ['has a number for the name', (_: string) => `{"id":7,${result}}`, false],
    ['names them last', (id: string) => `{${result},"id":"${id}"}`, true],
  ] as const)
    it(`${isOwn ? 'have' : 'do not have'} the picture of an answer that ${how}, and their own when asked again`, async () => {
      const { reference } = await ended();
      const [own] = await outputs(reference, 1);
      fake.server.plan(
        { type: 'status', status: 200, headers: { 'content-type': 'application/json' }, body: answer(reference) },
        { of: 'output' },
      );
      const read = await outputs(reference, 1).catch((error: unknown) => error);
      if (isOwn) expect(read).to.deep.equal([Buffer.from('ABC')].map((bytes) => new Uint8Array(bytes)));
      else expect(read).to.be.instanceOf(HttpError).with.property('kind', 'bad-answer');
      expect(await outputs(reference, 1)).to.deep.equal([own]);
    });
});

describe('large answers of sd-server', () => {
  it('are read without being held: 256 MiB of base64 in each', async () => {
    const pieceText = Buffer.alloc(MEBIBYTE, 'A');
    const server = await FakeServer.open([
      {
        method: 'GET',
        path: '/sdcpp/v1/jobs/:id',
        of: 'poll',
        handle: () => ({ headers: JSON_TYPE, body: largeJob(pieceText) }),
      },
    ]);
    const provider = sdcppAt(server.url);
    try {
      const before = heldBytes();
      let most = 0;
      const watch = new AbortController();
      const watching = (async () => {
        while (!watch.signal.aborted) {
          most = Math.max(most, heldBytes() - before);
          await sleep(2);
        }
      })();
      const report = await provider.poll('job_1_00000000', SETTINGS, WANTED);
      expect(report).to.have.deep.property(
        'outputs',
        Array.from({ length: 4 }, () => PICTURE),
      );
      let read = 0;
      for await (const piece of await provider.output('job_1_00000000', 3, SETTINGS, WANTED)) read += piece.byteLength;
      expect(read).to.equal((64 * MEBIBYTE * 3) / 4);
      watch.abort();
      await watching;
      expect(most).to.be.below(64 * MEBIBYTE);
    } finally {
      await provider.close();
      await server.close();
    }
  });
});

const JSON_TYPE = { 'content-type': 'application/json' };

/** Four pictures of 64 MiB of base64, before the state. */
async function* largeJob(piece: Uint8Array): AsyncGenerator<Uint8Array> {
  yield Buffer.from('{"completed":1000000002,"error":null,"id":"job_1_00000000","result":{"images":[');
  for (let index = 0; index < 4; index += 1) {
    yield Buffer.from(`${index === 0 ? '' : ','}{"b64_json":"`);
    for (let pieces = 0; pieces < 64; pieces += 1) yield piece;
    yield Buffer.from(`","index":${index}}`);
  }
  yield Buffer.from('],"output_format":"png"},"started":1000000000,"status":"completed"}');
}

function heldBytes(): number {
  const { heapUsed, external } = process.memoryUsage();
  return heapUsed + external;
}
