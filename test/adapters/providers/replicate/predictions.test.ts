/*
 * Goal: the state of a prediction is told as it is: what it made, why it failed, what it cost. Nothing that Replicate or
 * a model wrote reaches a client, and results come from listed hosts only.
 * Method: predictions of a server that answers as Replicate's documentation says, and the errors that models are known to
 * end with.
 */
import { expect } from 'chai';
import fc from 'fast-check';
import { HttpError } from '../../../../adapters/http/http-error.js';
import { predictionFailure } from '../../../../adapters/providers/replicate/prediction-failure.js';
import { TASK_ERRORS } from '../../../../core/generation/generation.js';
import { hintsOf } from '../../../../core/ports/provider.js';
import { reportsUntilOver, submitted, WANTED } from '../../../contracts/provider.contract.js';
import { collected } from '../../../fixtures/byte-streams.js';
import { ReplicateFake } from '../../../providers/fakes/replicate-fake.js';
import { failureOf, vendorForEach } from '../opened-vendor.js';
import { replicateAt, SETTINGS, task } from './opened-replicate.js';

const PICTURE = { kind: 'image', mediaType: 'image/png' } as const;
const COST = { computeMs: 2_457 };

describe('predictions of Replicate', () => {
  const vendor = vendorForEach({ openFake: () => ReplicateFake.open(), providerAt: replicateAt, task });

  it('succeed with one file or a list of files, and the time they took', async () => {
    expect(await vendor.reportOf({ ends: 'succeeded', files: 3 })).to.deep.equal({
      state: 'succeeded',
      outputs: [PICTURE, PICTURE, PICTURE],
      cost: COST,
    });
    expect(
      await vendor.reportOf({ ends: 'succeeded', output: `${vendor.fake.server.url}/results/x/out.webp?v=1` }),
    ).to.deep.equal({
      state: 'succeeded',
      outputs: [{ kind: 'image', mediaType: 'image/webp' }],
      cost: COST,
    });
  });

  it('may have their files in them as data URLs, which are read as they come', async () => {
    const picture = Buffer.alloc(2 * 1024 * 1024, 'PNG');
    const url = `data:image/png;base64,${picture.toString('base64')}`;
    for (const [output, index] of [
      [url, 0],
      [[null, url, { url }], 1],
    ] as const) {
      const report = await vendor.reportOf({ ends: 'succeeded', output });
      expect(report).to.have.deep.property(
        'outputs',
        Array.from({ length: index + 1 }, () => PICTURE),
      );
      const reference = vendor.fake.predictions.at(-1)?.id ?? '';
      const read = await collected(await vendor.provider.output(reference, index, SETTINGS, WANTED));
      expect(picture.equals(read)).to.equal(true);
    }
  });

  it('are polled again after the time that a limit of the rate names in its text', async () => {
    const reference = await submitted(vendor.provider, task());
    const body = JSON.stringify({ detail: 'Request was throttled. Your rate limit resets in ~30s.', status: 429 });
    vendor.fake.server.plan({ type: 'status', status: 429, body }, { of: 'poll' });
    const error = await failureOf(vendor.provider.poll(reference, SETTINGS, WANTED));
    expect(hintsOf(error)).to.deep.equal({ retryAfterMs: 30_000 });
  });

  it('have their files where the settings say', async () => {
    const output = { media_type: 'video/mp4', at: '/clips/*/video' };
    const clip = { video: `${vendor.fake.server.url}/results/x/clip` };
    const report = await vendor.reportOf(
      { ends: 'succeeded', output: { clips: [clip, clip] } },
      { ...SETTINGS, output },
    );
    expect(report).to.have.property('outputs').that.has.length(2);
    expect(report).to.have.deep.nested.property('outputs[0]', { kind: 'video', mediaType: 'video/mp4' });
  });

  it('fail once where nothing can be fetched: no files, other hosts, addresses within the network', async () => {
    for (const output of [
      [],
      'a sentence',
      { image: `${vendor.fake.server.url}/results/x.png` },
      ['https://elsewhere.example/out-0.png'],
      ['http://replicate.delivery/out-0.png'],
      ['https://evilreplicate.delivery/out-0.png'],
      ['https://user:password@replicate.delivery/out-0.png'],
      ['https://169.254.169.254/latest/meta-data'],
      [`${vendor.fake.server.url}/results/x.gif`],
    ]) {
      const report = await vendor.reportOf({ ends: 'succeeded', output });
      expect(report, JSON.stringify(output)).to.have.nested.property('failure.code', 'INTERNAL_ERROR');
      expect(report).to.have.nested.property('failure.mayRetry', false);
    }
  });

  it('leave out files that cannot be fetched or delivered, and deliver the others', async () => {
    const at = (name: string) => `${vendor.fake.server.url}/results/a/${name}`;
    const output = ['https://elsewhere.example/0.png', at('0.json'), at('0.GIF'), at('1.png'), null, at('log.txt')];
    expect(await vendor.reportOf({ ends: 'succeeded', output })).to.have.deep.property('outputs', [PICTURE]);
    const { id } = vendor.fake.predictions[0]!;
    for await (const piece of await vendor.provider.output(id, 0, SETTINGS, WANTED)) void piece;
    expect(vendor.fake.server.requests.at(-1)?.path).to.equal('/results/a/1.png');
  });

  it('name files at the hosts of Replicate', async () => {
    const report = await vendor.reportOf({
      ends: 'succeeded',
      output: ['https://replicate.delivery/xezq/a/out-0.jpg'],
    });
    expect(report).to.have.deep.property('outputs', [{ kind: 'image', mediaType: 'image/jpeg' }]);
    const other = await vendor.reportOf({ ends: 'succeeded', output: ['https://pbxt.replicate.delivery/a/out-0.png'] });
    expect(other).to.have.deep.property('outputs', [PICTURE]);
  });

  it('are gone an hour after they have ended', async () => {
    const submission = task();
    const reference = await submitted(vendor.provider, submission);
    await reportsUntilOver(vendor.provider, reference, submission);
    vendor.fake.predictions[0]!.isRemoved = true;
    const report = await vendor.provider.poll(reference, SETTINGS, WANTED);
    expect(report).to.have.nested.property('failure.mayRetry', false);
  });

  it('end by the deadline as timed out before they began, and as cancelled after', async () => {
    const reference = await submitted(vendor.provider, task({ prompt: 'endless' }));
    vendor.fake.predictions[0]!.status = 'aborted';
    expect(await vendor.provider.poll(reference, SETTINGS, WANTED)).to.have.nested.property(
      'failure.code',
      'PROVIDER_TIMEOUT',
    );
    vendor.fake.predictions[0]!.status = 'canceled';
    expect(await vendor.provider.poll(reference, SETTINGS, WANTED)).to.deep.equal({
      state: 'cancelled',
      outputs: [],
      cost: COST,
    });
  });

  it('fail for the reason that their code or sentence has', async () => {
    const reasons: readonly (readonly [string, string, boolean])[] = [
      [
        'The input or output was flagged as sensitive. Please try again with different inputs. (E005)',
        'CONTENT_REJECTED_INPUT',
        false,
      ],
      ['NSFW content detected. Try running it again, or try a different prompt.', 'CONTENT_REJECTED_OUTPUT', false],
      ['Service is temporarily unavailable. Please try again later. (E004)', 'PROVIDER_UNAVAILABLE', true],
      ['Timeout starting prediction (E6716)', 'PROVIDER_UNAVAILABLE', true],
      ['Director: unexpected error handling prediction (E9243)', 'INTERNAL_ERROR', true],
      ['Prediction interrupted; please retry (code: PA)', 'INTERNAL_ERROR', true],
      ['Model ran out of memory (E1001)', 'INTERNAL_ERROR', false],
      ["'NoneType' object has no attribute 'shape'", 'INTERNAL_ERROR', false],
    ];
    for (const [error, code, mayRetry] of reasons) {
      const report = await vendor.reportOf({ ends: 'failed', error });
      if (report?.state !== 'failed') throw new Error('It did not fail.');
      expect(report.failure, error).to.include({ code, mayRetry });
      expect(report.cost).to.deep.equal(COST);
    }
  });

  it('tell clients nothing of an error, whatever it is', () => {
    const sentences = new Set<string>(Object.values(TASK_ERRORS).map(({ message }) => message));
    fc.assert(
      fc.property(fc.oneof(fc.string(), fc.jsonValue(), fc.constant('(E005)'), fc.constant('x (E9999)')), (error) => {
        const { message } = predictionFailure(error);
        expect(sentences.has(message) || message.startsWith('The provider ')).to.equal(true);
        if (typeof error === 'string' && error.length > 3) expect(message).to.not.include(error);
      }),
    );
  });

  it('are not mistaken for another, and not believed in any other form', async () => {
    const reference = await submitted(vendor.provider, task());
    const other = await submitted(vendor.provider, task());
    const { server } = vendor.fake;
    for (const body of [`{"id":"${other}","status":"succeeded"}`, '[]', `{"id":"${reference}","status":7}`]) {
      server.plan(
        { type: 'status', status: 200, headers: { 'content-type': 'application/json' }, body },
        { of: 'poll' },
      );
      expect(await failureOf(vendor.provider.poll(reference, SETTINGS, WANTED)), body).to.be.instanceOf(Error);
    }
    for (const status of [401, 404, 429, 500]) {
      server.plan({ type: 'html', status, isHandled: false }, { of: 'poll' });
      expect(await failureOf(vendor.provider.poll(reference, SETTINGS, WANTED)), String(status)).to.be.instanceOf(
        Error,
      );
    }
    expect(await vendor.provider.poll(reference, SETTINGS, WANTED)).to.have.property('state', 'running');
  });

  it('are asked to stop again when the answer is lost or an error, and not when they have ended', async () => {
    const reference = await submitted(vendor.provider, task({ prompt: 'endless' }));
    vendor.fake.server.plan({ type: 'status', status: 503 }, { of: 'cancel' });
    expect(await failureOf(vendor.provider.cancel(reference, SETTINGS, WANTED))).to.be.instanceOf(Error);
    vendor.fake.server.plan({ type: 'lose-answer' }, { of: 'cancel' });
    expect(await failureOf(vendor.provider.cancel(reference, SETTINGS, WANTED))).to.be.instanceOf(Error);
    vendor.fake.server.plan({ type: 'status', status: 422 }, { of: 'cancel' });
    await vendor.provider.cancel(reference, SETTINGS, WANTED);
  });

  it('have results that are not fetched within the network, though their host is listed', async () => {
    const { port } = vendor.fake.server;
    const listing = replicateAt(vendor.fake.base, { output_hosts: [`localhost:${port}`] });
    vendor.fake.ending = { ends: 'succeeded', output: [`https://localhost:${port}/results/x/out-0.png`] };
    const submission = task();
    const reference = await submitted(listing, submission);
    expect((await reportsUntilOver(listing, reference, submission)).at(-1)).to.have.property('state', 'succeeded');
    const error = await failureOf(listing.output(reference, 0, SETTINGS, WANTED));
    expect(error).to.be.instanceOf(HttpError).with.property('kind', 'refused-address');
    expect(vendor.fake.server.requests.filter(({ of }) => of.includes('output'))).to.have.length(0);
    await listing.close();
  });

  it('have results that are fetched without the key', async () => {
    const submission = task();
    const reference = await submitted(vendor.provider, submission);
    await reportsUntilOver(vendor.provider, reference, submission);
    for await (const piece of await vendor.provider.output(reference, 0, SETTINGS, WANTED)) void piece;
    const fetched = vendor.fake.server.requests.filter(({ of }) => of.includes('output'));
    expect(fetched.map(({ headers }) => headers.authorization)).to.deep.equal([undefined]);
  });
});
