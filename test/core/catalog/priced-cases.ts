import fc from 'fast-check';
import type { PriceTerms, PriceUnit, Size } from '../../../core/catalog/price.js';
import type { JsonObject } from '../../../core/json.js';

/** A price of any form, and a request with that price. */
export interface Case {
  readonly terms: PriceTerms;
  readonly parameters: JsonObject;
  /** The sizes of the reference files. */
  readonly references: readonly Size[];
  /** The multipliers that the parameters choose. */
  readonly thousandths: readonly number[];
  /** The output that is asked for, and how many of it. */
  readonly output: Output;
  readonly count: number;
}

export interface Output extends Size {
  readonly durationMs: number;
}

const rate = fc.oneof(fc.nat({ max: 50_000_000 }), fc.constantFrom(0, 1, 999_999, 1_000_000, 1_000_001));
const factor = fc.integer({ min: 0, max: 20_000 });
const side = fc.oneof(fc.integer({ min: 1, max: 9_999 }), fc.constantFrom(1, 500, 1_000, 1_001, 1_024, 2_000, 2_048));
const size: fc.Arbitrary<Size> = fc.record({ widthPx: side, heightPx: side });

export const anyOutput: fc.Arbitrary<Output> = fc.record({
  widthPx: side,
  heightPx: side,
  durationMs: fc.oneof(fc.integer({ min: 0, max: 20_000 }), fc.constantFrom(0, 250, 1_250, 1_251, 4_840, 5_040)),
});

const perSecond = fc.oneof(fc.integer({ min: 1, max: 120_000 }), fc.constantFrom(24_000, 25_000, 23_976, 29_970));

interface Drawn {
  readonly unit: PriceUnit;
  readonly microcreditsPerUnit: number;
  readonly firstUnitMicrocredits: number | undefined;
  readonly inputMicrocreditsPerMegapixel: number | undefined;
  readonly roundsUp: true | undefined;
  readonly pixelsPerMegapixel: number | undefined;
  readonly frameRateMillihertz: number | undefined;
  readonly baseMicrocredits: number;
  readonly minimumCredits: number;
  readonly span: number;
  readonly hasTable: boolean;
  readonly others: readonly Size[];
  readonly quality: 'low' | 'high' | 'unlisted';
  readonly hasSound: boolean;
  readonly factors: readonly [number, number, number];
  readonly output: Size;
  readonly seconds: number;
  readonly references: readonly Size[];
  readonly count: number;
}

export const anyCase: fc.Arbitrary<Case> = fc
  .record<Drawn>({
    unit: fc.constantFrom<PriceUnit>('image', 'megapixel', 'megapixel', 'megapixel', 'second', 'video', 'task'),
    microcreditsPerUnit: rate,
    firstUnitMicrocredits: fc.option(rate, { nil: undefined }),
    inputMicrocreditsPerMegapixel: fc.option(rate, { nil: undefined }),
    roundsUp: fc.constantFrom(true, undefined),
    pixelsPerMegapixel: fc.option(fc.constantFrom(1_000_000, 1_000_001, 1_048_576), { nil: undefined }),
    frameRateMillihertz: fc.option(perSecond, { nil: undefined }),
    baseMicrocredits: rate,
    minimumCredits: fc.nat({ max: 50 }),
    span: fc.oneof(fc.nat({ max: 1_000_000 }), fc.constant(Number.MAX_SAFE_INTEGER - 50)),
    hasTable: fc.boolean(),
    others: fc.array(size, { maxLength: 3 }),
    quality: fc.constantFrom('low', 'high', 'unlisted'),
    hasSound: fc.boolean(),
    factors: fc.tuple(factor, factor, factor),
    output: size,
    seconds: fc.integer({ min: 1, max: 600 }),
    references: fc.array(size, { maxLength: 8 }),
    count: fc.integer({ min: 1, max: 4 }),
  })
  .map(caseOf);

function caseOf(drawn: Drawn): Case {
  const { quality, hasSound, seconds, output, count, references } = drawn;
  const [low, high, sound] = drawn.factors;
  const listed = { low, high, unlisted: 1_000 };
  return {
    terms: termsOf(drawn),
    parameters: {
      count,
      seconds,
      quality,
      sound: hasSound,
      ...(drawn.hasTable ? { ratio: 'wanted', scale: 2 } : { size: `${output.widthPx}x${output.heightPx}` }),
    },
    references,
    thousandths: [listed[quality], hasSound ? sound : 1_000],
    output: { ...output, durationMs: seconds * 1_000 },
    count,
  };
}

/** Only what a catalog may have: the forms of megapixels with that unit alone. */
function termsOf(drawn: Drawn): PriceTerms {
  const { unit, output, others, hasTable, span, minimumCredits } = drawn;
  const { firstUnitMicrocredits, inputMicrocreditsPerMegapixel, frameRateMillihertz } = drawn;
  const { roundsUp, pixelsPerMegapixel } = drawn;
  const [low, high, sound] = drawn.factors;
  const isByMegapixel = unit === 'megapixel';
  const sizes = others.map((one, index) => ({ values: ['wanted', `other ${index}`], ...one }));
  return {
    version: '1',
    unit,
    microcreditsPerUnit: drawn.microcreditsPerUnit,
    ...(isByMegapixel && firstUnitMicrocredits !== undefined ? { firstUnitMicrocredits } : {}),
    ...(inputMicrocreditsPerMegapixel === undefined ? {} : { inputMicrocreditsPerMegapixel }),
    ...((isByMegapixel || inputMicrocreditsPerMegapixel !== undefined) && roundsUp === true
      ? { roundsUp, ...(pixelsPerMegapixel === undefined ? {} : { pixelsPerMegapixel }) }
      : {}),
    ...(isByMegapixel && frameRateMillihertz !== undefined ? { frameRateMillihertz } : {}),
    baseMicrocredits: drawn.baseMicrocredits,
    countParameter: 'count',
    durationParameter: 'seconds',
    ...(hasTable
      ? { sizeTable: { parameters: ['ratio', 'scale'], sizes: [...sizes, { values: ['wanted', 2], ...output }] } }
      : { sizeParameter: 'size' }),
    multipliers: [
      { parameter: 'quality', thousandthsByValue: { low, high } },
      { parameter: 'sound', thousandthsByValue: { true: sound } },
    ],
    minimumCredits,
    maximumCredits: minimumCredits + span,
  };
}

/** A fraction of integers, rounded only where a rule says so. */
class Fraction {
  constructor(
    readonly over: bigint,
    readonly under = 1n,
  ) {}

  static of(value: number, under = 1): Fraction {
    return new Fraction(BigInt(value), BigInt(under));
  }

  plus({ over, under }: Fraction): Fraction {
    return new Fraction(this.over * under + over * this.under, this.under * under);
  }

  times({ over, under }: Fraction): Fraction {
    return new Fraction(this.over * over, this.under * under);
  }

  /** The least whole number that is not below it; it is not negative. */
  get roundedUp(): Fraction {
    return new Fraction(this.over / this.under + (this.over % this.under === 0n ? 0n : 1n));
  }

  isAbove({ over, under }: Fraction): boolean {
    return this.over * under > over * this.under;
  }
}

const ONE = Fraction.of(1);
const NONE = Fraction.of(0);
const MILLIONTH = Fraction.of(1, 1_000_000);
const sum = (values: readonly Fraction[]) => values.reduce((total, one) => total.plus(one), NONE);

/** The price of outputs as docs/catalog.md states it: base + (rate × units + input rate × input megapixels) × multipliers. */
export function expectedCredits({ terms, references, thousandths }: Case, outputs: readonly Output[]): number {
  if (outputs.length === 0) return 0;
  const ofOutputs =
    terms.unit === 'task' ? costOf(terms, ONE) : sum(outputs.map((one) => costOf(terms, unitsOf(terms, one))));
  const input = sum(references.map((one) => megapixels(one, terms, ONE)));
  const rated = ofOutputs.plus(input.times(Fraction.of(terms.inputMicrocreditsPerMegapixel ?? 0, 1_000_000)));
  const multiplied = thousandths.reduce((total, one) => total.times(Fraction.of(one, 1_000)), rated);
  const { over } = multiplied.plus(Fraction.of(terms.baseMicrocredits, 1_000_000)).roundedUp;
  return Math.min(terms.maximumCredits, Math.max(terms.minimumCredits, Number(over)));
}

function costOf({ microcreditsPerUnit, firstUnitMicrocredits }: PriceTerms, units: Fraction): Fraction {
  const [first, others] = [firstUnitMicrocredits ?? microcreditsPerUnit, microcreditsPerUnit].map((one) =>
    Fraction.of(one).times(MILLIONTH),
  ) as [Fraction, Fraction];
  if (!units.isAbove(ONE)) return units.times(first);
  return first.plus(units.plus(Fraction.of(-1)).times(others));
}

/** The units of one output. A quarter of a second over a whole one does not count. */
function unitsOf(terms: PriceTerms, output: Output): Fraction {
  const { unit, frameRateMillihertz } = terms;
  if (unit === 'second') {
    const seconds = Fraction.of(Math.max(0, output.durationMs - 250), 1_000).roundedUp;
    return seconds.isAbove(ONE) ? seconds : ONE;
  }
  if (unit !== 'megapixel') return ONE;
  if (frameRateMillihertz === undefined) return megapixels(output, terms, ONE);
  const exact = Fraction.of(output.durationMs, 1_000).times(Fraction.of(frameRateMillihertz, 1_000));
  const frames = new Fraction(exact.plus(Fraction.of(1, 2)).over / exact.plus(Fraction.of(1, 2)).under);
  return megapixels(output, terms, frames.isAbove(ONE) ? frames : ONE);
}

function megapixels(
  { widthPx, heightPx }: Size,
  { roundsUp, pixelsPerMegapixel }: PriceTerms,
  frames: Fraction,
): Fraction {
  const exact = Fraction.of(widthPx * heightPx, pixelsPerMegapixel ?? 1_000_000).times(frames);
  return roundsUp === true ? exact.roundedUp : exact;
}
