import { expect } from 'chai';
import fc from 'fast-check';
import type { Context } from '../../../core/context.js';
import type { Entry } from '../../../core/credits/account.js';
import { verifyCredits } from '../../../core/credits/verify.js';
import { StoreUnavailable } from '../../../core/errors.js';
import type { UsageChange } from '../../../core/ports/stores.js';
import { ModelModalities } from '../../../core/usage/model-modalities.js';
import { projectUsage, UsageCatchUp } from '../../../core/usage/project-usage.js';
import {
  readAllUsage,
  readUsage,
  readUsageRequest,
  USAGE_BY,
  type UsageBy,
  type UsageGroup,
} from '../../../core/usage/read-usage.js';
import { type UsageList, wholeAccount } from '../../../core/usage/usage.js';
import { addEntries } from '../../fixtures/ledgers.js';
import { imageModel } from '../../fixtures/models.js';
import { aGeneration, uuidAt } from '../../fixtures/stored-records.js';
import { CoreHarness } from '../../harness/core-harness.js';
import { forAll } from '../../harness/for-all.js';

// Goal: the usage of an account equals its ledger, whichever process computes it, however often, and wherever it is
// interrupted.
// Method: random histories on memory adapters; the sums are compared with those of a small model that reads the entries;
// readers run beside each other and beside writers, and are cut at every write. The rows are then damaged, and verified.

const DAY_MS = 86_400_000;
const PAGE = { limit: 100 };
const LISTS = ['uses', 'traces'] as const;

type Step =
  | {
      readonly do: 'hold';
      readonly credits: number;
      readonly model: string;
      readonly key: string;
      readonly trace?: string | undefined;
    }
  | { readonly do: 'settle'; readonly which: number; readonly charge: number; readonly failed: boolean }
  | { readonly do: 'wait'; readonly days: number }
  | { readonly do: 'read' };

const step: fc.Arbitrary<Step> = fc.oneof(
  fc.record({
    do: fc.constant('hold' as const),
    credits: fc.nat({ max: 9 }),
    model: fc.constantFrom('m', 'n'),
    key: fc.constantFrom('k', 'service:s'),
    trace: fc.constantFrom(undefined, 'a', 'a-b', 'a.b', 'B', '_', '0'),
  }),
  fc.record({
    do: fc.constant('settle' as const),
    which: fc.nat({ max: 9 }),
    charge: fc.nat({ max: 9 }),
    failed: fc.boolean(),
  }),
  fc.record({ do: fc.constant('wait' as const), days: fc.nat({ max: 2 }) }),
  fc.record({ do: fc.constant('read' as const) }),
);

async function play(harness: CoreHarness, steps: readonly Step[], read: () => Promise<unknown>): Promise<void> {
  const { context, caller, clock } = harness;
  const held: { readonly generationId: string; readonly credits: number }[] = [];
  for (const one of steps) {
    if (one.do === 'wait') await clock.advance(one.days * DAY_MS);
    if (one.do === 'read') await read();
    if (one.do === 'hold') {
      const generationId = context.ids.uuid();
      const { trace } = one;
      const traced = trace === undefined ? {} : { clientTraceId: trace };
      const attribution = { credentialId: one.key, modelKey: one.model, ...traced };
      const hold = { kind: 'hold', generationId, credits: one.credits, maxOpenHolds: 100, attribution } as const;
      const outcome = await context.accountWriter.execute(caller.accountId, hold);
      if (outcome.refused === undefined) held.push({ generationId, credits: one.credits });
    }
    if (one.do === 'settle') {
      const [hold] = held.splice(one.which % Math.max(held.length, 1), 1);
      if (hold === undefined) continue;
      const { generationId, credits } = hold;
      const settle = {
        kind: 'settle',
        generationId,
        charge: Math.min(one.charge, credits),
        failed: one.failed,
      } as const;
      await context.accountWriter.execute(caller.accountId, settle);
    }
  }
}

/** One of the models that histories use is in the catalog. */
const MODALITY_OF: Readonly<Record<string, string>> = { m: 'image' };
const CATALOG = [imageModel({ modelKey: 'm' })];

/** The usage expected from the entries, summed independently of the projection. */
function model(entries: readonly Entry[], by: UsageBy): Record<string, readonly number[]> {
  const sums: Record<string, [number, number, number, number, number]> = {};
  for (const { kind, credits, at, attribution, reason } of entries) {
    if (kind === 'grant' || kind === 'adjustment') continue;
    const day = new Date(at).toISOString().slice(0, 10);
    const { modelKey = '', credentialId = '', clientTraceId = '' } = attribution ?? {};
    const modality = MODALITY_OF[modelKey] ?? 'unknown';
    const group = {
      day,
      model: modelKey,
      key: credentialId,
      client_trace_id: clientTraceId,
      modality,
      day_modality: `${day} ${modality}`,
    }[by];
    const sum = sums[group] ?? [0, 0, 0, 0, 0];
    sums[group] = sum;
    if (kind === 'hold') sum[0] += 1;
    if (kind !== 'hold' && reason === 'failed') sum[1] += 1;
    const book = { hold: 2, charge: 3, release: 4 } as const;
    sum[book[kind]] += credits;
  }
  return sums;
}

const request = (harness: CoreHarness, by: UsageBy, days: number) => {
  const to = new Date(harness.clock.now()).toISOString().slice(0, 10);
  const from = new Date(harness.clock.now() - (days - 1) * DAY_MS).toISOString().slice(0, 10);
  return readUsageRequest({ by, from, to }, harness.clock.now());
};
const requestFor = (harness: CoreHarness, by: UsageBy) => request(harness, by, by === 'client_trace_id' ? 31 : 366);

async function pages(harness: CoreHarness, by: UsageBy, limit: number): Promise<UsageGroup[]> {
  const groups: UsageGroup[] = [];
  for (let cursor: string | undefined; ;) {
    const page = { limit, ...(cursor === undefined ? {} : { cursor }) };
    const usage = await readUsage(harness.context, harness.caller, requestFor(harness, by), page);
    expect(usage.groups.length).to.be.at.most(limit);
    groups.push(...usage.groups);
    cursor = usage.nextCursor;
    if (cursor === undefined) return groups;
  }
}

async function expectLedger(harness: CoreHarness): Promise<void> {
  const entries = await harness.entries();
  for (const by of USAGE_BY) {
    const { from } = requestFor(harness, by);
    const sums = model(
      entries.filter(({ at }) => at >= Date.parse(from)),
      by,
    );
    const all: UsageGroup[] = [];
    const stream = await readAllUsage(harness.context, harness.caller, requestFor(harness, by));
    for await (const group of stream) all.push(group);
    for (const groups of [all, await pages(harness, by, 1), await pages(harness, by, 3)]) {
      const shown = groups.map((group) => [
        group.group,
        [group.generations, group.failed, group.reservedCredits, group.chargedCredits, group.releasedCredits],
      ]);
      expect(Object.fromEntries(shown), by).to.deep.equal(sums);
      expect(
        groups.map(({ group }) => group),
        'in order, each once',
      ).to.deep.equal(Object.keys(sums).toSorted());
    }
  }
  const { total } = await readUsage(harness.context, harness.caller, requestFor(harness, 'day'), { limit: 1 });
  const { spent, reserved } = await harness.account();
  expect(total.chargedCredits).to.equal(spent);
  expect(total.reservedCredits - total.chargedCredits - total.releasedCredits).to.equal(reserved);
  expect((await verifyCredits(harness.context)).findings.filter((one) => one.includes('usage'))).to.deep.equal([]);
}

describe('modalities of usage', () => {
  it('are those of the catalog, else of a generation of the model, and otherwise unknown', async () => {
    const harness = await CoreHarness.open({ models: [imageModel({ modelKey: 'm' })] });
    const { context, caller } = harness;
    await context.generations.insert(aGeneration(1, { appId: caller.appId, modelKey: 'gone', modality: 'video' }));
    const modalities = new ModelModalities(context);
    const others = `${caller.appId}/others`;
    for (const [modelKey, appUse, modality] of [
      ['m', caller.appId, 'image'],
      ['m', '', 'image'],
      ['gone', caller.appId, 'video'],
      ['gone', others, 'video'],
      ['gone', uuidAt(77), 'unknown'],
      ['gone', '', 'unknown'],
      ['never', caller.appId, 'unknown'],
      ['', caller.appId, 'unknown'],
    ] as const)
      expect(await modalities.of({ modelKey, appUse }), `${modelKey} in ${appUse}`).to.equal(modality);
  });

  it('cost a bounded number of reads, one for each model that has left the catalog', async () => {
    const harness = await CoreHarness.open();
    let reads = 0;
    const context = harness.process((call) => {
      if (call.name === 'generations.list') reads += 1;
      return call.proceed();
    });
    const modalities = new ModelModalities(context);
    for (let n = 0; n < 200; n += 1) await modalities.of({ modelKey: `gone-${n % 70}`, appUse: harness.caller.appId });
    expect(reads).to.equal(50);
  });
});

describe('projectUsage', () => {
  it('gives the sums of the ledger by day, model, key and trace id after any history, read at any time', async () => {
    await forAll(150, [fc.array(step, { maxLength: 30 }), fc.constantFrom(...USAGE_BY)], async (steps, by) => {
      const harness = await CoreHarness.open({ credits: 50, models: CATALOG });
      const read = () => readUsage(harness.context, harness.caller, requestFor(harness, by), PAGE);
      await play(harness, steps, read);
      await expectLedger(harness);
    });
  });

  it('gives the sums of the ledger when the rows of traces are removed before any call', async () => {
    await forAll(100, [fc.array(step, { minLength: 5, maxLength: 25 }), fc.nat(12)], async (steps, index) => {
      const harness = await CoreHarness.open({ credits: 50, models: CATALOG });
      const { context, caller } = harness;
      const project = async (on: Context) => {
        const { lastSequence: through } = await harness.account();
        await projectUsage(on, { accountId: caller.accountId, list: 'traces', through });
      };
      await play(harness, steps, () => project(context));
      let calls = 0;
      const beside = harness.process(async (call) => {
        if (!call.name.startsWith('usage.')) return call.proceed();
        if (calls === index) await context.usage.removeTraces(caller.accountId, 1_000);
        calls += 1;
        return call.proceed();
      });
      await project(beside);
      await play(harness, steps, () => project(beside));
      await expectLedger(harness);
    });
  });

  it('counts each entry exactly once when readers run beside each other and are cut anywhere', async () => {
    const cuts = fc.array(fc.constantFrom('before' as const, 'after' as const, 'part' as const, 'not' as const), {
      maxLength: 8,
    });
    await forAll(200, [fc.array(step, { minLength: 5, maxLength: 25 }), cuts], async (steps, fates) => {
      const harness = await CoreHarness.open({ credits: 50, models: CATALOG });
      const { usage } = harness.context;
      const left = [...fates];
      // A process that dies before, after or in the middle of a write of rows, which the next one finds so.
      const dying = {
        ...harness.context,
        usage: {
          read: usage.read.bind(usage),
          list: usage.list.bind(usage),
          listTraces: usage.listTraces.bind(usage),
          removeTraces: usage.removeTraces.bind(usage),
          async apply(changes: readonly UsageChange[]) {
            const fate = left.shift() ?? 'not';
            if (fate === 'before') throw new Error('died');
            const outcome = await usage.apply(fate === 'part' ? changes.slice(0, 1) : changes);
            if (fate !== 'not') throw new Error('died');
            return outcome;
          },
        },
      };
      const { accountId } = harness.caller;
      const read = async () => {
        const { lastSequence } = await harness.account();
        const readers = [dying, dying, harness.context].flatMap((context, n) =>
          LISTS.map((list) => {
            const projection = { accountId, list, through: lastSequence - n, maxEntries: 1 + 3 * n };
            return projectUsage(context, projection).catch(() => undefined);
          }),
        );
        await Promise.all(readers);
      };
      await play(harness, steps, read);
      await read();
      const { findings } = await verifyCredits(harness.context);
      expect(findings.filter((one) => one.includes('usage'))).to.deep.equal([]);
      await expectLedger(harness);
    });
  });

  it('reads a bounded number of entries, keeps them, and continues from there', async () => {
    const harness = await CoreHarness.open({ credits: 50, models: CATALOG });
    const hold = { do: 'hold', credits: 1, model: 'm', key: 'k' } as const;
    await play(
      harness,
      Array.from({ length: 10 }, () => hold),
      async () => undefined,
    );
    const { accountId } = harness.caller;
    const { lastSequence } = await harness.account();
    for (const list of LISTS)
      for (const outcome of ['behind', 'behind', 'current']) {
        const projection = { accountId, list, through: lastSequence, maxEntries: 5 };
        expect(await projectUsage(harness.context, projection)).to.equal(outcome);
      }
    await expectLedger(harness);
  });

  it('verifies rows: one that took in an entry twice, one that missed one, and one that should not be there', async () => {
    const hold = { do: 'hold', credits: 3, model: 'm', key: 'k', trace: 't' } as const;
    const damages = [
      { generations: 2, reservedCredits: 6 },
      { generations: 0, reservedCredits: 0 },
      'elsewhere',
    ] as const;
    for (const damage of damages)
      for (const by of ['model', 'client_trace_id'] as const) {
        const harness = await CoreHarness.open({ credits: 50, models: CATALOG });
        await play(harness, [hold], async () => undefined);
        await readUsage(harness.context, harness.caller, requestFor(harness, by), PAGE);
        const { usage } = harness.context;
        const [of, always] = [harness.caller.accountId, { from: '0', to: '9' }];
        const rows =
          by === 'model' ? (await usage.list(of, always, PAGE)).items : await usage.listTraces(of, always, PAGE);
        const [row] = rows;
        if (row === undefined) throw new Error('there is a row');
        const expectedSequence = damage === 'elsewhere' ? 0 : row.lastSequence;
        const elsewhere = by === 'model' ? { modelKey: 'x' } : { clientTraceId: 'x' };
        const damaged = { ...row, ...(damage === 'elsewhere' ? elsewhere : damage) };
        await usage.apply([{ row: damaged, expectedSequence }]);
        const { findings } = await verifyCredits(harness.context);
        expect(findings.filter((one) => one.includes('counts usage'))).to.have.length(1);
      }
  });
});

describe('readUsageRequest', () => {
  const now = Date.parse('2026-03-15T12:00:00Z');

  it('has 31 days by day by default', () => {
    expect(readUsageRequest({}, now)).to.deep.equal({ by: 'day', from: '2026-02-13', to: '2026-03-15' });
    expect(readUsageRequest({ from: '2026-01-01' }, now)).to.include({ from: '2026-01-01', to: '2026-01-31' });
    expect(readUsageRequest({ to: '2026-01-31' }, now)).to.include({ from: '2026-01-01', to: '2026-01-31' });
  });

  it('refuses days that do not exist, in the wrong order and too many, and words that it does not know', () => {
    for (const sent of [
      { from: '2026-02-29' },
      { from: '2026-1-1' },
      { to: 'today' },
      { from: '0000-01-01' },
      { from: '2026-01-02', to: '2026-01-01' },
      { from: '2025-01-01', to: '2026-01-02' },
      { by: 'month' },
      { by: 'client_trace_id', from: '2026-01-01', to: '2026-02-01' },
    ])
      expect(() => readUsageRequest(sent, now), JSON.stringify(sent))
        .to.throw()
        .with.property('code', 'FIELD_INVALID');
    expect(readUsageRequest({ from: '2025-01-01', to: '2026-01-01' }, now)).to.include({ to: '2026-01-01' });
    const month = { by: 'client_trace_id', from: '2026-01-01', to: '2026-01-31' };
    expect(readUsageRequest(month, now)).to.deep.equal(month);
  });
});

// Goal: long ledgers are taken into the rows of usage in the background, in bounded passes, by any number of processes,
// and short ones and traces that were not requested are left alone.
// Method: ledgers of memory stores, passes with low bounds; calls are counted; verify compares rows and ledgers.

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

  it('reads a bounded number of entries per pass, and continues where it stopped', async () => {
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

  it('continues with traces once they were requested, also with more of them than one write may have', async () => {
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
      removeTraces: usage.removeTraces.bind(usage),
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
