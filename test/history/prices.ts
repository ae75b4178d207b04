import type { PriceTerms } from '../../core/catalog/price.js';
import type { Generation, GenerationRecord } from '../../core/generation/generation.js';
import type { JsonObject } from '../../core/json.js';
import { type Finding, finding } from './finding.js';
import type { GenerationMoney } from './ledger.js';
import { asObject, textOf } from './values.js';

/** The facts about a model that are needed to price a request. */
export interface PricedModel {
  readonly terms: Omit<PriceTerms, 'version'>;
  readonly maxOutputs: number;
  readonly inputSchema: JsonObject;
}

/** A fraction of integers, so that rounding happens only at the end. */
interface Fraction {
  readonly over: bigint;
  readonly under: bigint;
}

const times = (a: Fraction, b: Fraction): Fraction => ({ over: a.over * b.over, under: a.under * b.under });
const plus = (a: Fraction, b: Fraction): Fraction => ({
  over: a.over * b.under + b.over * a.under,
  under: a.under * b.under,
});
const whole = (value: number | bigint): Fraction => ({ over: BigInt(value), under: 1n });

/** The parameters of a request with the defaults of the model's schema, which are all at its top level. */
export function withDefaults(inputSchema: JsonObject, parameters: JsonObject): JsonObject {
  const properties = asObject(inputSchema['properties']);
  const missing = Object.entries(properties).filter(
    ([name, schema]) => parameters[name] === undefined && asObject(schema)['default'] !== undefined,
  );
  return {
    ...parameters,
    ...Object.fromEntries(missing.map(([name, schema]) => [name, asObject(schema)['default'] ?? null])),
  };
}

/** The number of requested outputs; the parameters include their defaults. */
export function wantedOutputs({ terms, maxOutputs }: PricedModel, parameters: JsonObject): number {
  const count = terms.countParameter === undefined ? 1 : (parameters[terms.countParameter] ?? 1);
  return Math.min(Number(count), maxOutputs);
}

/** The price of the requested outputs, or of the first `delivered`; the parameters include their defaults. */
export function priceOf(model: PricedModel, parameters: JsonObject, delivered = Infinity): number {
  const count = Math.min(delivered, wantedOutputs(model, parameters));
  return count === 0 ? 0 : creditsFor(model.terms, parameters, count);
}

/** The measurements of an output that prices use. */
interface Measured {
  readonly widthPx: number;
  readonly heightPx: number;
  readonly durationMs?: number;
}

/**
 * The price of these outputs, by their real sizes and durations where the price is per megapixel or second, and never
 * above the price of the requested outputs.
 */
export function priceOfOutputs(model: PricedModel, parameters: JsonObject, outputs: readonly Measured[]): number {
  if (outputs.length === 0) return 0;
  const { terms } = model;
  if (terms.unit !== 'megapixel' && terms.unit !== 'second') return priceOf(model, parameters, outputs.length);
  const costs = outputs.map((output) => {
    const seconds = Math.max(1, Math.ceil((output.durationMs ?? 0) / 1_000 - 0.25));
    return costOf(terms, terms.unit === 'second' ? whole(seconds) : megapixelsOf(terms, output));
  });
  return Math.min(priceOf(model, parameters), creditsOf(terms, parameters, costs));
}

function creditsFor(terms: PricedModel['terms'], parameters: JsonObject, count: number): number {
  const cost = costOf(terms, unitsOf(terms, parameters));
  return creditsOf(terms, parameters, Array<Fraction>(terms.unit === 'task' ? 1 : count).fill(cost));
}

/** The credits for outputs of these costs. Reference files have no price here: histories do not have their sizes. */
function creditsOf(terms: PricedModel['terms'], parameters: JsonObject, costs: readonly Fraction[]): number {
  let millionths = costs.reduce(plus, whole(0));
  for (const { parameter, thousandthsByValue } of terms.multipliers) {
    const value = parameters[parameter];
    const name = typeof value === 'string' ? value : JSON.stringify(value ?? null);
    const factor = Object.entries(thousandthsByValue).find(([listed]) => listed === name)?.[1] ?? 1_000;
    millionths = times(millionths, { over: BigInt(factor), under: 1_000n });
  }
  const { over, under } = times(plus(millionths, whole(terms.baseMicrocredits)), { over: 1n, under: 1_000_000n });
  const credits = Number(over / under + (over % under === 0n ? 0n : 1n));
  return Math.min(terms.maximumCredits, Math.max(terms.minimumCredits, credits));
}

/** The cost of one output with these units, in millionths of a credit: the first unit may have a rate of its own. */
function costOf({ microcreditsPerUnit, firstUnitMicrocredits }: PricedModel['terms'], units: Fraction): Fraction {
  const first = whole(firstUnitMicrocredits ?? microcreditsPerUnit);
  if (units.over <= units.under) return times(first, units);
  return plus(first, times(whole(microcreditsPerUnit), plus(units, whole(-1))));
}

/** The units of one requested output. */
function unitsOf(terms: PricedModel['terms'], parameters: JsonObject): Fraction {
  const seconds = Number(parameters[terms.durationParameter ?? ''] ?? 1);
  if (terms.unit === 'second') return whole(Math.ceil(seconds));
  if (terms.unit !== 'megapixel') return whole(1);
  const [width, height] = (sizeAsked(terms, parameters) ?? '1000x1000').split('x').map(Number);
  return megapixelsOf(terms, { widthPx: width ?? 0, heightPx: height ?? 0, durationMs: seconds * 1_000 });
}

function megapixelsOf(
  { roundsUp, pixelsPerMegapixel = 1_000_000, frameRateMillihertz }: PricedModel['terms'],
  { widthPx, heightPx, durationMs = 0 }: Measured,
): Fraction {
  const frames =
    frameRateMillihertz === undefined ? 1 : Math.max(1, Math.round((durationMs * frameRateMillihertz) / 1_000_000));
  const pixels = BigInt(widthPx) * BigInt(heightPx) * BigInt(frames);
  const each = BigInt(pixelsPerMegapixel);
  return roundsUp === true ? whole((pixels + each - 1n) / each) : { over: pixels, under: 1_000_000n };
}

/** The size that the parameters ask for, `WIDTHxHEIGHT`; they include their defaults. */
export function sizeAsked(
  { sizeParameter, sizeTable }: Pick<PricedModel['terms'], 'sizeParameter' | 'sizeTable'>,
  parameters: JsonObject,
): string | undefined {
  if (sizeTable === undefined) {
    const size = parameters[sizeParameter ?? ''];
    return size === undefined ? undefined : textOf(size);
  }
  const asked = JSON.stringify(sizeTable.parameters.map((name) => parameters[name] ?? null));
  const found = sizeTable.sizes.find(({ values }) => JSON.stringify(values) === asked);
  return found && `${found.widthPx}x${found.heightPx}`;
}

type Accepted = Pick<Generation, 'generationId' | 'accountId' | 'estimatedCredits' | 'reservedCredits'>;
type Ended = Pick<Generation, 'generationId' | 'status' | 'reservedCredits' | 'chargedCredits' | 'outputs'>;

/** Invariants 3 and 4: an accepted generation is estimated at its price, and one hold of that amount exists for it. */
export function* checkReserved(
  generation: Accepted,
  price: number | undefined,
  money: GenerationMoney | undefined,
): Iterable<Finding> {
  const { generationId, accountId, estimatedCredits, reservedCredits } = generation;
  if (estimatedCredits !== price || reservedCredits !== price)
    yield finding`3: generation ${generationId} is estimated at ${estimatedCredits} and reserves ${reservedCredits}; its price is ${price}`;
  if (money?.accountId !== accountId || Number(money.held) !== reservedCredits)
    yield finding`4: generation ${generationId} of account ${accountId} reserves ${reservedCredits}, and ${money ? `${money.held} were held on account ${money.accountId}` : 'nothing was held'}`;
}

/**
 * Invariant 3: a success is charged the price of its delivered outputs, a failure nothing, and a cancelled generation
 * one of the amounts that may be due then, which is the price of the delivered outputs where the model has no other
 * terms.
 */
export function* checkCharge(
  generation: Ended,
  delivered: number | undefined,
  dueAfterCancel: readonly (number | undefined)[] = [delivered],
): Iterable<Finding> {
  const { generationId, status, reservedCredits, chargedCredits, outputs } = generation;
  const due = status === 'cancelled' ? dueAfterCancel : [status === 'failed' ? 0 : delivered];
  if (!due.includes(chargedCredits))
    yield finding`3: generation ${generationId} is ${status} with ${outputs.length} outputs and charged ${chargedCredits}, where ${due.join(' or ')} is due`;
  if (chargedCredits < 0 || chargedCredits > reservedCredits)
    yield finding`3: generation ${generationId} reserves ${reservedCredits} and is charged ${chargedCredits}`;
}

/** Invariant 4: a hold ends completely. */
export function* checkEndedHold(generationId: string, { held, charged, released }: GenerationMoney): Iterable<Finding> {
  if (charged + released !== held)
    yield finding`4: of the ${held} held for generation ${generationId} ${charged} were charged and ${released} released`;
}

/** Invariant 5: the ledger charges the amount on record, and nothing when there is no generation. */
export function* checkLedgerCharge(
  generationId: string,
  { charged }: GenerationMoney,
  generation: Pick<Generation, 'chargedCredits'> | undefined,
): Iterable<Finding> {
  if (Number(charged) === (generation?.chargedCredits ?? 0)) return;
  yield finding`5: ${charged} were charged for ${generationId}, ${generation ? `whose record says ${generation.chargedCredits}` : 'where no generation stands'}`;
}

/** Invariant 6: at rest nothing is held, whatever record there is for the hold. */
export function* checkHeldAtRest(generationId: string, record: GenerationRecord | undefined): Iterable<Finding> {
  const standing = record?.kind === 'generation' ? record.status : (record?.kind ?? 'nothing stands there');
  yield finding`6: at rest credits are still held for ${generationId} (${standing})`;
}
