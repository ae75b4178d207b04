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
  const { unit } = model.terms;
  const reserved = priceOf(model, parameters);
  if (unit !== 'megapixel' && unit !== 'second') return priceOf(model, parameters, outputs.length);
  const amounts = outputs.map(({ widthPx, heightPx, durationMs = 0 }) =>
    unit === 'megapixel' ? widthPx * heightPx : Math.max(1, Math.ceil(durationMs / 1_000 - 0.25)),
  );
  const total = BigInt(amounts.reduce((sum, one) => sum + one, 0));
  const measured = { over: total, under: unit === 'megapixel' ? 1_000_000n : 1n };
  return Math.min(reserved, creditsOf(model.terms, parameters, measured));
}

function creditsFor(terms: PricedModel['terms'], parameters: JsonObject, count: number): number {
  return creditsOf(terms, parameters, units(terms, parameters, count));
}

function creditsOf(terms: PricedModel['terms'], parameters: JsonObject, amount: Fraction): number {
  let millionths = times(whole(terms.microcreditsPerUnit), amount);
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

function units(terms: PricedModel['terms'], parameters: JsonObject, count: number): Fraction {
  switch (terms.unit) {
    case 'task':
      return whole(1);
    case 'image':
    case 'video':
      return whole(count);
    case 'second':
      return whole(count * Math.ceil(Number(parameters[terms.durationParameter ?? ''] ?? 1)));
    case 'megapixel': {
      const [width, height] = textOf(parameters[terms.sizeParameter ?? ''] ?? '1000x1000').split('x');
      return { over: BigInt(width ?? 0) * BigInt(height ?? 0) * BigInt(count), under: 1_000_000n };
    }
  }
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
