import { usageFailure } from '../exit.js';

/** A whole number of credits from 0 that an option was given. Fails with one sentence that names the option. */
export function readCredits(option: string, text: string): number {
  const credits = Number(text);
  if (!/^[0-9]+$/.test(text) || !Number.isSafeInteger(credits))
    throw usageFailure(`${option} must be a whole number from 0 to ${Number.MAX_SAFE_INTEGER}, not ${text}.`);
  return credits;
}
