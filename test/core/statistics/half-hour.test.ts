import { expect } from 'chai';
import fc from 'fast-check';
import {
  addedPairs,
  bucketOf,
  type CountedBatch,
  countIn,
  HALF_HOUR_MS,
  type HalfHour,
  halfHourOf,
  type Histogram,
  KEPT_HALF_HOURS,
  percentileOf,
  slotOf,
  withBatch,
} from '../../../core/statistics/half-hour.js';
import { forAllSync } from '../../harness/for-all.js';

// Goal: percentiles of counted durations are within the stated error; a batch is added once; a slot keeps one half hour.
// Method: percentiles against sorted durations; batches added again, late, and eight days later.

const LONGEST_MS = 3 * 86_400_000;
const durations = fc.array(
  fc.oneof(
    fc.integer({ min: 0, max: 50 }),
    fc.integer({ min: 0, max: 60_000 }),
    fc.integer({ min: 0, max: LONGEST_MS }),
  ),
  { minLength: 1, maxLength: 60 },
);
const histogramOf = (values: readonly number[]) =>
  values.reduce<Histogram>((histogram, value) => addedPairs(histogram, [[bucketOf(value), 1]]), []);
const always = (): boolean => true;

const START = 1_000 * HALF_HOUR_MS;
const batch = (number: number, changes: Partial<CountedBatch> = {}): CountedBatch => ({
  bootId: 'boot',
  number,
  startsAt: START,
  acceptMs: [[1, 1]],
  models: [],
  ...changes,
});

describe('a half hour', () => {
  it('gives percentiles within a twentieth of the duration of that rank', () => {
    forAllSync(300, [durations, fc.constantFrom(0.5, 0.95, 1)], (values, part) => {
      const exact = values.toSorted((a, b) => a - b)[Math.ceil(values.length * part) - 1] as number;
      const found = percentileOf(histogramOf(values), part);
      expect(Math.abs((found ?? Number.NaN) - exact)).to.be.at.most(exact <= 10 ? 0 : exact * 0.05 + 0.5);
    });
  });

  it('has no percentile without a count', () => {
    expect(percentileOf([], 0.5)).to.equal(undefined);
  });

  it('counts fractions, negative durations and those beyond the longest', () => {
    expect([-5, 0, 0.2, 1].map(bucketOf)).to.deep.equal([0, 0, 1, 1]);
    expect(bucketOf(100 * LONGEST_MS)).to.equal(bucketOf(LONGEST_MS));
  });

  it('adds a batch once', () => {
    const first = withBatch(null, batch(1), always) as HalfHour;
    expect(withBatch(first, batch(1), always)).to.equal(null);
    const both = withBatch(first, batch(2), always) as HalfHour;
    expect(countIn(both.acceptMs)).to.equal(2);
    expect(both.version).to.equal(2);
    expect(withBatch(both, batch(1), always)).to.equal(null);
    expect(countIn(withBatch(both, batch(1, { bootId: 'other' }), always)?.acceptMs ?? [])).to.equal(3);
  });

  it('replaces the half hour of eight days earlier in its slot, and is not replaced by it', () => {
    const later = START + KEPT_HALF_HOURS * HALF_HOUR_MS;
    expect(slotOf(later)).to.equal(slotOf(START));
    const old = withBatch(null, batch(1), always) as HalfHour;
    const next = withBatch(old, batch(2, { startsAt: later }), always) as HalfHour;
    expect(next).to.deep.include({ startsAt: later, version: 2, acceptMs: [[1, 1]] });
    expect(withBatch(next, batch(3), always)).to.equal(null);
    const repaired = withBatch(next, batch(3), (time) => time !== later);
    expect(repaired).to.deep.include({ startsAt: START, version: 3 });
  });

  it('remembers a bounded number of processes, the newest', () => {
    let record: HalfHour | null = null;
    for (let index = 0; index < 600; index += 1)
      record = withBatch(record, batch(1, { bootId: `boot ${index}` }), always);
    expect(record?.batches).to.have.length(500);
    expect(record?.batches.at(-1)).to.deep.equal(['boot 599', 1]);
    expect(countIn(record?.acceptMs ?? [])).to.equal(600);
  });

  it('starts at a full or a half hour', () => {
    const at = (time: string) => new Date(halfHourOf(Date.parse(time))).toISOString();
    expect(at('2026-11-30T10:29:59.999Z')).to.equal('2026-11-30T10:00:00.000Z');
    expect(at('2026-11-30T10:30:00.000Z')).to.equal('2026-11-30T10:30:00.000Z');
  });
});
