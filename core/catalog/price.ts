import { assert } from '../assert.js';
import type { MeasuredRate } from '../generation/generation.js';
import type { Json, JsonObject } from '../json.js';
import type { Model, PriceTerms } from './model.js';

const MICRO = 1_000_000n;
const PIXELS_PER_MEGAPIXEL = 1_000_000n;
const SIZE = /^([1-9][0-9]{0,5})x([1-9][0-9]{0,5})$/;

/** How many outputs these parameters ask for, 1 to the model's limit. */
export function requestedOutputs(model: Model, parameters: JsonObject): number {
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
export function creditsByOutputs(model: Model, parameters: JsonObject): readonly number[] {
  const table = [0];
  for (let count = 1; count <= requestedOutputs(model, parameters); count += 1) {
    const credits = creditsFor(model.price, parameters, count);
    assert(credits >= (table.at(-1) ?? 0), 'the price does not fall when more is delivered');
    table.push(credits);
  }
  return table;
}

function creditsFor(terms: PriceTerms, parameters: JsonObject, count: number): number {
  const units = terms.unit === 'task' ? 1n : unitsPerOutput(terms, parameters) * BigInt(count);
  return creditsForUnits({ ...terms, thousandths: thousandthsOf(terms, parameters) }, units);
}

/** The rate of a request whose price follows the size or the duration; undefined where the price follows the count alone. */
export function measuredRateOf({ price }: Model, parameters: JsonObject): MeasuredRate | undefined {
  const { unit, microcreditsPerUnit, baseMicrocredits, minimumCredits, maximumCredits } = price;
  if (unit !== 'megapixel' && unit !== 'second') return undefined;
  const thousandths = thousandthsOf(price, parameters);
  return { unit, microcreditsPerUnit, baseMicrocredits, minimumCredits, maximumCredits, thousandths };
}

/** How far a video may be from a whole number of seconds, in milliseconds: a few frames of rounding. */
export const DURATION_TOLERANCE_MS = 250;

/** Credits for outputs of these sizes and durations, rounded up once. Nothing costs nothing. */
export function creditsForMeasured(
  rate: MeasuredRate,
  outputs: readonly { readonly widthPx: number; readonly heightPx: number; readonly durationMs?: number }[],
): number {
  if (outputs.length === 0) return 0;
  const units = outputs.map(({ widthPx, heightPx, durationMs = 0 }) =>
    rate.unit === 'megapixel'
      ? BigInt(widthPx) * BigInt(heightPx)
      : BigInt(Math.max(1, Math.ceil((durationMs - DURATION_TOLERANCE_MS) / 1_000))),
  );
  return creditsForUnits(
    rate,
    units.reduce((sum, one) => sum + one, 0n),
  );
}

type Rate = Pick<
  PriceTerms,
  'unit' | 'microcreditsPerUnit' | 'baseMicrocredits' | 'minimumCredits' | 'maximumCredits'
> & {
  readonly thousandths: readonly number[];
};

function creditsForUnits(rate: Rate, units: bigint): number {
  let [amount, scale] = [BigInt(rate.microcreditsPerUnit) * units, 1n];
  if (rate.unit === 'megapixel') scale = PIXELS_PER_MEGAPIXEL;
  for (const thousandths of rate.thousandths) {
    amount *= BigInt(thousandths);
    scale *= 1_000n;
  }
  const total = amount + BigInt(rate.baseMicrocredits) * scale;
  const divisor = MICRO * scale;
  const roundedUp = (total + divisor - 1n) / divisor;
  const bounded = min(max(roundedUp, BigInt(rate.minimumCredits)), BigInt(rate.maximumCredits));
  return Number(bounded);
}

function thousandthsOf({ multipliers }: PriceTerms, parameters: JsonObject): number[] {
  return multipliers.map(
    ({ parameter, thousandthsByValue }) => listed(thousandthsByValue, valueName(parameters[parameter])) ?? 1_000,
  );
}

/** For megapixels the unit here is the pixel; the scale takes care of the million. */
function unitsPerOutput(terms: PriceTerms, parameters: JsonObject): bigint {
  switch (terms.unit) {
    case 'image':
    case 'video':
    case 'task':
      return 1n;
    case 'second':
      return BigInt(Math.ceil((requestedDurationMs(terms, parameters) ?? 1_000) / 1_000));
    case 'megapixel': {
      const size = requestedSize(terms, parameters);
      return size ? BigInt(size.widthPx) * BigInt(size.heightPx) : PIXELS_PER_MEGAPIXEL;
    }
  }
}

/** A value may be spelled like a member that every object has; only what the catalog lists counts. */
function listed(thousandthsByValue: Readonly<Record<string, number>>, name: string): number | undefined {
  return Object.hasOwn(thousandthsByValue, name) ? thousandthsByValue[name] : undefined;
}

function valueName(value: Json | undefined): string {
  return typeof value === 'string' ? value : JSON.stringify(value ?? null);
}

/** The public price: only where it is linear in one unit from the first one on, so that it cannot mislead. */
export function publicPrice(terms: PriceTerms): { readonly price: number; readonly priceUnit: string } | undefined {
  const isBelowMinimum = terms.minimumCredits > Math.ceil(terms.microcreditsPerUnit / 1_000_000);
  const isLinear = terms.multipliers.length === 0 && terms.baseMicrocredits === 0 && !isBelowMinimum;
  return isLinear ? { price: terms.microcreditsPerUnit / 1_000_000, priceUnit: terms.unit } : undefined;
}

const min = (a: bigint, b: bigint) => (a < b ? a : b);
const max = (a: bigint, b: bigint) => (a > b ? a : b);
