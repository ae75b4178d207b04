// Goal: verify lets others run after every 500 items, also of what it compares at the end of a large account, keeps the usage
// of a few days at a time, and is right whatever the clocks of processes said and whoever writes usage meanwhile.
// Method: accounts with thousands of generations, holds and trace ids; the calls on stores and the rests are noted in order.
// Then random ledgers whose days go forth and back, rows of which are damaged, beside a model that keeps every row.
import { expect } from 'chai';
import fc from 'fast-check';
import type { Account, Entry, Hold } from '../../../core/credits/account.js';
import { verifyCredits } from '../../../core/credits/verify.js';
import type { Page } from '../../../core/paging.js';
import { projectUsage } from '../../../core/usage/project-usage.js';
import { type TraceRow, type UsageRow, wholeAccount } from '../../../core/usage/usage.js';
import { addEntries } from '../../fixtures/long-ledger.js';
import { CoreHarness } from '../../harness/core-harness.js';

const DAY_MS = 86_400_000;
const MANY = 5_000;
const ALWAYS = { from: '0', to: '9' };

type Said = 'rest' | { readonly call: string; readonly answer: unknown };

/** What a check does, in order. */
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

/** Rests behind the last reading of entries, each page of which has one of its own. */
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
        // Of the day before, the entries may not all be here yet.
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

/** The rows by trace id that do not have what their entries say: all rows and entries at once. */
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
    await fc.assert(
      fc.asyncProperty(some, some, fc.array(damage, { maxLength: 3 }), async (before, after, damages) => {
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
      }),
      { numRuns: 300 },
    );
  });

  it('is nothing where entries are written and counted all the while', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 15 }), fc.array(step, { maxLength: 40 }), async (before, beside) => {
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
      }),
      { numRuns: 300 },
    );
  });
});
