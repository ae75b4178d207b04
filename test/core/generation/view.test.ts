// Goal: a client sees only its own generations, with fresh URLs for outputs, and is told to poll exactly while there is
// something to wait for; an estimate returns the price and the refusals of a create beforehand.
// Method: the use cases on memory adapters; URLs are fetched as a client would.
import { expect } from 'chai';
import type { ServiceError } from '../../../core/errors.js';
import { estimateGeneration } from '../../../core/generation/create-generation.js';
import { getGeneration, viewGeneration } from '../../../core/generation/read-generations.js';
import { plainImage } from '../../fixtures/plain-media.js';
import { CoreHarness } from '../../harness/core-harness.js';
import { CoreWorker, untilSettled } from '../../harness/core-worker.js';

describe('a generation as its owner sees it', () => {
  it('is found by its id in any letter case, by its own App only, with the same answer for all others', async () => {
    const harness = await CoreHarness.open();
    const { generationId } = await harness.create();
    expect((await getGeneration(harness.context, harness.caller, generationId.toUpperCase())).generationId).to.equal(
      generationId,
    );
    const other = await harness.newCaller(0);
    const refusals = new Set<string>();
    for (const [caller, id] of [
      [other, generationId],
      [{ ...harness.caller, appId: other.appId }, generationId],
      [{ ...other, appId: harness.caller.appId }, generationId],
      [harness.caller, '01900000-0000-7000-8000-00000000ffff'],
      [harness.caller, 'x'],
      [harness.caller, `${generationId}\n`],
    ] as const) {
      const error = (await getGeneration(harness.context, caller, id).catch(
        (refusal: unknown) => refusal,
      )) as ServiceError;
      refusals.add(JSON.stringify([error.code, error.message, error.details]));
    }
    expect([...refusals]).to.deep.equal([JSON.stringify(['TASK_NOT_FOUND', 'There is no such generation.', {}])]);
  });

  it('says when to poll again while it is open, and has outputs once it has ended', async () => {
    const harness = await CoreHarness.open();
    const queued = await harness.create({ count: 2 });
    expect(await viewGeneration(harness.context, queued)).to.deep.equal({
      generation: queued,
      outputs: [],
      pollAfterMs: harness.settings.pollAfterMs,
    });
    await CoreWorker.start(harness);
    const view = await viewGeneration(harness.context, await untilSettled(harness, queued.generationId));
    expect(view).not.to.have.property('pollAfterMs');
    expect(new Set(view.outputs.map(({ url }) => url))).to.have.property('size', 2);
    for (const { url } of view.outputs) {
      const fetched = harness.ports.objects.handle({ method: 'GET', url, headers: {} });
      expect([
        fetched.status,
        fetched.headers['content-type'],
        Buffer.from(fetched.body).equals(plainImage()),
      ]).to.deep.equal([200, 'image/png', true]);
    }
    harness.clock.jump(harness.settings.outputUrlMs);
    for (const { url } of view.outputs)
      expect(harness.ports.objects.handle({ method: 'GET', url, headers: {} }).status).to.equal(403);
  });
});

describe('estimateGeneration', () => {
  it('answers the price, refuses what create would refuse, and stores nothing', async () => {
    const harness = await CoreHarness.open({ credits: 25 });
    const codeFor = (body: ReturnType<CoreHarness['body']>) =>
      estimateGeneration(harness.context, harness.caller, body).then(
        () => 'OK',
        (error: ServiceError) => error.code,
      );
    expect(await estimateGeneration(harness.context, harness.caller, harness.body({ count: 2 }))).to.deep.equal({
      modelKey: 'plain-image',
      operation: 'image_generation',
      estimatedCredits: 20,
      currency: 'credits',
    });
    expect(await codeFor(harness.body({ count: 3 }))).to.equal('CREDITS_INSUFFICIENT');
    expect(await codeFor(harness.body({ count: 0 }))).to.equal('FIELD_INVALID');
    expect(await codeFor({ prompt: 'p' })).to.equal('FIELD_REQUIRED');
    expect([await harness.generations(), (await harness.account()).version]).to.deep.equal([[], 1]);
  });
});
