import { expect } from 'chai';
import fc from 'fast-check';
import { CallOver } from '../../../core/cancellation.js';
import { adjustCredits, getBalance, grantCredits, listEntries, type Statement } from '../../../core/credits/operate.js';
import { ServiceError } from '../../../core/errors.js';
import { TestedCall } from '../../fixtures/cancellation.js';
import { expectBooksRight } from '../../fixtures/ledgers.js';
import { anApiKey, uuidAt } from '../../fixtures/stored-records.js';
import { CoreHarness, expectCode } from '../../harness/core-harness.js';
import { forAll } from '../../harness/for-all.js';

// Goal: an operator's grant or adjustment happens once and within the rules, or is refused with one sentence.
// Method: the use cases on memory adapters.

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
    await expectCode('CREDITS_INSUFFICIENT', adjustCredits(harness.context, operation('b', -41)));
    expect(await adjustCredits(harness.context, operation('c', 5))).to.include({ available: 45, issued: 45 });
  });

  it('do not touch reserved credits', async () => {
    await harness.create({ count: 4 });
    await expectCode('CREDITS_INSUFFICIENT', adjustCredits(harness.context, operation('a', -61)));
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
      await expectCode('FIELD_INVALID', grantCredits(harness.context, operation('x', credits)), String(credits));
    await expectCode('FIELD_INVALID', grantCredits(harness.context, operation('x', Number.MAX_SAFE_INTEGER)));
    await expectCode('FIELD_INVALID', adjustCredits(harness.context, operation('x', 1, '  ')));
    await expectCode('NOT_FOUND', grantCredits(harness.context, { ...operation('x', 1), accountId: 'nobody' }));
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

// Goal: what a customer sees of the ledger is the ledger, and its balances add up from page to page.
// Method: random histories of grants, adjustments, holds and settlements on memory adapters, read in pages of any size.

type Step =
  | { readonly do: 'grant' | 'take'; readonly credits: number }
  | { readonly do: 'hold'; readonly credits: number }
  | { readonly do: 'settle'; readonly which: number; readonly charge: number };

const credits = fc.integer({ min: 1, max: 30 });
const step: fc.Arbitrary<Step> = fc.oneof(
  fc.record({ do: fc.constantFrom('grant' as const, 'take' as const), credits }),
  fc.record({ do: fc.constant('hold' as const), credits }),
  fc.record({ do: fc.constant('settle' as const), which: fc.nat({ max: 9 }), charge: fc.nat({ max: 30 }) }),
);

/** Refused steps write nothing. */
async function play(harness: CoreHarness, steps: readonly Step[]): Promise<void> {
  const { context, caller } = harness;
  const { accountId } = caller;
  const held: { readonly generationId: string; readonly credits: number }[] = [];
  for (const [n, one] of steps.entries()) {
    const operation = { accountId, operationId: `o${n}`, reason: `step ${n}` };
    if (one.do === 'grant') await grantCredits(context, { ...operation, credits: one.credits });
    if (one.do === 'take') await adjustCredits(context, { ...operation, credits: -one.credits }).catch(() => undefined);
    if (one.do === 'hold') {
      const generationId = context.ids.uuid();
      const attribution = { credentialId: caller.credentialId, modelKey: 'm' };
      const hold = { kind: 'hold', generationId, credits: one.credits, maxOpenHolds: 100, attribution } as const;
      const outcome = await context.accountWriter.execute(accountId, hold);
      if (!('refused' in outcome) || !outcome.refused) held.push({ generationId, credits: one.credits });
    }
    if (one.do === 'settle') {
      const [hold] = held.splice(one.which % Math.max(held.length, 1), 1);
      if (hold === undefined) continue;
      const charge = Math.min(one.charge, hold.credits);
      await context.accountWriter.execute(accountId, { kind: 'settle', generationId: hold.generationId, charge });
    }
  }
}

async function pagesOf(harness: CoreHarness, limit: number): Promise<Statement[]> {
  const pages: Statement[] = [];
  for (let cursor: string | undefined; ;) {
    const page: Statement = await listEntries(harness.context, harness.caller, {
      limit,
      ...(cursor === undefined ? {} : { cursor }),
    });
    pages.push(page);
    cursor = page.nextCursor;
    if (cursor === undefined) return pages;
  }
}

const shown = (pages: readonly Statement[]) => pages.flatMap(({ entries }) => entries.map(({ entry }) => entry));

describe('listEntries', () => {
  it('shows the whole ledger, newest first, and its balances reconcile in pages of any size', async () => {
    await forAll(100, [fc.array(step, { maxLength: 30 }), fc.integer({ min: 1, max: 9 })], async (steps, limit) => {
      const harness = await CoreHarness.open({ credits: 20 });
      await play(harness, steps);
      const pages = await pagesOf(harness, limit);
      expect(shown(pages)).to.deep.equal((await harness.entries()).toReversed());
      expect(pages[0]?.closingCredits).to.equal((await harness.account()).available);
      expect(pages.at(-1)?.openingCredits).to.equal(0);
      for (const [index, { entries, openingCredits, closingCredits }] of pages.entries()) {
        const changes = entries.reduce((sum, { availableChange }) => sum + availableChange, 0);
        expect(openingCredits + changes).to.equal(closingCredits);
        if (index > 0) expect(closingCredits).to.equal(pages[index - 1]?.openingCredits);
      }
    });
  });

  it('continues where it was, though entries were added meanwhile', async () => {
    const harness = await CoreHarness.open({ credits: 20 });
    await play(harness, [
      { do: 'grant', credits: 1 },
      { do: 'grant', credits: 2 },
    ]);
    const before = await harness.entries();
    const first = await listEntries(harness.context, harness.caller, { limit: 1 });
    await harness.grant(5, 'x');
    const next = await listEntries(harness.context, harness.caller, { limit: 9, cursor: first.nextCursor as string });
    expect(shown([first, next])).to.deep.equal(before.toReversed());
    expect(next.closingCredits).to.equal(first.openingCredits);
  });

  it('is empty for an account without entries', async () => {
    const harness = await CoreHarness.open({ credits: 0 });
    expect(await listEntries(harness.context, harness.caller, { limit: 5 })).to.deep.equal({
      entries: [],
      openingCredits: 0,
      closingCredits: 0,
    });
  });

  it('names keys of the account and services, and nothing that it does not know', async () => {
    const harness = await CoreHarness.open({ credits: 100 });
    const { context, caller } = harness;
    await context.credentials.insertKey(anApiKey(1, { accountId: caller.accountId, name: 'web shop' }));
    await context.credentials.insertKey(anApiKey(2, { accountId: uuidAt(99), name: "another account's" }));
    for (const credentialId of [uuidAt(1), 'service:shop', uuidAt(2), uuidAt(3)])
      await context.accountWriter.execute(caller.accountId, {
        kind: 'hold',
        generationId: context.ids.uuid(),
        credits: 1,
        maxOpenHolds: 100,
        attribution: { credentialId, modelKey: 'm' },
      });
    const { entries } = await listEntries(context, caller, { limit: 5 });
    expect(entries.map(({ credentialName }) => credentialName)).to.deep.equal([
      undefined,
      undefined,
      'shop',
      'web shop',
      undefined,
    ]);
  });
});
