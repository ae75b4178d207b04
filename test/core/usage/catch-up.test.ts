// Goal: long ledgers are taken into the rows of usage in the background, in bounded passes, by any number of processes, and
// short ones and traces that nobody asked for are left alone.
// Method: ledgers of memory stores, passes with low bounds; calls are counted; verify compares rows and ledgers.
import { expect } from 'chai';
import { verifyCredits } from '../../../core/credits/verify.js';
import { UsageCatchUp } from '../../../core/usage/catch-up.js';
import { projectUsage } from '../../../core/usage/project-usage.js';
import { wholeAccount, type UsageList } from '../../../core/usage/usage.js';
import { addEntries } from '../../fixtures/long-ledger.js';
import { CoreHarness } from '../../harness/core-harness.js';

const BOUNDS = { accounts: 2, entries: 1_000, behind: 50 };

async function comeTo({ context }: CoreHarness, accountId: string, list: UsageList): Promise<number> {
  const [whole] = await context.usage.read([wholeAccount(accountId, list)]);
  return whole?.lastSequence ?? 0;
}

async function expectVerified({ context }: CoreHarness): Promise<void> {
  const { findings } = await verifyCredits(context);
  expect(findings.filter((one) => one.includes('usage'))).to.deep.equal([]);
}

describe('UsageCatchUp', () => {
  it('brings long ledgers of all accounts up to date, pass by pass, and leaves short ones', async () => {
    const harness = await CoreHarness.open();
    const [short, ...long] = [harness.caller, ...(await callers(harness, 5))].map(({ accountId }) => accountId);
    for (const accountId of long) await addEntries(harness.context, accountId, 600);
    await addEntries(harness.context, short ?? '', 48);
    const catchUp = new UsageCatchUp(harness.context, BOUNDS);
    for (let pass = 0; pass < 8; pass += 1) await catchUp.pass();
    for (const accountId of long) {
      expect(await comeTo(harness, accountId, 'uses')).to.equal(601);
      expect(await comeTo(harness, accountId, 'traces'), 'nobody asked').to.equal(0);
    }
    expect(await comeTo(harness, short ?? '', 'uses')).to.equal(0);
    await expectVerified(harness);
  });

  it('takes in no more entries a pass than it may, and goes on where it stopped', async () => {
    const harness = await CoreHarness.open();
    const { accountId } = harness.caller;
    await addEntries(harness.context, accountId, 2_500);
    const catchUp = new UsageCatchUp(harness.context, BOUNDS);
    for (const through of [1_000, 2_000, 2_501, 2_501]) {
      await catchUp.pass();
      expect(await comeTo(harness, accountId, 'uses')).to.equal(through);
    }
    await expectVerified(harness);
  });

  it('goes on with traces once they have been asked for, more of them than one write may have', async () => {
    const harness = await CoreHarness.open();
    const { accountId } = harness.caller;
    await addEntries(harness.context, accountId, 6_000);
    const asked = { accountId, list: 'traces', through: 6_001, maxEntries: 10 } as const;
    expect(await projectUsage(harness.context, asked)).to.equal('behind');
    await new UsageCatchUp(harness.context, { ...BOUNDS, entries: 20_000 }).pass();
    expect(await comeTo(harness, accountId, 'traces')).to.equal(6_001);
    await expectVerified(harness);
  });

  it('is right with several processes at a time, and none of them insists', async () => {
    const harness = await CoreHarness.open();
    for (const { accountId } of [harness.caller, ...(await callers(harness, 3))])
      await addEntries(harness.context, accountId, 1_500);
    const processes = [1, 2, 3].map(() => new UsageCatchUp(harness.process(), BOUNDS));
    for (let pass = 0; pass < 10; pass += 1) {
      const { accountId, lastSequence } = await harness.account();
      const asked = { accountId, list: 'uses', through: lastSequence } as const;
      await Promise.all([...processes.map((one) => one.pass()), projectUsage(harness.context, asked)]);
    }
    const { items } = await harness.context.accounts.list({ limit: 10 });
    for (const { accountId, lastSequence } of items)
      expect(await comeTo(harness, accountId, 'uses')).to.equal(lastSequence);
    await expectVerified(harness);
  });

  it('leaves an account to another process that is at it, and looks at the next', async () => {
    const harness = await CoreHarness.open();
    const [other] = await callers(harness, 1);
    for (const accountId of [harness.caller.accountId, other?.accountId ?? ''])
      await addEntries(harness.context, accountId, 600);
    const { usage, accounts } = harness.context;
    const first = (await accounts.list({ limit: 1 })).items[0]?.accountId;
    let conflicts = 0;
    const contended = {
      read: usage.read.bind(usage),
      list: usage.list.bind(usage),
      listTraces: usage.listTraces.bind(usage),
      apply: (...asked: Parameters<typeof usage.apply>): ReturnType<typeof usage.apply> => {
        if (asked[0][0]?.row.accountId !== first) return usage.apply(...asked);
        conflicts += 1;
        return Promise.resolve('conflict');
      },
    };
    await new UsageCatchUp({ accounts, usage: contended }, BOUNDS).pass();
    expect(conflicts).to.equal(1);
    const came = await Promise.all(
      (await accounts.list({ limit: 2 })).items.map((one) => comeTo(harness, one.accountId, 'uses')),
    );
    expect(came).to.deep.equal([0, 601]);
  });

  it('takes in nothing once it is stopped', async () => {
    const harness = await CoreHarness.open();
    await addEntries(harness.context, harness.caller.accountId, 600);
    const catchUp = new UsageCatchUp(harness.context, BOUNDS);
    catchUp.stop();
    await catchUp.pass();
    expect(await comeTo(harness, harness.caller.accountId, 'uses')).to.equal(0);
  });
});

async function callers(harness: CoreHarness, count: number) {
  return Promise.all(Array.from({ length: count }, () => harness.newCaller(100)));
}
