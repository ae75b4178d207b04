import { expect } from 'chai';
import fc from 'fast-check';
import { nearKeys } from '../../../core/catalog/find-model.js';
import { routeOf } from '../../../core/generation/run/executions.js';
import {
  creditsByOutputs,
  creditsForMeasured,
  type MeasuredRate,
  measuredRateOf,
  type PriceTerms,
  publicPrice,
} from '../../../core/catalog/price.js';
import { imageModel, imagePrice } from '../../fixtures/models.js';
import { uuidAt } from '../../fixtures/stored-records.js';
import { forAllSync } from '../../harness/for-all.js';
import { decideAt, generationIn, outputs as outputsOf } from '../generation/generations.js';
import { anyCase, anyOutput, type Case, expectedCredits, type Output } from './priced-cases.js';

// Goal: a price of any form is exact, rounded up once, within the model's bounds, and never falls when more is delivered;
// a charge is never above the reservation.
// Method: random terms, requests and outputs against a reference that adds fractions of integers and rounds at the end.

const modelOf = ({ terms }: Case) => imageModel({ price: terms });
const tableOf = (one: Case) => creditsByOutputs(modelOf(one), one.parameters, one.references);
const rateOf = (one: Case) => measuredRateOf(modelOf(one), one.parameters, one.references);
const several = fc.array(anyOutput, { maxLength: 4 });

describe('creditsByOutputs', () => {
  it('is exact, within bounds, nothing for nothing, and does not fall', () => {
    forAllSync(1_000, [anyCase], (one) => {
      const table = tableOf(one);
      expect(table).to.have.length(one.count + 1);
      expect(table[0]).to.equal(0);
      for (let count = 1; count <= one.count; count += 1) {
        expect(table[count]).to.equal(expectedCredits(one, Array<Output>(count).fill(one.output)));
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

describe('creditsForMeasured', () => {
  it('is exact for outputs of any size and duration, and the estimate for those that were asked for', () => {
    forAllSync(1_000, [anyCase, several], (one, delivered) => {
      const rate = rateOf(one);
      if (rate === undefined) return;
      expect(creditsForMeasured(rate, delivered)).to.equal(expectedCredits(one, delivered));
      expect(creditsForMeasured(rate, Array<Output>(one.count).fill(one.output))).to.equal(tableOf(one).at(-1));
    });
  });

  it('does not fall when another output is delivered, or a larger or longer one', () => {
    const more = fc.record({ widthPx: fc.nat(2_000), heightPx: fc.nat(2_000), durationMs: fc.nat(5_000) });
    forAllSync(1_000, [anyCase, several, anyOutput, more], (one, others, output, by) => {
      const rate = rateOf(one);
      if (rate === undefined) return;
      const larger = {
        widthPx: output.widthPx + by.widthPx,
        heightPx: output.heightPx + by.heightPx,
        durationMs: output.durationMs + by.durationMs,
      };
      const credits = creditsForMeasured(rate, [...others, output]);
      expect(credits).to.be.at.least(creditsForMeasured(rate, others));
      expect(creditsForMeasured(rate, [...others, larger])).to.be.at.least(credits);
    });
  });

  it('is nothing where nothing is delivered, whatever the base, the minimum and the reference files cost', () => {
    forAllSync(200, [anyCase], (one) => {
      const rate = rateOf(one);
      if (rate !== undefined) expect(creditsForMeasured(rate, [])).to.equal(0);
    });
  });

  it('keeps the meaning of rates that earlier releases stored', () => {
    const stored = {
      unit: 'megapixel',
      microcreditsPerUnit: 2_000_000,
      baseMicrocredits: 500_000,
      minimumCredits: 0,
      maximumCredits: 1_000,
      thousandths: [1_500],
    } as const satisfies MeasuredRate;
    const output = { widthPx: 1_000, heightPx: 1_100, durationMs: 5_000 };
    expect(creditsForMeasured(stored, [output])).to.equal(4);
    expect(creditsForMeasured({ ...stored, unit: 'second' }, [output])).to.equal(16);
  });
});

describe('the charge of delivered outputs', () => {
  it('is their price, never above the reservation, by the terms that the generation has', () => {
    forAllSync(500, [anyCase, several], (one, sizes) => {
      const [creditsTable, measuredRate] = [tableOf(one), rateOf(one)];
      const reserved = creditsTable.at(-1) ?? 0;
      const delivered = outputsOf(Math.min(sizes.length, one.count)).map((output, index) => ({
        ...output,
        ...sizes[index],
      }));
      if (delivered.length === 0) return;
      const running = generationIn('running', 'succeed');
      const terms = { ...running.terms, creditsByOutputs: creditsTable };
      // The rate passes through JSON, as in a store.
      const accepted = JSON.parse(
        JSON.stringify({
          ...running,
          estimatedCredits: reserved,
          reservedCredits: reserved,
          terms: measuredRate === undefined ? terms : { ...terms, measuredRate },
        }),
      ) as typeof running;
      const decided = decideAt(accepted, { event: 'succeed', outputs: delivered, fence: 1 }, 2_000);
      if (!('next' in decided)) throw new Error('The outputs were refused.');
      const price =
        measuredRate === undefined ? creditsTable[delivered.length] : expectedCredits(one, delivered as never);
      expect(decided.next.chargedCredits).to.equal(Math.min(reserved, price ?? NaN));
      expect(decided.next.terms).to.deep.equal(accepted.terms);
    });
  });
});

describe('prices as vendors state them', () => {
  const megapixels = (changes: Partial<PriceTerms>, size: string, references: readonly [number, number][] = []) =>
    creditsByOutputs(
      imageModel({ price: { ...imagePrice(3), unit: 'megapixel', sizeParameter: 'size', ...changes } }),
      { size, seconds: 5, sound: true },
      references.map(([widthPx, heightPx]) => ({ widthPx, heightPx })),
    ).at(-1);

  it('round the megapixels of each output up', () => {
    expect(megapixels({ roundsUp: true }, '1024x1024')).to.equal(6);
    expect(megapixels({ roundsUp: true }, '1000x1000')).to.equal(3);
    expect(megapixels({ roundsUp: true }, '64x64')).to.equal(3);
    expect(megapixels({}, '1024x1024'), 'not rounded').to.equal(4);
    const squares = { roundsUp: true, pixelsPerMegapixel: 1_048_576 } as const;
    expect(megapixels(squares, '1024x1024')).to.equal(3);
    expect(megapixels(squares, '1025x1024')).to.equal(6);
    expect(megapixels(squares, '2048x2048')).to.equal(12);
    const input = { ...squares, inputMicrocreditsPerMegapixel: 1_000_000 };
    expect(megapixels(input, '1024x1024', [[1_024, 1_024]]), 'reference files too').to.equal(4);
  });

  it('have another rate for the first megapixel, and one for those of the reference files', () => {
    const terms = {
      roundsUp: true,
      microcreditsPerUnit: 1_500_000,
      firstUnitMicrocredits: 3_000_000,
      inputMicrocreditsPerMegapixel: 1_500_000,
    } as const;
    expect(megapixels(terms, '1024x1024')).to.equal(5);
    expect(megapixels(terms, '1000x1000')).to.equal(3);
    expect(megapixels(terms, '1000x1000', [[1_000, 1_000]])).to.equal(5);
    expect(
      megapixels(terms, '1000x1000', [
        [1_001, 1_000],
        [10, 10],
      ]),
      'each file is rounded up',
    ).to.equal(8);
  });

  it('count the megapixels of all frames of a video, with a factor for sound', () => {
    const terms = {
      microcreditsPerUnit: 100_000,
      frameRateMillihertz: 25_000,
      durationParameter: 'seconds',
      multipliers: [{ parameter: 'sound', thousandthsByValue: { true: 2_000 } }],
    };
    // 1280 × 720 × 125 frames are 115.2 megapixels.
    expect(megapixels(terms, '1280x720')).to.equal(24);
    expect(megapixels({ ...terms, multipliers: [] }, '1280x720')).to.equal(12);
    expect(megapixels({ ...terms, multipliers: [], frameRateMillihertz: 23_976 }, '1280x720'), '120 frames').to.equal(
      12,
    );
  });

  it('of an upscaler follow the reference file', () => {
    const terms = { unit: 'image', microcreditsPerUnit: 0, inputMicrocreditsPerMegapixel: 1_000_000 } as const;
    expect(megapixels(terms, '1x1', [[2_000, 1_000]])).to.equal(2);
    expect(megapixels(terms, '1x1')).to.equal(0);
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
    const megapixel = { ...price, unit: 'megapixel', sizeParameter: 'size' } as const;
    expect(publicPrice(megapixel)).to.deep.equal({ price: 10, priceUnit: 'megapixel' });
    for (const form of [
      { roundsUp: true },
      { firstUnitMicrocredits: 10_000_000 },
      { inputMicrocreditsPerMegapixel: 1 },
      { frameRateMillihertz: 25_000 },
    ] as const)
      expect(publicPrice({ ...megapixel, ...form }), Object.keys(form)[0]).to.equal(undefined);
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
