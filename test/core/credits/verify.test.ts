import { expect } from 'chai';
import fc from 'fast-check';
import type { Account, Entry, Hold } from '../../../core/credits/account.js';
import { grantCredits } from '../../../core/credits/operate.js';
import { verifyCredits } from '../../../core/credits/verify.js';
import type { Generation } from '../../../core/generation/generation.js';
import type { Page } from '../../../core/paging.js';
import { projectUsage } from '../../../core/usage/project-usage.js';
import { type TraceRow, type UsageRow, wholeAccount } from '../../../core/usage/usage.js';
import { addEntries } from '../../fixtures/ledgers.js';
import { imagesOf } from '../../fixtures/scripted-provider.js';
import { ATTRIBUTION } from '../../fixtures/stored-records.js';
import { CoreHarness, CoreWorker, untilSettled } from '../../harness/core-harness.js';
import { forAll } from '../../harness/for-all.js';

// Goal: verify finds every way in which books, holds and generations can disagree, and finds nothing when they agree,
// even beside live processes.
// Method: a short history of real use cases; then one read of the stores at a time is falsified.

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
  await harness.cancel((await harness.create()).generationId);
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
    await harness.grant(5, 'second');
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
      await harness.cancel(queued?.generationId ?? '');
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

// Goal: verify yields after every 500 items, also in the comparison at the end of a large account, keeps the usage of a
// few days in memory at a time, and is right whatever the clocks of processes said and whoever writes usage meanwhile.
// Method: accounts with thousands of generations, holds and trace ids; the calls on stores and the yields are recorded
// in order. Then random ledgers whose days go forth and back, rows of which are damaged, beside a model that keeps
// every row.

const DAY_MS = 86_400_000;
const MANY = 5_000;
const ALWAYS = { from: '0', to: '9' };

type Said = 'rest' | { readonly call: string; readonly answer: unknown };

/** The steps of a check, in order. */
async function saidBy(harness: CoreHarness, falsify: (call: string, answer: unknown) => unknown): Promise<Said[]> {
  const said: Said[] = [];
  const context = harness.process(async (call) => {
    const answer = falsify(call.name, await call.proceed());
    said.push({ call: call.name, answer });
    return answer;
  });
  await verifyCredits(context, async () => {
    said.push('rest');
  });
  return said;
}

/** The number of yields after the last read of entries; each page of entries has its own yield. */
function restsAtEnd(said: readonly Said[]): number {
  const last = said.findLastIndex((one) => one !== 'rest' && one.call === 'accounts.entries');
  return said.slice(last).filter((one) => one === 'rest').length;
}

const asTheyAre = (_: string, answer: unknown): unknown => answer;

async function project({ context, caller }: CoreHarness): Promise<void> {
  const { lastSequence } = (await context.accounts.read(caller.accountId)) ?? { lastSequence: 0 };
  for (const list of ['uses', 'traces'] as const)
    for (let outcome = 'behind'; outcome === 'behind';)
      outcome = await projectUsage(context, { accountId: caller.accountId, list, through: lastSequence });
}

describe('verifyCredits in parts', () => {
  it('rests after every 500 trace ids of a day', async () => {
    const harness = await CoreHarness.open();
    await addEntries(harness.context, harness.caller.accountId, 2 * MANY);
    await project(harness);
    expect(restsAtEnd(await saidBy(harness, asTheyAre))).to.be.at.least(MANY / 500);
  });

  it('rests after every 500 open holds', async () => {
    const harness = await CoreHarness.open();
    const holds = new Map(
      Array.from({ length: MANY }, (_, n): [string, Hold] => {
        const generationId = `g${n}`;
        return [generationId, { generationId, credits: 0, heldAt: harness.clock.now() }];
      }),
    );
    const said = await saidBy(harness, (call, answer) =>
      call === 'accounts.read' ? { ...(answer as Account), holds } : answer,
    );
    expect(restsAtEnd(said)).to.be.at.least(MANY / 500);
  });

  it('rests after every 500 generations, and every 500 of those that look wrong', async () => {
    const harness = await CoreHarness.open();
    const generation = await harness.create();
    const items = Array.from({ length: MANY }, (_, n) => ({ ...generation, generationId: `g${n}` }));
    const said = await saidBy(harness, (call, answer) => (call === 'generations.list' ? { items } : answer));
    expect(restsAtEnd(said)).to.be.at.least((2 * MANY) / 500);
  });

  it('keeps the trace ids of the last days alone', async () => {
    const harness = await CoreHarness.open();
    for (let day = 0; day < 10; day += 1) {
      await addEntries(harness.context, harness.caller.accountId, 1_000);
      await project(harness);
      await harness.clock.advance(DAY_MS);
    }
    let [rows, most] = [new Array<string>(), 0];
    const said = await saidBy(harness, (call, answer) => {
      if (call === 'usage.listTraces') rows.push(...(answer as TraceRow[]).map(({ day }) => day));
      const last = call === 'accounts.entries' ? (answer as Page<Entry>).items.at(-1) : undefined;
      if (last !== undefined) {
        // The entries of the previous day may be incomplete so far.
        const dayBefore = new Date(last.at - DAY_MS).toISOString().slice(0, 10);
        rows = rows.filter((day) => day >= dayBefore);
      }
      most = Math.max(most, rows.length);
      return answer;
    });
    expect(most).to.be.within(500, 2_000);
    expect(restsAtEnd(said), 'those of the last days alone are compared at the end').to.be.below(10);
  });
});

interface Step {
  readonly days: number;
  readonly trace: string;
  readonly credits: number;
  readonly reads: boolean;
}

const step: fc.Arbitrary<Step> = fc.record({
  days: fc.constantFrom(0, 0, 0, 1, 1, -1, 2, 5, -4),
  trace: fc.constantFrom('', 'a', 'b'),
  credits: fc.nat({ max: 3 }),
  reads: fc.boolean(),
});

/** Appends a hold of each step, at days that go forth and back. */
async function write(harness: CoreHarness, steps: readonly Step[], onRead: () => Promise<void>): Promise<void> {
  const { clock, context, caller } = harness;
  let at = clock.now() + 10 * DAY_MS;
  for (const { days, trace, credits, reads } of steps) {
    at += days * DAY_MS;
    const { holds: _, capUses: __, profile: ___, ...account } = { profile: 0, ...(await harness.account()) };
    const sequence = account.lastSequence + 1;
    const attribution = { credentialId: 'k', modelKey: 'm', clientTraceId: trace };
    const to = {
      kind: 'hold',
      from: 'available',
      to: 'reserved',
      availableAfter: account.available - credits,
    } as const;
    await context.accounts.apply({
      ...account,
      expectedVersion: account.version,
      version: account.version + 1,
      available: account.available - credits,
      reserved: account.reserved + credits,
      lastSequence: sequence,
      holdsOpened: [],
      holdsClosed: [],
      entries: [{ accountId: caller.accountId, sequence, credits, at, attribution, ...to }],
    });
    if (reads) await onRead();
  }
}

const usageFindings = (findings: readonly string[]): string[] =>
  findings.filter((one) => one.includes('counts usage')).toSorted();

/** The number of rows by trace id that differ from their entries, computed from all rows and entries at once. */
async function model(harness: CoreHarness): Promise<number> {
  const { context, caller } = harness;
  const entries = (await harness.entries()).filter(({ kind }) => kind === 'hold');
  const [whole] = await context.usage.read([wholeAccount(caller.accountId, 'traces')]);
  const rows: TraceRow[] = [...(await context.usage.listTraces(caller.accountId, ALWAYS, { limit: 1_000 }))];
  const through = whole?.lastSequence ?? 0;
  const keys = new Set(rows.map(({ day, clientTraceId }) => `${day} ${clientTraceId}`));
  const keyOf = ({ at, attribution }: Entry) =>
    `${new Date(at).toISOString().slice(0, 10)} ${attribution?.clientTraceId ?? ''}`;
  for (const entry of entries) if (entry.sequence <= through) keys.add(keyOf(entry));
  return [...keys].filter((key) => {
    const row = rows.find(({ day, clientTraceId }) => `${day} ${clientTraceId}` === key);
    const last = Math.max(through, row?.lastSequence ?? 0);
    const own = entries.filter((entry) => entry.sequence <= last && keyOf(entry) === key);
    const credits = own.reduce((sum, entry) => sum + entry.credits, 0);
    return own.length !== (row?.generations ?? 0) || credits !== (row?.reservedCredits ?? 0);
  }).length;
}

describe('the usage that verifyCredits finds wrong', () => {
  it('is what a model finds that keeps every row, of days in any order', async () => {
    const damage = fc.record({
      which: fc.nat({ max: 20 }),
      by: fc.constantFrom(0, 0, 1, -1),
      ahead: fc.integer({ min: -3, max: 2 }),
    });
    const some = fc.array(step, { minLength: 1, maxLength: 25 });
    await forAll(300, [some, some, fc.array(damage, { maxLength: 3 })], async (before, after, damages) => {
      const harness = await CoreHarness.open();
      const { usage } = harness.context;
      await write(harness, before, () => project(harness));
      await project(harness);
      await write(harness, after, async () => undefined);
      for (const { which, by, ahead } of damages) {
        const rows = await usage.listTraces(harness.caller.accountId, ALWAYS, { limit: 1_000 });
        const row = rows[which % rows.length];
        if (row === undefined || row.generations + by < 0 || row.lastSequence + ahead < 1) continue;
        const damaged: UsageRow = {
          ...row,
          generations: row.generations + by,
          lastSequence: row.lastSequence + ahead,
        };
        await usage.apply([{ row: damaged, expectedSequence: row.lastSequence }]);
      }
      const { findings } = await verifyCredits(harness.context);
      expect(usageFindings(findings)).to.have.length(await model(harness));
    });
  });

  it('is nothing where entries are written and counted all the while', async () => {
    await forAll(
      300,
      [fc.array(step, { maxLength: 15 }), fc.array(step, { maxLength: 40 })],
      async (before, beside) => {
        const harness = await CoreHarness.open();
        await write(harness, before, () => project(harness));
        const left = [...beside];
        const context = harness.process(async (call) => {
          const answer = await call.proceed();
          if (call.name !== 'accounts.list') {
            await write(harness, left.splice(0, 3), async () => undefined);
            await project(harness);
          }
          return answer;
        });
        const { findings } = await verifyCredits(context);
        expect(usageFindings(findings)).to.deep.equal([]);
      },
    );
  });
});
