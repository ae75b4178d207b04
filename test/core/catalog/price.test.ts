import { expect } from 'chai';
import fc from 'fast-check';
import { nearKeys } from '../../../core/catalog/find-model.js';
import { routeOf } from '../../../core/generation/run/executions.js';
import { creditsByOutputs, type PriceTerms, type PriceUnit, publicPrice } from '../../../core/catalog/price.js';
import type { JsonObject } from '../../../core/json.js';
import { imageModel } from '../../fixtures/models.js';
import { uuidAt } from '../../fixtures/stored-records.js';
import { forAllSync } from '../../harness/for-all.js';

// Goal: a price is exact, rounded up once, within the model's bounds, and never falls when more is delivered.
// Method: random terms and parameters against a reference that adds integer fractions and divides once at the end.

interface Case {
  readonly terms: PriceTerms;
  readonly parameters: JsonObject;
  readonly quality: string;
  readonly widthPx: number;
  readonly heightPx: number;
  readonly seconds: number;
  readonly count: number;
}

const rate = fc.oneof(fc.nat({ max: 50_000_000 }), fc.constantFrom(0, 1, 999_999, 1_000_000, 1_000_001));
const thousandths = fc.integer({ min: 0, max: 20_000 });

const anyCase: fc.Arbitrary<Case> = fc
  .record({
    unit: fc.constantFrom<PriceUnit>('image', 'megapixel', 'second', 'video', 'task'),
    microcreditsPerUnit: rate,
    baseMicrocredits: rate,
    minimum: fc.nat({ max: 50 }),
    span: fc.nat({ max: 1_000_000 }),
    quality: fc.constantFrom('low', 'high', 'unlisted'),
    low: thousandths,
    high: thousandths,
    steps: thousandths,
    widthPx: fc.integer({ min: 1, max: 9_999 }),
    heightPx: fc.integer({ min: 1, max: 9_999 }),
    seconds: fc.integer({ min: 1, max: 600 }),
    count: fc.integer({ min: 1, max: 4 }),
  })
  .map(
    ({
      unit,
      microcreditsPerUnit,
      baseMicrocredits,
      minimum,
      span,
      quality,
      low,
      high,
      steps,
      widthPx,
      heightPx,
      seconds,
      count,
    }) => ({
      terms: {
        version: '1',
        unit,
        microcreditsPerUnit,
        baseMicrocredits,
        countParameter: 'count',
        sizeParameter: 'size',
        durationParameter: 'seconds',
        multipliers: [
          { parameter: 'quality', thousandthsByValue: { low, high } },
          { parameter: 'steps', thousandthsByValue: { 20: steps } },
        ],
        minimumCredits: minimum,
        maximumCredits: minimum + span,
      },
      parameters: { count, seconds, size: `${widthPx}x${heightPx}`, quality, steps: 20 },
      quality,
      widthPx,
      heightPx,
      seconds,
      count,
    }),
  );

/**
 * The same rule as one fraction: everything times 10^12 (millionths of a credit, pixels of a megapixel) and 10^6 (two
 * multipliers).
 */
function expectedCredits({ terms, quality, widthPx, heightPx, seconds }: Case, count: number): number {
  const millionthsOfUnits =
    terms.unit === 'megapixel'
      ? BigInt(widthPx * heightPx)
      : 1_000_000n * BigInt(terms.unit === 'second' ? seconds : 1);
  const listed = (index: number, value: string) => BigInt(terms.multipliers[index]?.thousandthsByValue[value] ?? 1_000);
  const numerator =
    BigInt(terms.microcreditsPerUnit) *
      millionthsOfUnits *
      BigInt(terms.unit === 'task' ? 1 : count) *
      listed(0, quality) *
      listed(1, '20') +
    BigInt(terms.baseMicrocredits) * 10n ** 12n;
  const denominator = 10n ** 18n;
  const up = numerator / denominator + (numerator % denominator === 0n ? 0n : 1n);
  return Math.min(terms.maximumCredits, Math.max(terms.minimumCredits, Number(up)));
}

describe('creditsByOutputs', () => {
  it('is exact, within bounds, nothing for nothing, and does not fall', () => {
    forAllSync(500, [anyCase], (one) => {
      const table = creditsByOutputs(imageModel({ price: one.terms }), one.parameters);
      expect(table).to.have.length(one.count + 1);
      expect(table[0]).to.equal(0);
      for (let count = 1; count <= one.count; count += 1) {
        expect(table[count]).to.equal(expectedCredits(one, count));
        expect(table[count]).to.be.at.least(table[count - 1] ?? 0);
      }
    });
  });

  it('treats multiplier values that are names of object members as unlisted', () => {
    const price = { ...imageModel().price, multipliers: [{ parameter: 'style', thousandthsByValue: { bold: 2_000 } }] };
    const table = (style: string) => creditsByOutputs(imageModel({ price }), { count: 1, style });
    expect(table('bold')).to.deep.equal([0, 20]);
    for (const style of ['constructor', 'toString', '__proto__']) expect(table(style), style).to.deep.equal([0, 10]);
  });

  it('never counts more outputs than the model may deliver', () => {
    expect(creditsByOutputs(imageModel(), { count: 9 })).to.deep.equal([0, 10, 20, 30, 40]);
  });
});

describe('publicPrice', () => {
  it('is shown only if it is one rate for one unit', () => {
    const { price } = imageModel();
    expect(publicPrice(price)).to.deep.equal({ price: 10, priceUnit: 'image' });
    expect(publicPrice({ ...price, minimumCredits: 10 })).to.deep.equal({ price: 10, priceUnit: 'image' });
    expect(publicPrice({ ...price, minimumCredits: 11 }), 'one image costs more than the rate').to.equal(undefined);
    expect(publicPrice({ ...price, baseMicrocredits: 1 })).to.equal(undefined);
    expect(publicPrice({ ...price, multipliers: [{ parameter: 'style', thousandthsByValue: {} }] })).to.equal(
      undefined,
    );
  });
});

// Goal: for an unknown key, a few similar keys are suggested, at low cost for any input.
// Method: a table; long keys.

const KEYS = ['picture', 'picture-held', 'pictures', 'pictore', 'picturx', 'clip', 'sandbox-image', 'sandbox-video'];

describe('keys near an unknown one', () => {
  for (const [key, near] of [
    ['Picture', ['picture', 'pictures', 'pictore']],
    ['sandbox-imgae', ['sandbox-image']],
    ['sandbox_video', ['sandbox-video']],
    ['clp', ['clip']],
    ['cl', []],
    ['nobody-has-this', []],
    ['', []],
    ['x'.repeat(128), []],
  ] as const)
    it(`${JSON.stringify(key).slice(0, 40)}: ${near.join(', ') || 'none'}`, () =>
      expect(nearKeys(key, KEYS)).to.deep.equal(near));

  it('are not searched for if a key is too long to be a typing error', () => {
    const long = 'a'.repeat(65);
    expect(nearKeys(long, [long])).to.deep.equal([]);
    expect(nearKeys('a'.repeat(64), ['a'.repeat(63)])).to.deep.equal(['a'.repeat(63)]);
  });
});

// Goal: a generation tries the providers of its model in the same order everywhere: the first is chosen by weight, the
// others follow in the catalog's order.
// Method: random routes and ids, and counts over many ids.

const entry = (provider: string, weight: number) => ({ provider, weight, settings: {} });
const names = (route: readonly { readonly provider: string }[]) => route.map(({ provider }) => provider);

describe('the route of a generation', () => {
  it('has every provider once, and after the first one those of the catalog in their order', () => {
    forAllSync(100, [fc.array(fc.nat({ max: 5 }), { minLength: 1, maxLength: 6 }), fc.uuid()], (weights, id) => {
      const route = weights.map((weight, index) => entry(`p${index}`, weight));
      const [first, ...others] = names(routeOf({ route }, id));
      expect(others).to.deep.equal(names(route).filter((name) => name !== first));
      expect(names(routeOf({ route }, id))).to.deep.equal([first, ...others]);
    });
  });

  it('begins at the providers by their weights', () => {
    const route = [entry('a', 1), entry('b', 3), entry('spare', 0)];
    const firsts = Array.from({ length: 4_000 }, (_, n) => routeOf({ route }, uuidAt(n))[0]?.provider);
    const share = (name: string) => firsts.filter((first) => first === name).length / firsts.length;
    expect(share('a')).to.be.within(0.2, 0.3);
    expect(share('spare')).to.equal(0);
  });
});
