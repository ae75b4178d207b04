// Goal: when the outcome of a store call is unknown, a create returns no refusal and is not run again under its key
// until the key shows the outcome.
// Method: the answer of one store call is lost, before or after its effect; the same key is retried at once and after
// the lease has lapsed; then everything is counted, before recovery runs.
import { expect } from 'chai';
import { grantCredits } from '../../../core/credits/operate.js';
import { ServiceError, StoreUnavailable } from '../../../core/errors.js';
import { createGeneration } from '../../../core/generation/create-generation.js';
import { CoreHarness } from '../../harness/core-harness.js';

type Cut = 'before' | 'after';

interface Losing {
  readonly call: string;
  readonly cut: Cut;
  /** Done just before the first change of the account, when the key has been claimed. */
  readonly meanwhile?: () => Promise<unknown>;
}

/**
 * The outcome of a create, always under the same key, in a process that loses this call's answer or in a healthy one.
 */
async function create(harness: CoreHarness, losing?: Losing): Promise<string> {
  let { meanwhile } = losing ?? {};
  const context = harness.process(async (call) => {
    if (call.name === 'accounts.apply') {
      const before = meanwhile;
      meanwhile = undefined;
      await before?.();
    }
    if (call.name !== losing?.call) return call.proceed();
    if (losing.cut === 'after') await call.proceed();
    throw new StoreUnavailable('The line broke.');
  });
  try {
    await harness.clock.run(createGeneration(context, harness.caller, 'k', harness.body()));
    return 'OK';
  } catch (error) {
    if (error instanceof StoreUnavailable) return 'StoreUnavailable';
    if (error instanceof ServiceError) return error.code;
    throw error;
  }
}

describe('createGeneration that does not know', () => {
  for (const cut of ['before', 'after'] as const) {
    it(`whether a refused request's key is free (cut ${cut} the call): does not refuse, and a retry finds out`, async () => {
      const harness = await CoreHarness.open({ credits: 10 });
      const spend = () => createGeneration(harness.context, harness.caller, 'other', harness.body());
      expect(await create(harness, { call: 'claims.remove', cut, meanwhile: spend })).to.equal('StoreUnavailable');
      expect(await create(harness)).to.equal(cut === 'before' ? 'IDEMPOTENCY_IN_PROGRESS' : 'CREDITS_INSUFFICIENT');
      harness.clock.jump(harness.settings.claimLeaseMs);
      expect(await create(harness)).to.equal('CREDITS_INSUFFICIENT');
      await grantCredits(harness.context, {
        accountId: harness.caller.accountId,
        operationId: 'more',
        credits: 10,
        reason: 'r',
      });
      expect(await create(harness), 'the key was bound by nothing').to.equal('OK');
    });

    it(`whether the price is held (cut ${cut} the call): keeps the key, so that there are never two holds under it`, async () => {
      const harness = await CoreHarness.open();
      expect(await create(harness, { call: 'accounts.apply', cut })).to.equal('StoreUnavailable');
      expect(await create(harness)).to.equal('IDEMPOTENCY_IN_PROGRESS');
      harness.clock.jump(harness.settings.claimLeaseMs);
      expect(await create(harness)).to.equal('OK');
      const [generation] = await harness.generations();
      expect(
        [...(await harness.account()).holds.keys()],
        'the lost hold went when the key was taken over',
      ).to.deep.equal([generation?.generationId]);
    });
  }
});
