import { assert } from '../assert.js';
import type { Json, JsonObject } from '../json.js';

const MICRO = 1_000_000n;
const PIXELS_PER_MEGAPIXEL = 1_000_000n;
const SIZE = /^([1-9][0-9]{0,5})x([1-9][0-9]{0,5})$/;

/** How far a video may be from a whole number of seconds, in milliseconds: a few frames of rounding. */
export const DURATION_TOLERANCE_MS = 250;

interface MeasuredOutput {
  readonly widthPx: number;
  readonly heightPx: number;
  readonly durationMs?: number;
}

export interface UnitRule {
  /** The part of `PriceTerms` that a price by this unit needs. */
  readonly needs?: 'sizeParameter' | 'durationParameter';
  /** Present where the whole generation counts as one unit, however many outputs it has. */
  readonly isPerGeneration?: true;
  /** How many parts one unit has; a megapixel is counted in pixels, so that no fraction is lost. */
  readonly parts?: bigint;
  /** The parts that one requested output counts; those of one unit when absent. */
  readonly requested?: (terms: PriceTerms, parameters: JsonObject) => bigint;
  /** The parts that one delivered output counts; absent where the price follows the count alone. */
  readonly delivered?: (output: MeasuredOutput) => bigint;
}

/** The units of prices, by which every list of them is made. */
export const PRICE_UNITS = {
  image: {},
  megapixel: {
    needs: 'sizeParameter',
    parts: PIXELS_PER_MEGAPIXEL,
    requested: (terms, parameters) => {
      const size = requestedSize(terms, parameters);
      return size ? BigInt(size.widthPx) * BigInt(size.heightPx) : PIXELS_PER_MEGAPIXEL;
    },
    delivered: ({ widthPx, heightPx }) => BigInt(widthPx) * BigInt(heightPx),
  },
  second: {
    needs: 'durationParameter',
    requested: (terms, parameters) => BigInt(Math.ceil((requestedDurationMs(terms, parameters) ?? 1_000) / 1_000)),
    delivered: ({ durationMs = 0 }) => BigInt(Math.max(1, Math.ceil((durationMs - DURATION_TOLERANCE_MS) / 1_000))),
  },
  video: {},
  task: { isPerGeneration: true },
} as const satisfies Readonly<Record<string, UnitRule>>;

export type PriceUnit = keyof typeof PRICE_UNITS;

/** The units whose price follows the size or the duration of an output. */
export type MeasuredUnit = {
  [Unit in PriceUnit]: (typeof PRICE_UNITS)[Unit] extends { readonly delivered: unknown } ? Unit : never;
}[PriceUnit];

const RULES: Readonly<Record<PriceUnit, UnitRule>> = PRICE_UNITS;

/**
 * The price of a generation, as a bounded function of its parameters. Rates are whole millionths of a credit, so that
 * the only rounding is the one up to whole credits at the end.
 */
export interface PriceTerms {
  readonly version: string;
  readonly unit: PriceUnit;
  readonly microcreditsPerUnit: number;
  /** Added once when anything is delivered. */
  readonly baseMicrocredits: number;
  /** The integer parameter with the number of outputs requested; absent means one. */
  readonly countParameter?: string;
  /** The `WIDTHxHEIGHT` parameter; needed by `megapixel`. */
  readonly sizeParameter?: string;
  /** The integer parameter of whole seconds; needed by `second`. */
  readonly durationParameter?: string;
  /** The rate times this many thousandths, by the value of a parameter. */
  readonly multipliers: readonly {
    readonly parameter: string;
    readonly thousandthsByValue: Readonly<Record<string, number>>;
  }[];
  readonly minimumCredits: number;
  readonly maximumCredits: number;
}

/** The terms that price delivered outputs by a measured unit. Rates are millionths of a credit. */
export interface MeasuredRate extends Pick<
  PriceTerms,
  'microcreditsPerUnit' | 'baseMicrocredits' | 'minimumCredits' | 'maximumCredits'
> {
  readonly unit: MeasuredUnit;
  /** The multipliers that the request's parameters chose. */
  readonly thousandths: readonly number[];
}

/** The part of a `Model` that its price depends on. */
interface PricedModel {
  readonly price: PriceTerms;
  readonly limits: { readonly maxOutputs: number };
}

/** How many outputs these parameters ask for, 1 to the model's limit. */
function requestedOutputs(model: PricedModel, parameters: JsonObject): number {
  const { countParameter } = model.price;
  const count = countParameter === undefined ? 1 : parameters[countParameter];
  return Math.min(
    model.limits.maxOutputs,
    typeof count === 'number' && Number.isInteger(count) && count >= 1 ? count : 1,
  );
}

/** The size these parameters ask for, if the model takes one. */
export function requestedSize(
  terms: PriceTerms,
  parameters: JsonObject,
): { readonly widthPx: number; readonly heightPx: number } | undefined {
  const size = terms.sizeParameter === undefined ? undefined : parameters[terms.sizeParameter];
  const match = typeof size === 'string' ? SIZE.exec(size) : null;
  return match ? { widthPx: Number(match[1]), heightPx: Number(match[2]) } : undefined;
}

export function requestedDurationMs(terms: PriceTerms, parameters: JsonObject): number | undefined {
  const seconds = terms.durationParameter === undefined ? undefined : parameters[terms.durationParameter];
  return typeof seconds === 'number' ? seconds * 1_000 : undefined;
}

/**
 * Credits for 0, 1, … n delivered outputs of a request whose defaults are filled in; n is the number requested. Exact
 * arithmetic in millionths, rounded up once, then kept within the model's bounds. Nothing delivered costs nothing.
 */
export function creditsByOutputs(model: PricedModel, parameters: JsonObject): readonly number[] {
  const { price } = model;
  const { isPerGeneration, parts = 1n, requested } = RULES[price.unit];
  const perOutput = requested?.(price, parameters) ?? parts;
  const rate = { ...price, thousandths: thousandthsOf(price, parameters) };
  const table = [0];
  for (let count = 1; count <= requestedOutputs(model, parameters); count += 1) {
    const credits = creditsForParts(rate, isPerGeneration === true ? perOutput : perOutput * BigInt(count));
    assert(credits >= (table.at(-1) ?? 0), 'the price does not fall when more is delivered');
    table.push(credits);
  }
  return table;
}

/** The rate of a request whose price follows the size or the duration; undefined where the price follows the count alone. */
export function measuredRateOf({ price }: PricedModel, parameters: JsonObject): MeasuredRate | undefined {
  const { unit, microcreditsPerUnit, baseMicrocredits, minimumCredits, maximumCredits } = price;
  if (RULES[unit].delivered === undefined) return undefined;
  const thousandths = thousandthsOf(price, parameters);
  const rate = { microcreditsPerUnit, baseMicrocredits, minimumCredits, maximumCredits, thousandths };
  return { unit: unit as MeasuredUnit, ...rate };
}

/** Credits for outputs of these sizes and durations, rounded up once. Nothing costs nothing. */
export function creditsForMeasured(rate: MeasuredRate, outputs: readonly MeasuredOutput[]): number {
  if (outputs.length === 0) return 0;
  const { delivered } = PRICE_UNITS[rate.unit];
  return creditsForParts(
    rate,
    outputs.reduce((sum, output) => sum + delivered(output), 0n),
  );
}

function creditsForParts(rate: Omit<MeasuredRate, 'unit'> & Pick<PriceTerms, 'unit'>, quantity: bigint): number {
  let amount = BigInt(rate.microcreditsPerUnit) * quantity;
  let scale = RULES[rate.unit].parts ?? 1n;
  for (const thousandths of rate.thousandths) {
    amount *= BigInt(thousandths);
    scale *= 1_000n;
  }
  const total = amount + BigInt(rate.baseMicrocredits) * scale;
  const divisor = MICRO * scale;
  const roundedUp = (total + divisor - 1n) / divisor;
  // A sum that a number cannot hold exactly is above the maximum.
  return Math.min(Math.max(Number(roundedUp), rate.minimumCredits), rate.maximumCredits);
}

function thousandthsOf({ multipliers }: PriceTerms, parameters: JsonObject): number[] {
  return multipliers.map(
    ({ parameter, thousandthsByValue }) => listed(thousandthsByValue, valueName(parameters[parameter])) ?? 1_000,
  );
}

/** A value may be spelled like a member that every object has; only what the catalog lists counts. */
function listed(thousandthsByValue: Readonly<Record<string, number>>, name: string): number | undefined {
  return Object.hasOwn(thousandthsByValue, name) ? thousandthsByValue[name] : undefined;
}

function valueName(value: Json | undefined): string {
  return typeof value === 'string' ? value : JSON.stringify(value ?? null);
}

/** The public price: only where it is linear in one unit from the first one on, so that it cannot mislead. */
export function publicPrice(terms: PriceTerms): { readonly price: number; readonly priceUnit: PriceUnit } | undefined {
  const isBelowMinimum = terms.minimumCredits > Math.ceil(terms.microcreditsPerUnit / 1_000_000);
  const isLinear = terms.multipliers.length === 0 && terms.baseMicrocredits === 0 && !isBelowMinimum;
  return isLinear ? { price: terms.microcreditsPerUnit / 1_000_000, priceUnit: terms.unit } : undefined;
}
