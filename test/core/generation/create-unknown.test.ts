// Goal: what nobody knows to have happened is not answered: neither a refusal nor another try under the key, until the key
// itself tells.
// Method: the answer of one store call is lost, before or after its effect; the same key is asked at once and once the lease
// has lapsed; then everything is counted, before recovery has done anything.
import { expect } from 'chai';
import { grantCredits } from '../../../core/credits/operate.js';
import { ServiceError, StoreUnavailable } from '../../../core/errors.js';
import { createGeneration } from '../../../core/generation/create-generation.js';
import { CoreWorld } from '../../fixtures/core-world.js';

type Cut = 'before' | 'after';

/** The outcome of a create under one and the same key, by a process that loses this call's answer, or by a sound one. */
async function create(world: CoreWorld, losing?: { readonly call: string; readonly cut: Cut }): Promise<string> {
  const context = world.process(async (call) => {
    if (call.name !== losing?.call) return call.proceed();
    if (losing.cut === 'after') await call.proceed();
    throw new StoreUnavailable('The line broke.');
  });
  try {
    await world.clock.run(createGeneration(context, world.caller, 'k', world.body()));
    return 'OK';
  } catch (error) {
    if (error instanceof StoreUnavailable) return 'StoreUnavailable';
    if (error instanceof ServiceError) return error.code;
    throw error;
  }
}

describe('createGeneration, not knowing', () => {
  for (const cut of ['before', 'after'] as const) {
    it(`whether a refused request's key is free (cut ${cut} the call): does not refuse, and the key tells`, async () => {
      const world = await CoreWorld.open({ credits: 9 });
      expect(await create(world, { call: 'claims.remove', cut })).to.equal('StoreUnavailable');
      expect(await create(world)).to.equal(cut === 'before' ? 'IDEMPOTENCY_IN_PROGRESS' : 'CREDITS_INSUFFICIENT');
      world.clock.jump(world.settings.claimLeaseMs);
      expect(await create(world)).to.equal('CREDITS_INSUFFICIENT');
      await grantCredits(world.context, { accountId: world.caller.accountId, operationId: 'more', credits: 1, reason: 'r' });
      expect(await create(world), 'the key was bound by nothing').to.equal('OK');
    });

    it(`whether the price is held (cut ${cut} the call): keeps the key, so that there are never two holds under it`, async () => {
      const world = await CoreWorld.open();
      expect(await create(world, { call: 'accounts.apply', cut })).to.equal('StoreUnavailable');
      expect(await create(world)).to.equal('IDEMPOTENCY_IN_PROGRESS');
      world.clock.jump(world.settings.claimLeaseMs);
      expect(await create(world)).to.equal('OK');
      const [generation] = await world.generations();
      expect([...(await world.account()).holds.keys()], 'the lost hold went when the key was taken over').to.deep.equal([generation?.generationId]);
    });
  }
});
