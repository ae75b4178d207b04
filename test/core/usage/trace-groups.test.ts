// Goal: use by trace id is merged from days in order, each trace id once with the sums of all days, and what one page reads
// does not grow with the number of trace ids.
// Method: random days of rows against a small model; rows that are read are counted, with few and with many trace ids.
import { expect } from 'chai';
import fc from 'fast-check';
import { MemoryUsageStore } from '../../../adapters/memory/memory-usage-store.js';
import { type TraceGroup, traceGroups } from '../../../core/usage/read-usage.js';
import { NO_USAGE, type TraceRow } from '../../../core/usage/usage.js';
import { uuidAt } from '../../fixtures/stored-records.js';

const accountId = uuidAt(1);
const DAYS = Array.from({ length: 31 }, (_, index) => `2026-01-${String(index + 1).padStart(2, '0')}`);

const row = (day: string, clientTraceId: string, chargedCredits: number): TraceRow => ({
  accountId,
  day,
  clientTraceId,
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

async function taken(groups: AsyncIterable<TraceGroup>, count = Infinity): Promise<TraceGroup[]> {
  const found: TraceGroup[] = [];
  for await (const group of groups) if (found.push(group) >= count) break;
  return found;
}

describe('traceGroups', () => {
  it('merges the days of a range, from any trace id, however many rows it reads at a time', async () => {
    const trace = fc.stringMatching(/^[AZaz09._:-]{0,3}$/);
    const rows = fc.uniqueArray(fc.tuple(fc.constantFrom(...DAYS.slice(0, 5)), trace, fc.nat({ max: 9 })), {
      selector: ([day, of]) => `${day} ${of}`,
      maxLength: 40,
    });
    const after = fc.option(trace, { nil: undefined });
    await fc.assert(
      fc.asyncProperty(rows, after, fc.integer({ min: 1, max: 4 }), async (cells, from, rowsADay) => {
        const days = DAYS.slice(1, 4);
        const usage = await storeOf(cells.map((cell) => row(...cell)));
        const found = await taken(traceGroups({ usage, call: undefined }, { accountId, days, after: from, rowsADay }));
        const sums = new Map<string, number>();
        for (const [day, of, credits] of cells)
          if (days.includes(day) && (from === undefined || of > from)) sums.set(of, (sums.get(of) ?? 0) + credits);
        expect(found.map(({ group, chargedCredits }) => [group, chargedCredits])).to.deep.equal(
          [...sums].toSorted(([a], [b]) => (a < b ? -1 : 1)),
        );
      }),
      { numRuns: 200 },
    );
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
