import type { ModelCosts } from './model-costs.js';

/** What the operator takes for one credit; only they know it. */
export interface CreditValue {
  /** In millionths of one unit of the currency. */
  readonly micros: number;
  readonly currency: string;
}

/** In millionths of one unit of the currency of the credit's value. */
export interface Margin {
  /** What the charged credits are worth. */
  readonly incomeMicros: number;
  /** Below 0 where more was paid than taken. */
  readonly marginMicros: number;
  /** Whether costs are missing from it, so that the margin may be lower. */
  readonly isUpperBound: boolean;
}

/** Undefined where it would need a rate between currencies, or more digits than a number has. */
export function marginOf(
  { chargedCredits, money, withoutMoney }: ModelCosts,
  { micros, currency }: CreditValue,
): Margin | undefined {
  const incomeMicros = chargedCredits * micros;
  if (money.some((cost) => cost.currency !== currency) || !Number.isSafeInteger(incomeMicros)) return undefined;
  const [cost] = money;
  return { incomeMicros, marginMicros: incomeMicros - (cost?.micros ?? 0), isUpperBound: withoutMoney > 0 };
}
