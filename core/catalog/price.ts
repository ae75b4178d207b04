import { assert } from '../assert.js';
import type { Json, JsonObject } from '../json.js';

const MICRO = 1_000_000n;
/** Units are counted in millionths: a pixel is a millionth of a megapixel, so that no fraction is lost. */
const UNIT = 1_000_000n;
const SIZE = /^([1-9][0-9]{0,5})x([1-9][0-9]{0,5})$/;

/** How far a video may be from a whole number of seconds, in milliseconds: a few frames of rounding. */
export const DURATION_TOLERANCE_MS = 250;

export interface Size {
  readonly widthPx: number;
  readonly heightPx: number;
}

interface MeasuredOutput extends Size {
  readonly durationMs?: number;
}

export interface UnitRule {
  /** The part of `PriceTerms` that a price by this unit needs. */
  readonly needs?: 'size' | 'duration';
  /** Present where the whole generation counts as one unit, however many outputs it has. */
  readonly isPerGeneration?: true;
  /** The millionths of a unit that one requested output counts; one unit when absent. */
  readonly requested?: (terms: PriceTerms, parameters: JsonObject) => bigint;
  /** The millionths of a unit that one delivered output counts; absent where the price follows the count alone. */
  readonly delivered?: (output: MeasuredOutput, terms: MegapixelTerms) => bigint;
}

/** The units of prices, by which every list of them is made. */
export const PRICE_UNITS = {
  image: {},
  megapixel: {
    needs: 'size',
    requested: (terms, parameters) => {
      const size = requestedSize(terms, parameters) ?? { widthPx: 1_000, heightPx: 1_000 };
      return pixelsOf({ ...size, durationMs: requestedDurationMs(terms, parameters) ?? 1_000 }, terms);
    },
    delivered: pixelsOf,
  },
  second: {
    needs: 'duration',
    requested: (terms, parameters) =>
      UNIT * BigInt(Math.ceil((requestedDurationMs(terms, parameters) ?? 1_000) / 1_000)),
    delivered: ({ durationMs = 0 }) =>
      UNIT * BigInt(Math.max(1, Math.ceil((durationMs - DURATION_TOLERANCE_MS) / 1_000))),
  },
  video: {},
  task: { isPerGeneration: true },
} as const satisfies Readonly<Record<string, UnitRule>>;

export type PriceUnit = keyof typeof PRICE_UNITS;

/** The units whose price follows the size or the duration of an output. */
export type MeasuredUnit = {
  [Unit in PriceUnit]: (typeof PRICE_UNITS)[Unit] extends { readonly delivered: unknown } ? Unit : never;
}[PriceUnit];

/** How megapixels are counted. */
interface MegapixelTerms {
  /** Whether the megapixels of each output, and of each reference file, are rounded up to whole ones. */
  readonly roundsUp?: true;
  /** How many pixels a megapixel has where megapixels are rounded up: 1,000,000 when absent. */
  readonly pixelsPerMegapixel?: number;
  /** For a video: the megapixels of all its frames count, and this is how many a second has, in thousandths. */
  readonly frameRateMillihertz?: number;
}

/** The size of an output by the values of one or two parameters. */
export interface SizeTable {
  /** Their names, at most two. */
  readonly parameters: readonly string[];
  /** Every combination of their values, in the order of `parameters`. */
  readonly sizes: readonly (Size & { readonly values: readonly Json[] })[];
}

/**
 * The price of a generation, as a bounded function of its parameters. Rates are whole millionths of a credit, so that
 * the only rounding is the one up to whole credits at the end.
 */
export interface PriceTerms extends MegapixelTerms {
  readonly version: string;
  readonly unit: PriceUnit;
  readonly microcreditsPerUnit: number;
  /** For `megapixel`: the rate of the first megapixel of each output; the same as that of the others when absent. */
  readonly firstUnitMicrocredits?: number;
  /** The rate of the megapixels of the reference files, added once when anything is delivered. */
  readonly inputMicrocreditsPerMegapixel?: number;
  /** Added once when anything is delivered. */
  readonly baseMicrocredits: number;
  /** The integer parameter with the number of outputs requested; absent means one. */
  readonly countParameter?: string;
  /** The `WIDTHxHEIGHT` parameter; `megapixel` needs it or `sizeTable`. */
  readonly sizeParameter?: string;
  /** The size by other parameters, in place of `sizeParameter`. */
  readonly sizeTable?: SizeTable;
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

/** The terms of a rate that no request changes. */
const RATE_TERMS = [
  'microcreditsPerUnit',
  'firstUnitMicrocredits',
  'roundsUp',
  'pixelsPerMegapixel',
  'frameRateMillihertz',
  'baseMicrocredits',
  'minimumCredits',
  'maximumCredits',
] as const;

/** The terms of a price with what a request has chosen. Rates are millionths of a credit. */
interface ChosenRate extends Pick<PriceTerms, (typeof RATE_TERMS)[number]> {
  /** The multipliers that the request's parameters chose. */
  readonly thousandths: readonly number[];
  /** The reference files, where they have a price. */
  readonly input?: { readonly microcreditsPerMegapixel: number; readonly pixels: number };
}

/**
 * The terms that price delivered outputs by a measured unit. They are stored with the generation: a new form adds an
 * optional field, without which the others keep their meaning.
 */
export interface MeasuredRate extends ChosenRate {
  readonly unit: MeasuredUnit;
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
  { sizeParameter, sizeTable }: Pick<PriceTerms, 'sizeParameter' | 'sizeTable'>,
  parameters: JsonObject,
): Size | undefined {
  if (sizeTable !== undefined) {
    const values = sizeTable.parameters.map((name) => parameters[name]);
    return sizeTable.sizes.find((one) => one.values.every((value, index) => value === values[index]));
  }
  return sizeParameter === undefined ? undefined : sizeIn(parameters[sizeParameter]);
}

/** The size of a text of the form WIDTHxHEIGHT, each of 1 to 999,999 pixels; undefined for any other value. */
export function sizeIn(value: Json | undefined): Size | undefined {
  const match = typeof value === 'string' ? SIZE.exec(value) : null;
  return match ? { widthPx: Number(match[1]), heightPx: Number(match[2]) } : undefined;
}

export function requestedDurationMs(terms: PriceTerms, parameters: JsonObject): number | undefined {
  const seconds = terms.durationParameter === undefined ? undefined : parameters[terms.durationParameter];
  return typeof seconds === 'number' ? seconds * 1_000 : undefined;
}

/**
 * Credits for 0, 1, … n delivered outputs of a request whose defaults are filled in; n is the number requested.
 * `references` are the sizes of its reference files. Exact arithmetic in millionths, rounded up once, then kept within the
 * model's bounds. Nothing delivered costs nothing.
 */
export function creditsByOutputs(
  model: PricedModel,
  parameters: JsonObject,
  references: readonly Size[] = [],
): readonly number[] {
  const { price } = model;
  const { isPerGeneration, requested }: UnitRule = PRICE_UNITS[price.unit];
  const rate = chosenRate(price, parameters, references);
  const perOutput = costOf(rate, requested?.(price, parameters) ?? UNIT);
  const table = [0];
  for (let count = 1; count <= requestedOutputs(model, parameters); count += 1) {
    const credits = creditsFor(rate, isPerGeneration === true ? perOutput : perOutput * BigInt(count));
    assert(credits >= (table.at(-1) ?? 0), 'the price does not fall when more is delivered');
    table.push(credits);
  }
  return table;
}

/** The rate of a request whose price follows the size or the duration; undefined where the price follows the count alone. */
export function measuredRateOf(
  { price }: PricedModel,
  parameters: JsonObject,
  references: readonly Size[] = [],
): MeasuredRate | undefined {
  const { delivered }: UnitRule = PRICE_UNITS[price.unit];
  if (delivered === undefined) return undefined;
  return { unit: price.unit as MeasuredUnit, ...chosenRate(price, parameters, references) };
}

/** Credits for outputs of these sizes and durations, rounded up once. Nothing costs nothing. */
export function creditsForMeasured(rate: MeasuredRate, outputs: readonly MeasuredOutput[]): number {
  if (outputs.length === 0) return 0;
  const { delivered } = PRICE_UNITS[rate.unit];
  return creditsFor(
    rate,
    outputs.reduce((sum, output) => sum + costOf(rate, delivered(output, rate)), 0n),
  );
}

/** The unit of a price, and the millionths of it that the reservation is for. */
export interface CountedUnits {
  readonly unit: PriceUnit;
  readonly reservedMicros: number;
}

/** The units of a request; megapixels of reference files count where they have a price and the unit is the megapixel. */
export function unitsReserved(
  model: PricedModel,
  parameters: JsonObject,
  references: readonly Size[] = [],
): CountedUnits {
  const { price } = model;
  const { isPerGeneration, requested }: UnitRule = PRICE_UNITS[price.unit];
  const outputs = isPerGeneration === true ? 1 : requestedOutputs(model, parameters);
  const micros = (requested?.(price, parameters) ?? UNIT) * BigInt(outputs);
  const { input } = chosenRate(price, parameters, references);
  return { unit: price.unit, reservedMicros: safe(micros + inputPixels(price.unit, input)) };
}

/** The millionths of a unit that these outputs were charged for: as they are delivered, and never more than are reserved. */
export function unitsCharged(
  { unit, reservedMicros }: CountedUnits,
  rate: MeasuredRate | undefined,
  outputs: readonly MeasuredOutput[],
): number {
  if (outputs.length === 0) return 0;
  const { isPerGeneration, delivered }: UnitRule = PRICE_UNITS[unit];
  if (rate === undefined || delivered === undefined)
    return Math.min(reservedMicros, Number(UNIT) * (isPerGeneration === true ? 1 : outputs.length));
  const micros = outputs.reduce((sum, output) => sum + delivered(output, rate), inputPixels(unit, rate.input));
  return Math.min(reservedMicros, safe(micros));
}

function inputPixels(unit: PriceUnit, input: ChosenRate['input']): bigint {
  return unit === 'megapixel' ? BigInt(input?.pixels ?? 0) : 0n;
}

function safe(micros: bigint): number {
  return Math.min(Number(micros), Number.MAX_SAFE_INTEGER);
}

/** The pixels of an output, or of all frames of a video, as they are counted. */
function pixelsOf(
  { widthPx, heightPx, durationMs = 0 }: MeasuredOutput,
  { roundsUp, pixelsPerMegapixel = 1_000_000, frameRateMillihertz }: MegapixelTerms,
): bigint {
  const frames = frameRateMillihertz === undefined ? 1n : framesOf(durationMs, frameRateMillihertz);
  const pixels = BigInt(widthPx) * BigInt(heightPx) * frames;
  if (roundsUp !== true) return pixels;
  const whole = BigInt(pixelsPerMegapixel);
  return ((pixels + whole - 1n) / whole) * UNIT;
}

/** The frames of a video, rounded to a whole number; at least one. */
function framesOf(durationMs: number, millihertz: number): bigint {
  const frames = (BigInt(Math.round(durationMs)) * BigInt(millihertz) + 500_000n) / 1_000_000n;
  return frames > 1n ? frames : 1n;
}

function chosenRate(price: PriceTerms, parameters: JsonObject, references: readonly Size[]): ChosenRate {
  const terms = Object.fromEntries(
    RATE_TERMS.flatMap((name) => (price[name] === undefined ? [] : [[name, price[name]]])),
  ) as Pick<PriceTerms, (typeof RATE_TERMS)[number]>;
  const { inputMicrocreditsPerMegapixel: microcreditsPerMegapixel, roundsUp, pixelsPerMegapixel } = price;
  const thousandths = thousandthsOf(price, parameters);
  if (microcreditsPerMegapixel === undefined || references.length === 0) return { ...terms, thousandths };
  const counted = {
    ...(roundsUp === true ? { roundsUp } : {}),
    ...(pixelsPerMegapixel === undefined ? {} : { pixelsPerMegapixel }),
  };
  const pixels = references.reduce((sum, size) => sum + pixelsOf(size, counted), 0n);
  return { ...terms, thousandths, input: { microcreditsPerMegapixel, pixels: Number(pixels) } };
}

/** The cost of the units of one output before multipliers: millionths of a credit, times millionths of a unit. */
function costOf(rate: ChosenRate, units: bigint): bigint {
  const { microcreditsPerUnit, firstUnitMicrocredits = microcreditsPerUnit } = rate;
  const first = units < UNIT ? units : UNIT;
  return BigInt(firstUnitMicrocredits) * first + BigInt(microcreditsPerUnit) * (units - first);
}

/** Credits for what outputs cost together. */
function creditsFor(rate: ChosenRate, cost: bigint): number {
  const { microcreditsPerMegapixel = 0, pixels = 0 } = rate.input ?? {};
  let amount = cost + BigInt(microcreditsPerMegapixel) * BigInt(pixels);
  let scale = UNIT;
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

/** The forms of a price by which not every unit costs the same, or units are not those of the output alone. */
const NOT_LINEAR = [
  'roundsUp',
  'frameRateMillihertz',
  'firstUnitMicrocredits',
  'inputMicrocreditsPerMegapixel',
] as const satisfies readonly (keyof PriceTerms)[];

/** The public price: only where it is linear in one unit from the first one on, so that it cannot mislead. */
export function publicPrice(terms: PriceTerms): { readonly price: number; readonly priceUnit: PriceUnit } | undefined {
  const isBelowMinimum = terms.minimumCredits > Math.ceil(terms.microcreditsPerUnit / 1_000_000);
  const isLinear =
    terms.multipliers.length === 0 &&
    terms.baseMicrocredits === 0 &&
    !isBelowMinimum &&
    NOT_LINEAR.every((form) => terms[form] === undefined);
  return isLinear ? { price: terms.microcreditsPerUnit / 1_000_000, priceUnit: terms.unit } : undefined;
}
