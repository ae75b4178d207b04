// Goal: a create that may reserve only so much reserves nothing beyond it, keeps no key, and never stands in the way of
// a replay.
// Method: the use case on memory adapters, the account and the key looked at after each refusal.
import { expect } from 'chai';
import { ServiceError } from '../../../core/errors.js';
import { createGeneration } from '../../../core/generation/create-generation.js';
import { codeOf } from '../../fixtures/refusals.js';
import { CoreHarness } from '../../harness/core-harness.js';

describe('the credits that were approved for a create', () => {
  let harness: CoreHarness;
  const create = (approvedCredits: number | undefined, count = 2, key = 'key') =>
    createGeneration(
      harness.context,
      harness.caller,
      key,
      harness.body({ count }),
      approvedCredits === undefined ? {} : { approvedCredits },
    );

  beforeEach(async () => {
    harness = await CoreHarness.open();
  });

  it('refuse one credit more, reserve nothing and leave the key free', async () => {
    const refusal = await create(19).catch((error: unknown) => error as ServiceError);
    expect(refusal).to.be.instanceOf(ServiceError).with.property('code', 'SPENDING_NOT_CONFIRMED');
    expect((refusal as ServiceError).details).to.deep.equal({ credits: 20 });
    const account = await harness.account();
    expect([account.available, account.holds.size]).to.deep.equal([1_000, 0]);
    expect(await harness.generations()).to.deep.equal([]);
    expect((await create(undefined, 1)).replayed).to.equal(false);
  });

  it('allow exactly as much', async () => {
    expect((await create(20)).generation.reservedCredits).to.equal(20);
  });

  it('are no concern of a replay, which reserves nothing', async () => {
    const { generation } = await create(undefined);
    const again = await create(0);
    expect([again.replayed, again.generation.generationId]).to.deep.equal([true, generation.generationId]);
  });

  it('are looked at before the balance, so that no balance is told', async () => {
    const poor = await harness.newCaller(0);
    const body = harness.body({ count: 2 });
    expect(await codeOf(createGeneration(harness.context, poor, 'key', body, { approvedCredits: 1 }))).to.equal(
      'SPENDING_NOT_CONFIRMED',
    );
    expect(await codeOf(createGeneration(harness.context, poor, 'key', body, { approvedCredits: 20 }))).to.equal(
      'CREDITS_INSUFFICIENT',
    );
  });
});
