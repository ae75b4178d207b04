// Goal: what a customer sees of the ledger is the ledger, and its balances add up from page to page.
// Method: random histories of grants, adjustments, holds and settlements on memory adapters, read in pages of any size.
import { expect } from 'chai';
import fc from 'fast-check';
import { adjustCredits, grantCredits, listEntries, type Statement } from '../../../core/credits/operate.js';
import { anApiKey, uuidAt } from '../../fixtures/stored-records.js';
import { CoreHarness } from '../../harness/core-harness.js';

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
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 30 }), fc.integer({ min: 1, max: 9 }), async (steps, limit) => {
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
      }),
      { numRuns: 100 },
    );
  });

  it('continues where it was, though entries were added meanwhile', async () => {
    const harness = await CoreHarness.open({ credits: 20 });
    await play(harness, [
      { do: 'grant', credits: 1 },
      { do: 'grant', credits: 2 },
    ]);
    const before = await harness.entries();
    const first = await listEntries(harness.context, harness.caller, { limit: 1 });
    await grantCredits(harness.context, {
      accountId: harness.caller.accountId,
      operationId: 'x',
      credits: 5,
      reason: '',
    });
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
