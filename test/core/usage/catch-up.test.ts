// Goal: long ledgers are taken into the rows of usage in the background, in bounded passes, by any number of processes, and
// short ones and traces that nobody asked for are left alone.
// Method: ledgers of memory stores, passes with low bounds; calls are counted; verify compares rows and ledgers.
import { expect } from 'chai';
import type { Context } from '../../../core/context.js';
import { verifyCredits } from '../../../core/credits/verify.js';
import { StoreUnavailable } from '../../../core/errors.js';
import { projectUsage, UsageCatchUp } from '../../../core/usage/project-usage.js';
import { type UsageList, wholeAccount } from '../../../core/usage/usage.js';
import { addEntries } from '../../fixtures/long-ledger.js';
import { CoreHarness } from '../../harness/core-harness.js';

type Usage = Context['usage'];

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

  /** Two accounts with long ledgers, in the order in which passes look at them; `apply` decides of the first one's writes. */
  async function twoOfWhich(apply: () => ReturnType<Usage['apply']>) {
    const harness = await CoreHarness.open();
    const [other] = await callers(harness, 1);
    for (const accountId of [harness.caller.accountId, other?.accountId ?? ''])
      await addEntries(harness.context, accountId, 600);
    const { usage, accounts, log } = harness.context;
    const ids = (await accounts.list({ limit: 2 })).items.map(({ accountId }) => accountId);
    const decided: Usage = {
      read: usage.read.bind(usage),
      list: usage.list.bind(usage),
      listTraces: usage.listTraces.bind(usage),
      apply: (...asked) => (asked[0][0]?.row.accountId === ids[0] ? apply() : usage.apply(...asked)),
    };
    const catchUp = new UsageCatchUp({ accounts, usage: decided, log }, BOUNDS);
    const come = () => Promise.all(ids.map((accountId) => comeTo(harness, accountId, 'uses')));
    return { harness, ids, catchUp, come };
  }

  it('leaves an account to another process that is at it, and looks at the next', async () => {
    let conflicts = 0;
    const { catchUp, come } = await twoOfWhich(() => {
      conflicts += 1;
      return Promise.resolve('conflict');
    });
    await catchUp.pass();
    expect(conflicts).to.equal(1);
    expect(await come()).to.deep.equal([0, 601]);
  });

  it('names an account that it cannot take in, and looks at the next', async () => {
    const error = new Error('A row that cannot be.');
    const { harness, ids, catchUp, come } = await twoOfWhich(() => Promise.reject(error));
    for (const _pass of [1, 2]) await catchUp.pass();
    expect(await come()).to.deep.equal([0, 601]);
    const warning = { event: 'usage not brought up to date', about: { accountId: ids[0], error } };
    expect(harness.warnings).to.deep.equal([warning, warning]);
  });

  it('ends a pass when the store is away', async () => {
    const { harness, catchUp, come } = await twoOfWhich(() => Promise.reject(new StoreUnavailable('It is away.')));
    const failed = await catchUp.pass().catch((error: unknown) => error);
    expect(failed).to.be.instanceOf(StoreUnavailable);
    expect(await come()).to.deep.equal([0, 0]);
    expect(harness.warnings).to.deep.equal([]);
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
