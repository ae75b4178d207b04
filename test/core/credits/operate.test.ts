// Goal: an operator's grant or adjustment happens once and within the rules, or is refused with one sentence.
// Method: the use cases on memory adapters.
import { expect } from 'chai';
import { CallOver } from '../../../core/cancellation.js';
import { adjustCredits, getBalance, grantCredits } from '../../../core/credits/operate.js';
import { ServiceError } from '../../../core/errors.js';
import { TestedCall } from '../../fixtures/cancellation.js';
import { expectBooksRight } from '../../fixtures/ledger-checks.js';
import { codeOf } from '../../fixtures/refusals.js';
import { CoreHarness } from '../../harness/core-harness.js';

/** The sentence of a refusal. */
function messageOf(work: Promise<unknown>): Promise<string> {
  return work.then(
    () => 'OK',
    (error: unknown) => {
      if (error instanceof ServiceError) return error.message;
      throw error;
    },
  );
}

describe('credit operations', () => {
  let harness: CoreHarness;
  const operation = (operationId: string, credits: number, reason = 'r') => ({
    accountId: harness.caller.accountId,
    operationId,
    credits,
    reason,
  });
  beforeEach(async () => {
    harness = await CoreHarness.open({ credits: 100 });
  });
  afterEach(async () => expectBooksRight(await harness.account(), await harness.entries()));

  it('grant once, however often repeated, concurrently or later', async () => {
    const other = harness.process();
    await harness.clock.run(
      Promise.all(
        [harness.context, other, harness.context, other].map((context) => grantCredits(context, operation('g', 10))),
      ),
    );
    await grantCredits(harness.context, operation('g', 10));
    expect(await getBalance(harness.context, harness.caller)).to.deep.equal({
      availableCredits: 110,
      currency: 'credits',
    });
  });

  it('write nothing for a call that is over before they begin, and complete what they began', async () => {
    for (const operate of [grantCredits, adjustCredits]) {
      const before = await harness.account();
      const left: unknown = await operate({ ...harness.context, call: TestedCall.over() }, operation('o', 10)).catch(
        (error: unknown) => error,
      );
      expect(left).to.be.instanceOf(CallOver);
      expect(await harness.account()).to.deep.equal(before);
    }
    const call = new TestedCall();
    const begun = grantCredits({ ...harness.context, call }, operation('g', 10));
    call.end();
    expect(await begun).to.include({ available: 110 });
  });

  it('adjust both ways, but not below zero, and count what was issued', async () => {
    expect(await adjustCredits(harness.context, operation('a', -60))).to.include({ available: 40, issued: 40 });
    expect(await codeOf(adjustCredits(harness.context, operation('b', -41)))).to.equal('CREDITS_INSUFFICIENT');
    expect(await adjustCredits(harness.context, operation('c', 5))).to.include({ available: 45, issued: 45 });
  });

  it('do not touch reserved credits', async () => {
    await harness.create({ count: 4 });
    expect(await codeOf(adjustCredits(harness.context, operation('a', -61)))).to.equal('CREDITS_INSUFFICIENT');
    expect(await adjustCredits(harness.context, operation('b', -60))).to.include({ available: 0, reserved: 40 });
  });

  it('leave a balance that shows what can still be reserved, without held credits', async () => {
    await harness.create({ count: 4 });
    await grantCredits(harness.context, operation('g', 5));
    expect(await getBalance(harness.context, harness.caller)).to.deep.equal({
      availableCredits: 65,
      currency: 'credits',
    });
  });

  it('refuse what is not a whole number of credits within bounds, or has no reason', async () => {
    for (const credits of [0, -1, 0.5, Number.NaN, 2 ** 53])
      expect(await codeOf(grantCredits(harness.context, operation('x', credits))), String(credits)).to.equal(
        'FIELD_INVALID',
      );
    expect(await codeOf(grantCredits(harness.context, operation('x', Number.MAX_SAFE_INTEGER)))).to.equal(
      'FIELD_INVALID',
    );
    expect(await codeOf(adjustCredits(harness.context, operation('x', 1, '  ')))).to.equal('FIELD_INVALID');
    expect(await codeOf(grantCredits(harness.context, { ...operation('x', 1), accountId: 'nobody' }))).to.equal(
      'NOT_FOUND',
    );
  });

  it('take an operation id of 1 to 255 characters and a reason of at most 1,000, and write nothing of longer ones', async () => {
    const [long, longest] = ['i'.repeat(255), 'r'.repeat(1_000)];
    for (const operate of [grantCredits, adjustCredits]) {
      const before = await harness.account();
      for (const operationId of ['', `${long}i`, 'a\0b', '\ud800']) {
        expect(await messageOf(operate(harness.context, operation(operationId, 1)))).to.equal(
          'An operation id must have 1 to 255 characters, none of them NUL or half a character.',
        );
      }
      for (const reason of [`${longest}r`, 'a\0b', '\udc00']) {
        expect(await messageOf(operate(harness.context, operation('x', 1, reason)))).to.equal(
          'A reason must have at most 1,000 characters, none of them NUL or half a character.',
        );
      }
      expect(await harness.account()).to.deep.equal(before);
    }
    expect(await grantCredits(harness.context, operation(long, 1, ''))).to.include({ available: 101 });
    expect(await adjustCredits(harness.context, operation('i', 1, longest))).to.include({ available: 102 });
    expect((await harness.entries()).slice(-2).map(({ operationId, reason }) => [operationId, reason])).to.deep.equal([
      [long, ''],
      ['i', longest],
    ]);
  });
});
