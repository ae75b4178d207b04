// Goal: an operator finds, reads and cancels the generations of any account; results are complete, and a cancel follows
// the rules of a client's cancel.
// Method: use cases on the memory stores, compared with a filtered array; store reads are counted.
import { expect } from 'chai';
import fc from 'fast-check';
import { verifyCredits } from '../../../core/credits/verify.js';
import { type GenerationStatus, STATUSES } from '../../../core/generation/generation.js';
import {
  cancelAnyGeneration,
  findGeneration,
  type GenerationFilter,
  searchGenerations,
} from '../../../core/generation/operators-generations.js';
import { changeGeneration } from '../../../core/generation/settle-generation.js';
import { allPages } from '../../contracts/all-pages.js';
import { codeOf } from '../../fixtures/refusals.js';
import { aGeneration, aTombstone, uuidAt } from '../../fixtures/stored-records.js';
import { CoreHarness } from '../../harness/core-harness.js';

/** An App is of one account. */
const appOf = (account: number, app: number) => uuidAt(200 + 10 * account + app);

describe('searchGenerations', () => {
  it('finds what a filtered array has, newest first, in full pages of any size', async () => {
    const record = fc.record({
      account: fc.nat({ max: 2 }),
      app: fc.nat({ max: 1 }),
      status: fc.constantFrom(...STATUSES),
    });
    const asked = fc.record({
      account: fc.option(fc.nat({ max: 3 }), { nil: undefined }),
      app: fc.option(fc.nat({ max: 1 }), { nil: undefined }),
      statuses: fc.option(fc.subarray([...STATUSES]), { nil: undefined }),
      limit: fc.integer({ min: 1, max: 9 }),
    });
    await fc.assert(
      fc.asyncProperty(
        fc.array(record, { maxLength: 40 }),
        asked,
        async (records, { account, app, statuses, limit }) => {
          const harness = await CoreHarness.open();
          const all = records.map((one, n) =>
            aGeneration(n, {
              accountId: uuidAt(100 + one.account),
              appId: appOf(one.account, one.app),
              status: one.status,
            }),
          );
          for (const generation of all) await harness.ports.generations.insert(generation);
          const of: GenerationFilter =
            account === undefined
              ? {}
              : { accountId: uuidAt(100 + account), ...(app === undefined ? {} : { appId: appOf(account, app) }) };
          const found = await allPages(async (page) => {
            const answer = await searchGenerations(
              harness.context,
              { ...of, ...(statuses === undefined ? {} : { statuses }) },
              page,
            );
            expect(answer.items.length).to.be.at.most(limit);
            return answer;
          }, limit);
          const wanted = all
            .toReversed()
            .filter(
              (g) =>
                (of.accountId ?? g.accountId) === g.accountId &&
                (of.appId ?? g.appId) === g.appId &&
                (statuses ?? STATUSES).includes(g.status),
            );
          expect(found).to.deep.equal(wanted);
        },
      ),
      { numRuns: 200 },
    );
  });

  it('reads a bounded part of the store for a page, and continues after it', async () => {
    const harness = await CoreHarness.open();
    for (let n = 0; n < 150; n += 1)
      await harness.ports.generations.insert(aGeneration(n, { status: n === 0 ? 'failed' : 'succeeded' }));
    let reads = 0;
    const counting = harness.process((call) => {
      if (call.name === 'generations.list') reads += 1;
      return call.proceed();
    });
    const statuses: GenerationStatus[] = ['failed'];
    const first = await searchGenerations(counting, { statuses }, { limit: 1 });
    expect([reads, first.items]).to.deep.equal([100, []]);
    const second = await searchGenerations(counting, { statuses }, { limit: 1, cursor: first.nextCursor as string });
    expect(second.items.map(({ generationId }) => generationId)).to.deep.equal([uuidAt(0)]);
  });
});

describe('findGeneration and cancelAnyGeneration', () => {
  it('answer not found for a missing, precluded or expired generation', async () => {
    const harness = await CoreHarness.open();
    await harness.ports.generations.insert(aTombstone(1));
    await harness.ports.generations.insert(aTombstone(2, { kind: 'expired' }));
    for (const id of [uuidAt(1), uuidAt(2), uuidAt(3)]) {
      expect(await codeOf(findGeneration(harness.context, id)), id).to.equal('NOT_FOUND');
      expect(await codeOf(cancelAnyGeneration(harness.context, id)), id).to.equal('NOT_FOUND');
    }
  });

  it('end a queued one with its hold, ask a running one to stop, and leave an ended one, for any owner', async () => {
    const harness = await CoreHarness.open();
    const other = await harness.newCaller(100);
    const [queued, running, ended] = [
      await harness.create({}, other),
      await harness.create({}, other),
      await harness.create(),
    ];
    await changeGeneration(harness.context, running, {
      event: 'start',
      worker: 'w',
      token: 't',
      provider: 'scripted',
      leaseMs: 60_000,
    });
    await cancelAnyGeneration(harness.context, ended.generationId);
    const before = await findGeneration(harness.context, ended.generationId);
    expect(await cancelAnyGeneration(harness.context, queued.generationId)).to.include({
      status: 'cancelled',
      chargedCredits: 0,
    });
    expect(await cancelAnyGeneration(harness.context, running.generationId)).to.include({
      status: 'running',
      cancelRequestedAt: harness.clock.now(),
    });
    expect(await cancelAnyGeneration(harness.context, ended.generationId)).to.deep.equal(before);
    expect((await harness.account(other.accountId)).holds.size).to.equal(1);
    expect((await verifyCredits(harness.context)).findings).to.deep.equal([]);
  });
});
