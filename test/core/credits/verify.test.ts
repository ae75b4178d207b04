// Goal: verify finds every way in which books, holds and generations can disagree, and finds nothing when they agree,
// even beside live processes.
// Method: a short history of real use cases; then one read of the stores at a time is falsified.
import { expect } from 'chai';
import type { Account, Entry } from '../../../core/credits/account.js';
import { grantCredits } from '../../../core/credits/operate.js';
import { verifyCredits } from '../../../core/credits/verify.js';
import { cancelGeneration } from '../../../core/generation/end-generation.js';
import type { Generation } from '../../../core/generation/generation.js';
import type { Page } from '../../../core/paging.js';
import { imagesOf } from '../../fixtures/scripted-provider.js';
import { ATTRIBUTION } from '../../fixtures/stored-records.js';
import { CoreHarness } from '../../harness/core-harness.js';
import { CoreWorker, untilSettled } from '../../harness/core-worker.js';

interface Falsified {
  readonly account?: (account: Account) => Account;
  readonly entries?: (entries: readonly Entry[]) => readonly Entry[];
  readonly generation?: (generation: Generation) => Generation;
}

/** One succeeded (30 of 40 charged), one cancelled, one queued with its hold of 20. */
async function history(): Promise<CoreHarness> {
  const harness = await CoreHarness.open();
  const worker = await CoreWorker.start(harness);
  harness.provider.newReport = () => ({ state: 'succeeded', outputs: imagesOf(3) });
  await untilSettled(harness, (await harness.create({ count: 4 })).generationId);
  await worker.context.wakeUps.stop();
  await cancelGeneration(harness.context, harness.caller, (await harness.create()).generationId);
  await harness.create({ count: 2 });
  return harness;
}

async function findingsOf(
  harness: CoreHarness,
  { account, entries, generation }: Falsified,
  beside: () => Promise<unknown> = async () => undefined,
): Promise<readonly string[]> {
  const context = harness.process(async (call) => {
    const answer = await call.proceed();
    if (call.name === 'accounts.read' && account && answer) return account(answer as Account);
    if (call.name === 'accounts.entries') {
      await beside();
      if (entries) return { items: entries((answer as Page<Entry>).items) };
    }
    if (call.name === 'generations.list' && generation)
      return { items: (answer as Page<Generation>).items.map(generation) };
    return answer;
  });
  return (await harness.clock.run(verifyCredits(context))).findings;
}

const without = (index: number) => (entries: readonly Entry[]) => entries.toSpliced(index, 1);
const edit = (kind: Entry['kind'], change: Partial<Entry>) => (entries: readonly Entry[]) =>
  entries.map((entry) => (entry.kind === kind ? { ...entry, ...change } : entry));
const onlyStatus = (status: Generation['status'], change: Partial<Generation>) => (g: Generation) =>
  g.status === status ? { ...g, ...change } : g;
const holdsOf =
  (change: (holds: Map<string, { generationId: string; credits: number; heldAt: number }>) => void) =>
  (account: Account) => {
    const holds = new Map(account.holds);
    change(holds);
    return { ...account, holds };
  };

const FALSIFIED: Readonly<Record<string, Falsified>> = {
  'a balance one too high': { account: (a) => ({ ...a, available: a.available + 1 }) },
  'one spent too many': { account: (a) => ({ ...a, spent: a.spent + 1 }) },
  'one issued too few': { account: (a) => ({ ...a, issued: a.issued - 1 }) },
  'one reserved too few': { account: (a) => ({ ...a, reserved: a.reserved - 1 }) },
  'credits moved between two books': {
    account: (a) => ({ ...a, available: a.available + 5, reserved: a.reserved - 5 }),
  },
  'an open hold lost': { account: holdsOf((holds) => holds.clear()) },
  'an open hold of another amount': {
    account: holdsOf((holds) => {
      for (const [id, hold] of holds) holds.set(id, { ...hold, credits: 19 });
    }),
  },
  'a hold nobody took': {
    account: holdsOf((holds) => {
      holds.set('x', { generationId: 'x', credits: 0, heldAt: 1 });
    }),
  },
  'the first entry lost': { entries: without(0) },
  'an entry lost in between': { entries: without(2) },
  'the last entry lost': { entries: (entries) => entries.slice(0, -1) },
  'an entry twice': { entries: (entries) => entries.toSpliced(2, 0, ...entries.slice(2, 3)) },
  'two entries in another order': {
    entries: (entries) => [...entries.slice(0, 1), ...entries.slice(1, 3).toReversed(), ...entries.slice(3)],
  },
  'an entry of another amount': { entries: edit('charge', { credits: 29 }) },
  'half a credit': { entries: edit('charge', { credits: 29.5 }) },
  'a negative entry': { entries: edit('charge', { credits: -30 }) },
  'an entry between other books': { entries: edit('charge', { to: 'available' }) },
  'an entry of another kind': { entries: edit('charge', { kind: 'release' }) },
  'an entry that says another balance': { entries: edit('charge', { availableAfter: 1 }) },
  'a charge of another generation': { entries: edit('charge', { generationId: 'x' }) },
  'a generation that says another charge': { generation: onlyStatus('succeeded', { chargedCredits: 20 }) },
  'a generation charged more than was reserved': { generation: onlyStatus('succeeded', { chargedCredits: 41 }) },
  'a generation charged less than nothing': { generation: onlyStatus('cancelled', { chargedCredits: -1 }) },
  'a generation that reserved another amount': {
    generation: onlyStatus('queued', { reservedCredits: 21, estimatedCredits: 21 }),
  },
  'a generation reserved at another price than estimated': {
    generation: onlyStatus('queued', { estimatedCredits: 21 }),
  },
  'a generation charged before its end': { generation: onlyStatus('queued', { chargedCredits: 1 }) },
  'an open generation whose hold has ended': { generation: onlyStatus('cancelled', { status: 'running' }) },
  'a settled generation whose hold is open': { generation: onlyStatus('queued', { status: 'failed', settledAt: 1 }) },
  'an open generation that holds nothing': { generation: onlyStatus('queued', { generationId: 'x' }) },
};

describe('verifyCredits', () => {
  it('finds nothing if everything agrees, and counts what it examined', async () => {
    const harness = await history();
    const { findings, ...counts } = await verifyCredits(harness.context);
    expect([findings, counts]).to.deep.equal([
      [],
      { accounts: 1, entries: (await harness.entries()).length, generations: 3 },
    ]);
  });

  for (const [name, falsified] of Object.entries(FALSIFIED)) {
    it(`finds ${name}`, async () => {
      const findings = await findingsOf(await history(), falsified);
      expect(findings).not.to.deep.equal([]);
      for (const finding of findings) expect(finding, 'one sentence').to.match(/^(Account|Entry|Generation) .+[^.]\.$/);
    });
  }

  it('finds two entries of one operation', async () => {
    const harness = await history();
    await grantCredits(harness.context, {
      accountId: harness.caller.accountId,
      operationId: 'second',
      credits: 5,
      reason: 'r',
    });
    expect(await findingsOf(harness, { entries: edit('grant', { operationId: 'first' }) })).not.to.deep.equal([]);
  });

  it('finds a wrong balance on an account in use, and nothing on a correct one', async () => {
    const harness = await history();
    let grants = 0;
    const beside = () => {
      grants += 1;
      return grantCredits(harness.context, {
        accountId: harness.caller.accountId,
        operationId: `g${grants}`,
        credits: 3,
        reason: 'r',
      });
    };
    expect(await findingsOf(harness, {}, beside)).to.deep.equal([]);
    expect(
      await findingsOf(harness, { account: (a) => ({ ...a, available: a.available + 1 }) }, beside),
    ).not.to.deep.equal([]);
  });

  it('finds nothing wrong with a generation that is being settled meanwhile', async () => {
    const harness = await history();
    const queued = (await harness.generations()).find(({ status }) => status === 'queued');
    let isDone = false;
    const beside = async () => {
      if (isDone) return;
      isDone = true;
      await cancelGeneration(harness.context, harness.caller, queued?.generationId ?? '');
    };
    expect(await findingsOf(harness, {}, beside)).to.deep.equal([]);
  });

  it('sees every entry of a long ledger', async () => {
    const harness = await CoreHarness.open();
    for (let made = 0; made < 1_200; made += 1) {
      await harness.context.accountWriter.execute(harness.caller.accountId, {
        kind: 'grant',
        operationId: `many${made}`,
        credits: 1,
        reason: 'r',
      });
    }
    const { entries, findings } = await verifyCredits(harness.context);
    expect([entries, findings]).to.deep.equal([1_201, []]);
  });

  it('finds a hold that recovery should have ended, and ignores a create in progress', async () => {
    const harness = await CoreHarness.open();
    await harness.context.accountWriter.execute(harness.caller.accountId, {
      kind: 'hold',
      generationId: harness.ports.ids.uuid(),
      credits: 7,
      maxOpenHolds: 10,
      attribution: ATTRIBUTION,
    });
    expect(await findingsOf(harness, {})).to.deep.equal([]);
    harness.clock.jump(20 * harness.settings.claimLeaseMs);
    expect(await findingsOf(harness, {}))
      .to.have.length(1)
      .and.satisfy(([finding]: string[]) => finding?.includes('holds 7 credits') === true);
  });
});
