import type { ProviderFailure } from '../../../core/ports/provider.js';
import { policyRefusalIn } from '../shared/policy-codes.js';
import { failure, type FailureName } from '../shared/sentences.js';

interface Meaning {
  readonly name: FailureName;
  /** Codes with which another attempt cannot succeed although the failure may be retried. */
  readonly isFinal?: true;
}

/** Codes at the end of an error. Four digits are the platform's own, three those of official models. */
const CODES: Readonly<Record<string, Meaning>> = {
  E003: { name: 'no capacity' },
  E004: { name: 'no capacity' },
  E005: { name: 'input refused' },
  // Out of memory: the same input needs as much again.
  E1001: { name: 'broke', isFinal: true },
  E6716: { name: 'no capacity' },
};

/** Any other failure of the platform may pass. */
const PLATFORM_ERROR: Meaning = { name: 'broke' };

/** Sentences of models and of the platform that have no code. */
const SENTENCES: readonly (readonly [RegExp, Meaning])[] = [
  [/\bNSFW\b/i, { name: 'output refused' }],
  [/flagged as sensitive/i, { name: 'input refused' }],
  [/prediction interrupted/i, { name: 'broke' }],
];

/** The errors of a model's own code: they come again with the same input, and each run is paid for. */
const OWN_ERROR: Meaning = { name: 'broke', isFinal: true };

const LONGEST_READ = 10_000;

/** The code in an error, such as E6716; undefined where it has none. */
export function errorCode(error: unknown): string | undefined {
  return /\b(?:code:\s*)?(E\d{3,4})\)?\s*$/.exec(textOf(error))?.[1];
}

/** The failure of a prediction. Nothing of the error's text is passed on. */
export function predictionFailure(error: unknown): ProviderFailure {
  const text = textOf(error);
  const code = errorCode(error);
  const coded = code === undefined ? undefined : meaningOf(code);
  const sentence = SENTENCES.find(([pattern]) => pattern.test(text))?.[1];
  const { name, isFinal } = coded ?? sentence ?? refusedByPolicy(error) ?? OWN_ERROR;
  return isFinal === true ? { ...failure(name), mayRetry: false } : failure(name);
}

/** Models that call other vendors repeat their errors. */
function refusedByPolicy(error: unknown): Meaning | undefined {
  const name = policyRefusalIn(typeof error === 'string' ? textOf(error) : error);
  return name === undefined ? undefined : { name };
}

function meaningOf(code: string): Meaning | undefined {
  if (Object.hasOwn(CODES, code)) return CODES[code];
  return code.length === 5 ? PLATFORM_ERROR : undefined;
}

function textOf(error: unknown): string {
  return typeof error === 'string' ? error.slice(-LONGEST_READ) : '';
}
