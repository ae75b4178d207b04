import { expect } from 'chai';
import fc from 'fast-check';
import type { AttemptCost } from '../../../core/generation/generation.js';
import {
  addUpCosts,
  marginOf,
  type ModelCosts,
  totalCosts,
  type UsageGroup,
  traceGroups,
} from '../../../core/usage/read-usage.js';
import { NO_USAGE, type TraceRow } from '../../../core/usage/usage.js';
import { MemoryUsageStore } from '../../adapters/memory/record-stores.js';
import { aGeneration, uuidAt } from '../../fixtures/stored-records.js';
import { CoreHarness } from '../../harness/core-harness.js';
import { forAll } from '../../harness/for-all.js';

// Goal: credits and provider costs by model are those of the kept generations that were created on the days asked for, of one
// account or of all; no rate between currencies is made up, and a margin that lacks costs says so.
// Method: random generations of several Apps against a small model; the margin case by case.

const RANGE = { from: '2026-01-02', to: '2026-01-03' };
const BORDERS = [
  '2026-01-01T23:59:59.999Z',
  '2026-01-02T00:00:00Z',
  '2026-01-03T23:59:59.999Z',
  '2026-01-04T00:00:00Z',
];

const amount = fc.nat({ max: 1_000 });
const cost = fc.record(
  {
    inputTokens: amount,
    outputTokens: amount,
    computeMs: amount,
    money: fc.record({ micros: amount, currency: fc.constantFrom('EUR', 'USD') }),
    billedUnitMicros: amount,
  },
  { requiredKeys: [] },
) as fc.Arbitrary<Omit<AttemptCost, 'attempt' | 'provider'>>;
const MILLIONS = fc.integer({ min: 1, max: 3 }).map((units) => units * 1_000_000);
const made = fc.record({
  modelKey: fc.constantFrom('a', 'b'),
  app: fc.nat({ max: 2 }),
  createdAt: fc.constantFrom(...BORDERS).map((time) => Date.parse(time)),
  chargedCredits: amount,
  costs: fc.array(cost, { maxLength: 2 }),
  outputs: fc.nat({ max: 3 }),
  // Generations of earlier releases have none.
  units: fc.option(fc.record({ unit: fc.constantFrom('image' as const, 'task' as const), reservedMicros: MILLIONS }), {
    nil: undefined,
  }),
});
type Made = typeof made extends fc.Arbitrary<infer T> ? T : never;

function model(generations: readonly Made[]): object {
  const inRange = generations.filter(({ createdAt }) =>
    [BORDERS[1], BORDERS[2]].some((at) => createdAt === Date.parse(at ?? '')),
  );
  const of = (modelKey: string) => {
    const mine = inRange.filter((one) => one.modelKey === modelKey);
    const costs = mine.flatMap((one) => one.costs);
    const sum = (numbers: readonly (number | undefined)[]) => numbers.reduce<number>((all, one) => all + (one ?? 0), 0);
    const money = ['EUR', 'USD'].flatMap((currency) => {
      const paid = costs.flatMap((one) => (one.money?.currency === currency ? one.money.micros : []));
      return paid.length === 0 ? [] : [{ currency, micros: sum(paid) }];
    });
    const billed = mine.filter((one) => one.costs.some((each) => each.billedUnitMicros !== undefined));
    const unitOf = (one: Made) => one.units?.unit ?? 'image';
    const chargedFor = ({ outputs, units }: Made) => {
      const delivered = units?.unit === 'task' ? Math.min(1, outputs) : outputs;
      return outputs === 0 ? 0 : Math.min(delivered * 1_000_000, units?.reservedMicros ?? Infinity);
    };
    const charged = (['image', 'task'] as const).flatMap((unit) => {
      const inUnit = billed.filter((one) => unitOf(one) === unit);
      return inUnit.length === 0 ? [] : [{ unit, micros: sum(inUnit.map(chargedFor)) }];
    });
    return {
      modelKey,
      generations: mine.length,
      chargedCredits: sum(mine.map((one) => one.chargedCredits)),
      withoutMoney: mine.filter((one) => !one.costs.some((each) => each.money !== undefined)).length,
      inputTokens: sum(costs.map((one) => one.inputTokens)),
      outputTokens: sum(costs.map((one) => one.outputTokens)),
      computeMs: sum(costs.map((one) => one.computeMs)),
      money,
      ...(billed.length === 0
        ? {}
        : { units: { billedMicros: sum(costs.map((one) => one.billedUnitMicros)), charged } }),
    };
  };
  return ['a', 'b'].map(of).filter(({ generations: count }) => count > 0);
}

async function insert(harness: CoreHarness, owner: { accountId: string; appId: string }, one: Made): Promise<void> {
  const { modelKey, createdAt, chargedCredits } = one;
  const costs = one.costs.map((each, index) => ({ ...each, attempt: index + 1, provider: 'p' }));
  const {
    terms: { units: _, measuredRate: _rate, ...terms },
    outputs: [output],
    ...rest
  } = aGeneration(1);
  const outputs = Array.from({ length: one.outputs }, () => output!);
  const units = one.units === undefined ? {} : { units: one.units };
  const about = { modelKey, createdAt, chargedCredits, attemptsMade: 1, costs, outputs };
  const record = { ...rest, ...owner, ...about, terms: { ...terms, ...units } };
  await harness.context.generations.insert({ ...record, generationId: harness.context.ids.uuid() });
}

describe('addUpCosts', () => {
  it('adds up the generations of the days, of one account or of all', async () => {
    await forAll(100, [fc.array(made, { maxLength: 20 })], async (generations) => {
      const harness = await CoreHarness.open();
      const callers = [harness.caller, await harness.newCaller(1), await harness.newCaller(1)];
      for (const one of generations) {
        const { accountId, appId } = callers[one.app] ?? harness.caller;
        await insert(harness, { accountId, appId }, one);
      }
      expect(await addUpCosts(harness.context, RANGE)).to.deep.equal(model(generations));
      const { accountId } = harness.caller;
      expect(await addUpCosts(harness.context, { ...RANGE, accountId })).to.deep.equal(
        model(generations.filter(({ app }) => app === 0)),
      );
    });
  });

  it('continues when a provider reports far too large values', async () => {
    const harness = await CoreHarness.open();
    const money = { micros: Number.MAX_SAFE_INTEGER, currency: 'EUR' };
    const one: Made = {
      modelKey: 'a',
      app: 0,
      createdAt: Date.parse(BORDERS[1] ?? ''),
      chargedCredits: 1,
      costs: [{ money, billedUnitMicros: Number.MAX_SAFE_INTEGER }],
      outputs: 1,
      units: undefined,
    };
    for (let count = 0; count < 2; count += 1) await insert(harness, harness.caller, one);
    const [costs] = await addUpCosts(harness.context, RANGE);
    expect(costs?.money).to.deep.equal([money]);
    expect(costs?.units?.billedMicros).to.equal(Number.MAX_SAFE_INTEGER);
  });
});

describe('totalCosts', () => {
  it('adds up no units, since those of models differ', () => {
    const units = { billedMicros: 1, charged: [{ unit: 'second', micros: 1 }] } as const;
    const sums = { generations: 1, chargedCredits: 1, withoutMoney: 0, inputTokens: 0, outputTokens: 0, computeMs: 0 };
    expect(totalCosts([{ modelKey: 'a', ...sums, money: [], units }])).to.deep.equal({
      modelKey: '',
      ...sums,
      money: [],
    });
  });
});

describe('marginOf', () => {
  const costs: ModelCosts = {
    modelKey: 'a',
    generations: 2,
    chargedCredits: 150,
    withoutMoney: 0,
    inputTokens: 0,
    outputTokens: 0,
    computeMs: 0,
    money: [{ currency: 'USD', micros: 2_000_000 }],
  };
  const cent = { micros: 10_000, currency: 'USD' };

  it('is what the credits are worth less what was paid, also below zero', () => {
    expect(marginOf(costs, cent)).to.deep.equal({
      incomeMicros: 1_500_000,
      marginMicros: -500_000,
      isUpperBound: false,
    });
    expect(marginOf({ ...costs, money: [] }, cent)).to.include({ marginMicros: 1_500_000 });
  });

  it('says when costs are missing from it, also in a total', () => {
    const missing = { ...costs, withoutMoney: 1 };
    expect(marginOf(missing, cent)).to.include({ isUpperBound: true });
    const total = totalCosts([costs, missing]);
    expect(marginOf(total, cent)).to.deep.equal({
      incomeMicros: 3_000_000,
      marginMicros: -1_000_000,
      isUpperBound: true,
    });
  });

  it('is none between two currencies, and none that a number cannot hold', () => {
    expect(marginOf(costs, { ...cent, currency: 'EUR' })).to.equal(undefined);
    expect(marginOf({ ...costs, money: [...costs.money, { currency: 'EUR', micros: 1 }] }, cent)).to.equal(undefined);
    expect(marginOf({ ...costs, chargedCredits: 2 ** 50 }, cent)).to.equal(undefined);
  });
});

// Goal: use by trace id is merged from days in order, each trace id once with the sums of all days, and what one page reads
// does not grow with the number of trace ids.
// Method: random days of rows against a small model; rows that are read are counted, with few and with many trace ids.

const accountId = uuidAt(1);
const DAYS = Array.from({ length: 31 }, (_, index) => `2026-01-${String(index + 1).padStart(2, '0')}`);

const row = (day: string, clientTraceId: string, chargedCredits: number, appUse = ''): TraceRow => ({
  accountId,
  day,
  clientTraceId,
  appUse,
  ...NO_USAGE,
  chargedCredits,
  lastSequence: 1,
});

async function storeOf(rows: readonly TraceRow[]): Promise<MemoryUsageStore> {
  const store = new MemoryUsageStore();
  for (let at = 0; at < rows.length; at += 1_000)
    await store.apply(rows.slice(at, at + 1_000).map((one) => ({ row: one, expectedSequence: 0 })));
  return store;
}

async function taken(groups: AsyncIterable<UsageGroup>, count = Infinity): Promise<UsageGroup[]> {
  const found: UsageGroup[] = [];
  for await (const group of groups) if (found.push(group) >= count) break;
  return found;
}

describe('traceGroups', () => {
  it('merges the days of a range, of all Apps or of one, from any trace id, however many rows it reads at a time', async () => {
    const trace = fc.stringMatching(/^[AZaz09._:-]{0,3}$/);
    const oneRow = fc.tuple(
      fc.constantFrom(...DAYS.slice(0, 5)),
      trace,
      fc.nat({ max: 9 }),
      fc.constantFrom('', 'a', 'b'),
    );
    const rows = fc.uniqueArray(oneRow, { selector: ([day, of, , app]) => `${day} ${of} ${app}`, maxLength: 40 });
    const after = fc.option(trace, { nil: undefined });
    const only = fc.constantFrom(undefined, 'a');
    await forAll(200, [rows, after, fc.integer({ min: 1, max: 4 }), only], async (cells, from, rowsADay, appUse) => {
      const days = DAYS.slice(1, 4);
      const usage = await storeOf(cells.map((cell) => row(...cell)));
      const traces = { accountId, days, after: from, rowsADay, ...(appUse === undefined ? {} : { appUse }) };
      const found = await taken(traceGroups({ usage, call: undefined }, traces));
      const sums = new Map<string, number>();
      for (const [day, of, credits, app] of cells)
        if ((appUse === undefined || app === appUse) && days.includes(day) && (from === undefined || of > from))
          sums.set(of, (sums.get(of) ?? 0) + credits);
      expect(found.map(({ group, chargedCredits }) => [group, chargedCredits])).to.deep.equal(
        [...sums].toSorted(([a], [b]) => (a < b ? -1 : 1)),
      );
    });
  });

  it('reads as much for a page of a thousand trace ids a day as of a hundred', async () => {
    const read: number[] = [];
    for (const ids of [100, 1_000]) {
      const rows = DAYS.flatMap((day) => Array.from({ length: ids }, (_, id) => row(day, String(id + 1_000), 1)));
      const usage = await storeOf(rows);
      let count = 0;
      const counting = {
        ...usage,
        listTraces: async (...asked: Parameters<typeof usage.listTraces>) => {
          const found = await usage.listTraces(...asked);
          count += found.length;
          return found;
        },
      } as unknown as MemoryUsageStore;
      const traces = { accountId, days: DAYS, after: '1039', rowsADay: 32 };
      const found = await taken(traceGroups({ usage: counting, call: undefined }, traces), 20);
      expect(found.map(({ chargedCredits }) => chargedCredits)).to.deep.equal(Array.from({ length: 20 }, () => 31));
      read.push(count);
    }
    expect(read).to.deep.equal([31 * 32, 31 * 32]);
  });
});
