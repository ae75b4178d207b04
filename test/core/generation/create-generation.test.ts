// Goal: a create is accepted once per key, at its price, or refused with nothing left behind.
// Method: the use case on memory adapters, one or more processes on the same stores.
import { expect } from 'chai';
import fc from 'fast-check';
import { grantCredits } from '../../../core/credits/operate.js';
import { createGeneration } from '../../../core/generation/create-generation.js';
import { estimateGeneration } from '../../../core/generation/estimate-generation.js';
import { CoreWorld } from '../../fixtures/core-world.js';
import { expectBooksRight } from '../../fixtures/ledger-checks.js';
import { codeOf } from '../../fixtures/refusals.js';

async function expectNothingLeft(world: CoreWorld): Promise<void> {
  const account = await world.account();
  expect([account.holds.size, account.reserved]).to.deep.equal([0, 0]);
  expect(await world.generations()).to.deep.equal([]);
  expectBooksRight(account, await world.entries());
}

describe('createGeneration', () => {
  it('reserves what estimate says, queues, and charges nothing', async () => {
    const world = await CoreWorld.open();
    const { estimatedCredits } = await estimateGeneration(world.context, world.caller, world.body({ count: 3 }));
    const generation = await world.create({ count: 3 });
    expect(generation).to.include({ status: 'queued', estimatedCredits: 30, reservedCredits: 30, chargedCredits: 0, accountId: world.caller.accountId });
    expect(estimatedCredits).to.equal(30);
    expect(await world.account()).to.include({ available: 970, reserved: 30 });
  });

  it('fills in defaults before it prices, and keeps what the client sent', async () => {
    const world = await CoreWorld.open();
    expect((await world.create()).parameters).to.deep.equal({ count: 1 });
  });

  it('answers a repeated request with the same generation, as it stands now', async () => {
    const world = await CoreWorld.open();
    const first = await createGeneration(world.context, world.caller, 'k', world.body());
    const again = await createGeneration(world.process(), world.caller, 'k', world.body());
    expect([first.replayed, again.replayed, again.generation.generationId]).to.deep.equal([false, true, first.generation.generationId]);
    expect((await world.account()).holds.size).to.equal(1);
    const reordered = Object.fromEntries(Object.entries(world.body()).toReversed());
    expect(await createGeneration(world.context, world.caller, 'k', reordered)).to.have.property('replayed', true);
    expect(await codeOf(createGeneration(world.context, world.caller, 'k', world.body({}, { prompt: 'Another' })))).to.equal('IDEMPOTENCY_PAYLOAD_MISMATCH');
  });

  it('accepts one of many concurrent twins, in one process and in two', async () => {
    const world = await CoreWorld.open();
    const processes = [world.process(), world.process()];
    const codes = await world.clock.run(Promise.all(Array.from({ length: 30 }, (_, index) => codeOf(createGeneration(processes[index % 2] ?? world.context, world.caller, 'k', world.body())))));
    expect(codes.filter((code) => code === 'OK')).to.have.length(1);
    expect(new Set(codes)).to.deep.equal(new Set(['OK', 'IDEMPOTENCY_IN_PROGRESS']));
    expect((await world.account()).holds.size).to.equal(1);
    expect(await world.generations()).to.have.length(1);
  });

  it('accepts exactly min(K, floor(b / c)) of K concurrent creates, each with its hold', async () => {
    await fc.assert(fc.asyncProperty(fc.nat({ max: 200 }), fc.integer({ min: 1, max: 4 }), fc.integer({ min: 1, max: 12 }), async (credits, count, creates) => {
      const world = await CoreWorld.open({ credits });
      const processes = [world.process(), world.process()];
      const codes = await world.clock.run(Promise.all(Array.from({ length: creates }, (_, index) => codeOf(createGeneration(processes[index % 2] ?? world.context, world.caller, `k${index}`, world.body({ count }))))));
      const accepted = Math.min(creates, Math.floor(credits / (10 * count)));
      expect(codes.filter((code) => code === 'OK')).to.have.length(accepted);
      expect(codes.filter((code) => code === 'CREDITS_INSUFFICIENT')).to.have.length(creates - accepted);
      const account = await world.account();
      expect(new Set(account.holds.keys())).to.deep.equal(new Set((await world.generations()).map(({ generationId }) => generationId)));
      expectBooksRight(account, await world.entries());
    }), { numRuns: 60 });
  });

  it('leaves nothing behind a 402, and the key free for another try', async () => {
    const world = await CoreWorld.open({ credits: 9 });
    expect(await codeOf(createGeneration(world.context, world.caller, 'k', world.body()))).to.equal('CREDITS_INSUFFICIENT');
    await expectNothingLeft(world);
    await grantCredits(world.context, { accountId: world.caller.accountId, operationId: 'more', credits: 100, reason: 'r' });
    expect(await createGeneration(world.context, world.caller, 'k', world.body({ count: 2 }))).to.have.property('replayed', false);
  });

  it('leaves nothing behind a 422, and the key free for another try', async () => {
    const world = await CoreWorld.open();
    const wrong = [world.body({ count: 5 }), world.body({ unknown: 1 }), world.body({}, { model_key: 'none' }), world.body({ style: 'https://example.com' }),
      world.body({}, { reference_upload_ids: ['01900000-0000-7000-8000-00000000ffff'] }), world.body({}, { operation: 'video_generation' })];
    for (const body of wrong) expect(await codeOf(createGeneration(world.context, world.caller, 'k', body)), JSON.stringify(body)).to.equal('FIELD_INVALID');
    await expectNothingLeft(world);
    expect(await codeOf(createGeneration(world.context, world.caller, 'k', world.body()))).to.equal('OK');
  });

  it('takes no more open generations than the operator allows, and frees the key', async () => {
    const world = await CoreWorld.open({ settings: { maxOpenGenerationsPerAccount: 2 } });
    await world.create();
    await world.create();
    expect(await codeOf(createGeneration(world.context, world.caller, 'k', world.body()))).to.equal('QUEUE_FULL');
    expect(await world.generations()).to.have.length(2);
    const claim = await world.ports.claims.insert({
      accountId: world.caller.accountId, appId: world.caller.appId, operation: 'create', key: 'k', version: 1, digest: '', subjectId: '', createdAt: 0, leaseExpiresAt: 0, removeAt: 0,
    });
    expect(claim.inserted, 'the key is free').to.equal(true);
  });

  it('tells a refused request that wakes up late to ask again, and leaves the key to who used it since', async () => {
    const world = await CoreWorld.open({ credits: 9 });
    let wakeUp: () => void = () => undefined;
    const asleep = new Promise<void>((resolve) => { wakeUp = resolve; });
    const slow = world.process(async (call) => {
      if (call.name === 'claims.remove') await asleep;
      return call.proceed();
    });
    const first = codeOf(createGeneration(slow, world.caller, 'k', world.body()));
    await world.clock.advance(world.settings.claimLeaseMs + 1);
    expect(await codeOf(createGeneration(world.context, world.caller, 'k', world.body()))).to.equal('CREDITS_INSUFFICIENT');
    await grantCredits(world.context, { accountId: world.caller.accountId, operationId: 'more', credits: 100, reason: 'r' });
    const accepted = await createGeneration(world.context, world.caller, 'k', world.body());
    wakeUp();
    expect(await first).to.equal('IDEMPOTENCY_IN_PROGRESS');
    const again = await createGeneration(world.context, world.caller, 'k', world.body());
    expect([again.replayed, again.generation.generationId]).to.deep.equal([true, accepted.generation.generationId]);
  });
});
