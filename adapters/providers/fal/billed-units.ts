import type { JsonObject } from '../../../core/json.js';
import type { ProviderCost } from '../../../core/ports/provider.js';

/** The operator's cost of one unit that fal bills: a decimal, and the currency's three capital letters. */
export interface UnitCost {
  /** A number of YAML is as good as its text. */
  readonly amount: string | number;
  readonly currency: string;
}

/** The JSON Schema of `UnitCost` within `provider_settings`. */
export const UNIT_COST: JsonObject = {
  type: 'object',
  additionalProperties: false,
  required: ['amount', 'currency'],
  properties: {
    amount: { type: ['string', 'number'], maxLength: 40 },
    currency: { type: 'string', pattern: '^[A-Z]{3}$', description: 'three capital letters, such as USD' },
  },
};

const AMOUNT = /^(\d{1,6})(?:\.(\d{1,12}))?$/;

/** Checks the rules that the schema cannot express. */
export function unitCostFault(unitCost: UnitCost | undefined): string | undefined {
  return unitCost === undefined || AMOUNT.test(String(unitCost.amount))
    ? undefined
    : 'unit_cost.amount must be a decimal below a million with up to 12 digits behind the point, such as "0.003".';
}

/** A header of the answer with a result: how many units the task is billed as. */
const HEADER = 'x-fal-billable-units';
/** Units with a fraction come with any number of digits; more than a thousand million of them are not believed. */
const UNITS = /^(\d{1,9})(?:\.(\d{1,40}))?$/;

/** In millionths of a currency: a million of one. */
const MOST_MONEY = 10n ** 12n;
const AMOUNT_SCALE = 10n ** 12n;

/**
 * The cost of a task by the headers of its result: the units in millionths, rounded to the nearest one, and the money that they
 * cost, rounded up to a millionth of the currency. Empty where the header is absent or is no such number; without money where that
 * would be more than a million.
 */
export function billedCost(
  header: (name: string) => string | undefined,
  unitCost: UnitCost | undefined,
): Pick<ProviderCost, 'billedUnitMicros' | 'money'> {
  const [, whole, fraction = ''] = UNITS.exec(header(HEADER)?.trim() ?? '') ?? [];
  if (whole === undefined) return {};
  // One digit more than is kept says how to round.
  const units = (BigInt(whole + fraction.padEnd(7, '0').slice(0, 7)) + 5n) / 10n;
  if (unitCost === undefined) return { billedUnitMicros: Number(units) };
  const [, amount = '', part = ''] = AMOUNT.exec(String(unitCost.amount)) ?? [];
  const perUnit = BigInt(amount + part.padEnd(12, '0'));
  // Micros of units times 10^-12 of the currency are 10^-18; one micro of the currency is 10^-6.
  const micros = (units * perUnit + AMOUNT_SCALE - 1n) / AMOUNT_SCALE;
  if (micros > MOST_MONEY) return { billedUnitMicros: Number(units) };
  return { billedUnitMicros: Number(units), money: { micros: Number(micros), currency: unitCost.currency } };
}
