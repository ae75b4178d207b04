import { usageFailure } from './exit.js';

/**
 * An amount as a person reads it: `8 credits`, `1 credit`. Another currency is the operator's own word and stays as it
 * is.
 */
export function amountText(count: number | bigint, currency = 'credits'): string {
  return `${count} ${Number(count) === 1 && currency === 'credits' ? 'credit' : currency}`;
}

/** A whole number of credits from 0 that an option was given. Fails with one sentence that names the option. */
export function readCredits(option: string, text: string): number {
  const credits = Number(text);
  if (!/^[0-9]+$/.test(text) || !Number.isSafeInteger(credits))
    throw usageFailure(`${option} must be a whole number from 0 to ${Number.MAX_SAFE_INTEGER}, not ${text}.`);
  return credits;
}
