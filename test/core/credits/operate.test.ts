// Goal: an operator's grant or adjustment happens once, within the rules, and is told in one sentence when it cannot.
// Method: the use cases on memory adapters.
import { expect } from 'chai';
import { getBalance } from '../../../core/credits/get-balance.js';
import { adjustCredits, grantCredits } from '../../../core/credits/operate.js';
import { CoreWorld } from '../../fixtures/core-world.js';
import { expectBooksRight } from '../../fixtures/ledger-checks.js';
import { codeOf } from '../../fixtures/refusals.js';

describe('credit operations', () => {
  let world: CoreWorld;
  const operation = (operationId: string, credits: number, reason = 'r') => ({ accountId: world.caller.accountId, operationId, credits, reason });
  beforeEach(async () => { world = await CoreWorld.open({ credits: 100 }); });
  afterEach(async () => expectBooksRight(await world.account(), await world.entries()));

  it('grant once, whoever repeats it, together or later', async () => {
    const other = world.process();
    await world.clock.run(Promise.all([world.context, other, world.context, other].map((context) => grantCredits(context, operation('g', 10)))));
    await grantCredits(world.context, operation('g', 10));
    expect(await getBalance(world.context, world.caller)).to.deep.equal({ availableCredits: 110, currency: 'credits' });
  });

  it('adjust both ways, but not below zero, and count what was issued', async () => {
    expect(await adjustCredits(world.context, operation('a', -60))).to.include({ available: 40, issued: 40 });
    expect(await codeOf(adjustCredits(world.context, operation('b', -41)))).to.equal('CREDITS_INSUFFICIENT');
    expect(await adjustCredits(world.context, operation('c', 5))).to.include({ available: 45, issued: 45 });
  });

  it('do not take what is reserved', async () => {
    await world.create({ count: 4 });
    expect(await codeOf(adjustCredits(world.context, operation('a', -61)))).to.equal('CREDITS_INSUFFICIENT');
    expect(await adjustCredits(world.context, operation('b', -60))).to.include({ available: 0, reserved: 40 });
  });

  it('leave a balance that shows what can still be reserved, and nothing that is held', async () => {
    await world.create({ count: 4 });
    await grantCredits(world.context, operation('g', 5));
    expect(await getBalance(world.context, world.caller)).to.deep.equal({ availableCredits: 65, currency: 'credits' });
  });

  it('refuse what is not a whole number of credits within bounds, or has no reason', async () => {
    for (const credits of [0, -1, 0.5, Number.NaN, 2 ** 53]) expect(await codeOf(grantCredits(world.context, operation('x', credits))), String(credits)).to.equal('FIELD_INVALID');
    expect(await codeOf(grantCredits(world.context, operation('x', Number.MAX_SAFE_INTEGER)))).to.equal('FIELD_INVALID');
    expect(await codeOf(adjustCredits(world.context, operation('x', 1, '  ')))).to.equal('FIELD_INVALID');
    expect(await codeOf(grantCredits(world.context, { ...operation('x', 1), accountId: 'nobody' }))).to.equal('NOT_FOUND');
  });
});
