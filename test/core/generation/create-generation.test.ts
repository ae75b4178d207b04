// Goal: a create is accepted once per key, at its price, or refused with nothing left behind.
// Method: the use case on memory adapters, one or more processes on the same stores.
import { expect } from 'chai';
import fc from 'fast-check';
import { grantCredits } from '../../../core/credits/operate.js';
import { ServiceError } from '../../../core/errors.js';
import { createGeneration, estimateGeneration } from '../../../core/generation/create-generation.js';
import { expectBooksRight } from '../../fixtures/ledger-checks.js';
import { codeOf } from '../../fixtures/refusals.js';
import { CoreHarness } from '../../harness/core-harness.js';

async function expectNothingLeft(harness: CoreHarness): Promise<void> {
  const account = await harness.account();
  expect([account.holds.size, account.reserved]).to.deep.equal([0, 0]);
  expect(await harness.generations()).to.deep.equal([]);
  expectBooksRight(account, await harness.entries());
}

describe('createGeneration', () => {
  it('reserves what estimate says, queues, and charges nothing', async () => {
    const harness = await CoreHarness.open();
    const { estimatedCredits } = await estimateGeneration(harness.context, harness.caller, harness.body({ count: 3 }));
    const generation = await harness.create({ count: 3 });
    expect(generation).to.include({
      status: 'queued',
      estimatedCredits: 30,
      reservedCredits: 30,
      chargedCredits: 0,
      accountId: harness.caller.accountId,
    });
    expect(estimatedCredits).to.equal(30);
    expect(await harness.account()).to.include({ available: 970, reserved: 30 });
  });

  it('fills in defaults before it prices, and keeps what the client sent', async () => {
    const harness = await CoreHarness.open();
    expect((await harness.create()).parameters).to.deep.equal({ count: 1 });
  });

  it('answers a repeated request with the same generation in its current state', async () => {
    const harness = await CoreHarness.open();
    const first = await createGeneration(harness.context, harness.caller, 'k', harness.body());
    const again = await createGeneration(harness.process(), harness.caller, 'k', harness.body());
    expect([first.replayed, again.replayed, again.generation.generationId]).to.deep.equal([
      false,
      true,
      first.generation.generationId,
    ]);
    expect((await harness.account()).holds.size).to.equal(1);
    const reordered = Object.fromEntries(Object.entries(harness.body()).toReversed());
    expect(await createGeneration(harness.context, harness.caller, 'k', reordered)).to.have.property('replayed', true);
    expect(
      await codeOf(createGeneration(harness.context, harness.caller, 'k', harness.body({}, { prompt: 'Another' }))),
    ).to.equal('IDEMPOTENCY_PAYLOAD_MISMATCH');
  });

  it('accepts one of many concurrent duplicates, in one process and in two, and answers the others with it or has them wait', async () => {
    const harness = await CoreHarness.open();
    const processes = [harness.process(), harness.process()];
    const answers = await harness.clock.run(
      Promise.all(
        Array.from({ length: 30 }, (_, index) =>
          createGeneration(processes[index % 2] ?? harness.context, harness.caller, 'k', harness.body()).catch(
            (error: unknown) => {
              expect(error).to.be.instanceOf(ServiceError).with.property('code', 'IDEMPOTENCY_IN_PROGRESS');
            },
          ),
        ),
      ),
    );
    const created = answers.filter((answer) => answer !== undefined);
    expect(created.filter(({ replayed }) => !replayed)).to.have.length(1);
    expect(new Set(created.map(({ generation }) => generation.generationId)).size).to.equal(1);
    expect((await harness.account()).holds.size).to.equal(1);
    expect(await harness.generations()).to.have.length(1);
  });

  it('accepts exactly min(K, floor(b / c)) of K concurrent creates, each with its hold', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.nat({ max: 200 }),
        fc.integer({ min: 1, max: 4 }),
        fc.integer({ min: 1, max: 12 }),
        async (credits, count, creates) => {
          const harness = await CoreHarness.open({ credits });
          const processes = [harness.process(), harness.process()];
          const codes = await harness.clock.run(
            Promise.all(
              Array.from({ length: creates }, (_, index) =>
                codeOf(
                  createGeneration(
                    processes[index % 2] ?? harness.context,
                    harness.caller,
                    `k${index}`,
                    harness.body({ count }),
                  ),
                ),
              ),
            ),
          );
          const accepted = Math.min(creates, Math.floor(credits / (10 * count)));
          expect(codes.filter((code) => code === 'OK')).to.have.length(accepted);
          expect(codes.filter((code) => code === 'CREDITS_INSUFFICIENT')).to.have.length(creates - accepted);
          const account = await harness.account();
          expect(new Set(account.holds.keys())).to.deep.equal(
            new Set((await harness.generations()).map(({ generationId }) => generationId)),
          );
          expectBooksRight(account, await harness.entries());
        },
      ),
      { numRuns: 60 },
    );
  });

  it('leaves nothing behind a 402, and the key free for another try', async () => {
    const harness = await CoreHarness.open({ credits: 9 });
    expect(await codeOf(createGeneration(harness.context, harness.caller, 'k', harness.body()))).to.equal(
      'CREDITS_INSUFFICIENT',
    );
    await expectNothingLeft(harness);
    await grantCredits(harness.context, {
      accountId: harness.caller.accountId,
      operationId: 'more',
      credits: 100,
      reason: 'r',
    });
    expect(await createGeneration(harness.context, harness.caller, 'k', harness.body({ count: 2 }))).to.have.property(
      'replayed',
      false,
    );
  });

  it('leaves nothing behind a 422, and the key free for another try', async () => {
    const harness = await CoreHarness.open();
    const wrong = [
      harness.body({ count: 5 }),
      harness.body({ unknown: 1 }),
      harness.body({}, { model_key: 'none' }),
      harness.body({ style: 'https://example.com' }),
      harness.body({}, { reference_upload_ids: ['01900000-0000-7000-8000-00000000ffff'] }),
      harness.body({}, { operation: 'video_generation' }),
    ];
    for (const body of wrong)
      expect(await codeOf(createGeneration(harness.context, harness.caller, 'k', body)), JSON.stringify(body)).to.equal(
        'FIELD_INVALID',
      );
    await expectNothingLeft(harness);
    expect(await codeOf(createGeneration(harness.context, harness.caller, 'k', harness.body()))).to.equal('OK');
  });

  it('accepts no more open generations than the operator allows, and frees the key', async () => {
    const harness = await CoreHarness.open({ settings: { maxOpenGenerationsPerAccount: 2 } });
    await harness.create();
    await harness.create();
    expect(await codeOf(createGeneration(harness.context, harness.caller, 'k', harness.body()))).to.equal('QUEUE_FULL');
    expect(await harness.generations()).to.have.length(2);
    const claim = await harness.ports.claims.insert({
      accountId: harness.caller.accountId,
      appId: harness.caller.appId,
      operation: 'create',
      key: 'k',
      version: 1,
      digest: '',
      subjectId: '',
      createdAt: 0,
      leaseExpiresAt: 0,
      removeAt: 0,
    });
    expect(claim.inserted, 'the key is free').to.equal(true);
  });

  it('answers a late refused request with what the new owner of its key accepted, and leaves the key to it', async () => {
    const harness = await CoreHarness.open({ credits: 10 });
    let wakeUp: () => void = () => undefined;
    const asleep = new Promise<void>((resolve) => {
      wakeUp = resolve;
    });
    const slow = harness.process(async (call) => {
      // The key is claimed already when another request spends the credits.
      if (call.name === 'accounts.apply')
        await createGeneration(harness.context, harness.caller, 'other', harness.body());
      if (call.name === 'claims.remove') await asleep;
      return call.proceed();
    });
    const first = createGeneration(slow, harness.caller, 'k', harness.body());
    await harness.clock.advance(harness.settings.claimLeaseMs + 1);
    expect(await codeOf(createGeneration(harness.context, harness.caller, 'k', harness.body()))).to.equal(
      'CREDITS_INSUFFICIENT',
    );
    await grantCredits(harness.context, {
      accountId: harness.caller.accountId,
      operationId: 'more',
      credits: 100,
      reason: 'r',
    });
    const accepted = await createGeneration(harness.context, harness.caller, 'k', harness.body());
    wakeUp();
    for (const again of [await first, await createGeneration(harness.context, harness.caller, 'k', harness.body())])
      expect([again.replayed, again.generation.generationId]).to.deep.equal([true, accepted.generation.generationId]);
  });
});
