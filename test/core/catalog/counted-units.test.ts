import { expect } from 'chai';
import fc from 'fast-check';
import {
  creditsByOutputs,
  measuredRateOf,
  type PriceTerms,
  type PriceUnit,
  unitsCharged,
  unitsReserved,
} from '../../../core/catalog/price.js';
import { imageModel } from '../../fixtures/models.js';
import { forAllSync } from '../../harness/for-all.js';

// Goal: the units that clients are charged are those that the price counts: all that is reserved when everything is delivered as
// requested, never more, and none when nothing is delivered.
// Method: random terms of every form, with outputs as requested and of any other size and duration.

const side = fc.integer({ min: 1, max: 4_096 });
const sizes = fc.record({ widthPx: side, heightPx: side });
const option = <Value>(value: fc.Arbitrary<Value>) => fc.option(value, { nil: undefined });

const anyCase = fc.record({
  unit: fc.constantFrom<PriceUnit>('image', 'megapixel', 'second', 'video', 'task'),
  rate: fc.nat({ max: 50_000_000 }),
  roundsUp: option(fc.constant(true as const)),
  frameRateMillihertz: option(fc.integer({ min: 1_000, max: 60_000 })),
  inputRate: option(fc.nat({ max: 5_000_000 })),
  size: sizes,
  seconds: fc.integer({ min: 1, max: 60 }),
  count: fc.integer({ min: 1, max: 4 }),
  references: fc.array(sizes, { maxLength: 3 }),
  others: fc.array(fc.tuple(sizes, fc.nat({ max: 90_000 })), { maxLength: 4 }),
});

describe('units that clients are charged', () => {
  it('are those that are reserved, or fewer, as the price counts them', () => {
    forAllSync(500, [anyCase], (one) => {
      const { unit, rate, roundsUp, frameRateMillihertz, inputRate, size, seconds, count, references } = one;
      const ofMegapixels = {
        ...(roundsUp && { roundsUp }),
        ...(frameRateMillihertz && { frameRateMillihertz }),
        ...(inputRate === undefined ? {} : { inputMicrocreditsPerMegapixel: inputRate }),
      };
      const price: PriceTerms = {
        version: '1',
        unit,
        microcreditsPerUnit: rate,
        baseMicrocredits: 0,
        countParameter: 'n',
        sizeParameter: 'size',
        durationParameter: 'seconds',
        multipliers: [],
        minimumCredits: 0,
        maximumCredits: Number.MAX_SAFE_INTEGER,
        ...(unit === 'megapixel' ? ofMegapixels : {}),
      };
      const model = imageModel({ price });
      const parameters = { n: count, seconds, size: `${size.widthPx}x${size.heightPx}` };
      const counted = unitsReserved(model, parameters, references);
      const measured = measuredRateOf(model, parameters, references);
      const charged = (outputs: Parameters<typeof unitsCharged>[2]) => unitsCharged(counted, measured, outputs);

      const requested = Array.from({ length: count }, () => ({ ...size, durationMs: seconds * 1_000 }));
      expect(charged(requested)).to.equal(counted.reservedMicros);
      expect(charged([])).to.equal(0);
      let before = 0;
      for (let delivered = 1; delivered <= one.others.length; delivered += 1) {
        const outputs = one.others.slice(0, delivered).map(([other, durationMs]) => ({ ...other, durationMs }));
        const now = charged(outputs);
        expect(now).to.be.within(before, counted.reservedMicros);
        before = now;
      }
      // With one rate for all units, the price is the units at that rate, rounded up.
      if (inputRate === undefined || unit !== 'megapixel') {
        const credits = (BigInt(rate) * BigInt(counted.reservedMicros) + 10n ** 12n - 1n) / 10n ** 12n;
        expect(creditsByOutputs(model, parameters, references).at(-1)).to.equal(Number(credits));
      }
    });
  });
});
