import { expect } from 'chai';
import fc from 'fast-check';
import { StoreUnavailable } from '../../../core/errors.js';
import type { Generation } from '../../../core/generation/generation.js';
import type { HalfHourStore } from '../../../core/ports/stores.js';
import { countIn, HALF_HOUR_MS, type HalfHour, halfHourOf } from '../../../core/statistics/half-hour.js';
import { OutcomeCounts } from '../../../core/statistics/outcome-counts.js';
import { NamedRecords } from '../../adapters/memory/records.js';
import { ManualClock } from '../../fixtures/clocks.js';
import { SILENT } from '../../fixtures/memory-stores.js';
import { aGeneration } from '../../fixtures/stored-records.js';
import { forAll } from '../../harness/for-all.js';

// Goal: each outcome of several processes over one store is counted once, whatever the store loses or repeats; counts that a
// process has not stored are bounded, and only a crash of it loses them.
// Method: processes that count and store in any order over a store that fails before or after a write, against plain sums.

type Failing = 'no' | 'before' | 'after';

/** A store that fails on request, and lets other processes run between its read and its write. */
function storeOf(failing: () => Failing): { store: HalfHourStore; records: NamedRecords<HalfHour> } {
  const records = new NamedRecords<HalfHour>(({ slot }) => slot);
  const store: HalfHourStore = {
    read: async (slot) => {
      if (failing() === 'before') throw new StoreUnavailable('No answer.');
      return records.read(slot);
    },
    replace: async (next, version) => {
      const fails = failing();
      if (fails === 'before') throw new StoreUnavailable('No answer.');
      const outcome = await records.replace(next, version);
      if (fails === 'after') throw new StoreUnavailable('The answer is lost.');
      return outcome;
    },
  };
  return { store, records };
}

const processOver = (halfHours: HalfHourStore, clock: ManualClock, id: string): OutcomeCounts =>
  new OutcomeCounts({ halfHours, clock, log: SILENT, boot: { id, isExclusive: false } });

const ended = (changes: Partial<Generation>): Generation => aGeneration(1, { createdAt: 1_000, ...changes });
const ENDS: readonly Generation[] = [
  ended({ modelKey: 'one', status: 'succeeded', completedAt: 1_500 }),
  ended({ modelKey: 'two', status: 'succeeded', completedAt: 9_000 }),
  ended({ modelKey: 'one', status: 'cancelled', completedAt: 1_001 }),
  ended({
    modelKey: 'one',
    status: 'failed',
    completedAt: 2_000,
    error: { code: 'PROVIDER_TIMEOUT', message: 'm', retryable: true },
  }),
];

const PROCESSES = 3;
const process = fc.nat(PROCESSES - 1);
const step = fc.oneof(
  { weight: 4, arbitrary: fc.record({ kind: fc.constant('end' as const), process, end: fc.nat(ENDS.length - 1) }) },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant('accept' as const), process, ms: fc.nat(5_000) }) },
  { weight: 3, arbitrary: fc.record({ kind: fc.constant('store' as const), process }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('pass' as const), ms: fc.nat(HALF_HOUR_MS) }) },
  {
    weight: 2,
    arbitrary: fc.record({ kind: fc.constant('fail' as const), as: fc.constantFrom<Failing>('no', 'before', 'after') }),
  },
);

describe('counts of outcomes', () => {
  it('are the sums over all processes, whatever the store loses', async () => {
    await forAll(150, [fc.array(step, { maxLength: 60 })], async (steps) => {
      const clock = new ManualClock();
      let failing: Failing = 'no';
      const { store } = storeOf(() => failing);
      const processes = Array.from({ length: PROCESSES }, (_, index) => processOver(store, clock, `boot ${index}`));
      const expected = new Map<string, number>();
      const from = halfHourOf(clock.now());
      const expectOne = (what: string): void => {
        const name = `${halfHourOf(clock.now())} ${what}`;
        expected.set(name, (expected.get(name) ?? 0) + 1);
      };
      const storing: Promise<void>[] = [];
      for (const one of steps) {
        if (one.kind === 'pass') await clock.advance(one.ms);
        else if (one.kind === 'fail') failing = one.as;
        else if (one.kind === 'store') storing.push(processes[one.process]!.store());
        else if (one.kind === 'accept') {
          processes[one.process]!.accepted(one.ms);
          expectOne('accepted');
        } else {
          const { modelKey, status, error } = ENDS[one.end]!;
          processes[one.process]!.settled(ENDS[one.end]!);
          expectOne(`${modelKey} ${error?.code ?? status}`);
        }
      }
      await Promise.all(storing);
      failing = 'no';
      await Promise.all(processes.map((each) => each.store()));
      const counted = new Map<string, number>();
      for (const [start, { acceptMs, models }] of await processes[0]!.between(from, clock.now() + 1)) {
        const add = (what: string, count: number) => count > 0 && counted.set(`${start} ${what}`, count);
        add('accepted', countIn(acceptMs));
        for (const { modelKey, resultMs, failed, cancelled } of models) {
          add(`${modelKey} succeeded`, countIn(resultMs));
          add(`${modelKey} cancelled`, cancelled);
          for (const [code, count] of failed) add(`${modelKey} ${code}`, count);
        }
      }
      // Half hours wait for a store in a bounded number.
      if (clock.now() - from < 16 * HALF_HOUR_MS) expect(counted).to.deep.equal(expected);
    });
  });

  it('lose only what a killed process had not stored', async () => {
    const clock = new ManualClock();
    const { store } = storeOf(() => 'no');
    const killed = processOver(store, clock, 'killed');
    killed.accepted(3);
    await killed.store();
    killed.accepted(3);
    const next = processOver(store, clock, 'next');
    next.accepted(3);
    const [counts] = (await next.between(clock.now(), clock.now() + 1)).values();
    expect(countIn(counts?.acceptMs ?? [])).to.equal(2);
  });

  it('drop the oldest half hours while the store is unavailable for very long', async () => {
    const clock = new ManualClock();
    let failing: Failing = 'before';
    const { store, records } = storeOf(() => failing);
    const counts = processOver(store, clock, 'boot');
    for (let halfHours = 0; halfHours < 40; halfHours += 1) {
      counts.accepted(1);
      await counts.store();
      await clock.advance(HALF_HOUR_MS);
    }
    failing = 'no';
    await counts.store();
    const stored = await Promise.all(Array.from({ length: 384 }, (_, slot) => records.read(String(slot))));
    // One had been sent before, and sixteen wait.
    expect(stored.filter((record) => record !== null)).to.have.length(17);
  });

  it('have a usual time for models with three results or more', async () => {
    const clock = new ManualClock();
    const { store } = storeOf(() => 'no');
    const counts = processOver(store, clock, 'boot');
    const results = (modelKey: string, ...durations: readonly number[]) => {
      for (const ms of durations) counts.settled(ended({ modelKey, status: 'succeeded', completedAt: 1_000 + ms }));
    };
    results('often', 5, 8, 400);
    results('rarely', 5, 8);
    expect([...(await counts.usualTimes())]).to.deep.equal([['often', 8]]);
    results('rarely', 7);
    expect((await counts.usualTimes()).size, 'a time is kept for a minute').to.equal(1);
    await clock.advance(60_000);
    expect([...(await counts.usualTimes())]).to.deep.equal([
      ['often', 8],
      ['rarely', 7],
    ]);
  });
});
