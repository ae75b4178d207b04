import type { UsageBy } from '../../core/usage/usage-request.js';
import type { UsageSums } from '../../core/usage/usage.js';

/** What the field with a row's group is called, by what usage is added up by. */
export const USAGE_NAMES = {
  day: 'day',
  model: 'model_key',
  key: 'credential_id',
  client_trace_id: 'client_trace_id',
} as const satisfies Record<UsageBy, string>;

/** Sums by the names of their fields, in the order of tables. */
export function namedSums({ generations, failed, reservedCredits, chargedCredits, releasedCredits }: UsageSums) {
  return {
    generations,
    failed,
    reserved_credits: reservedCredits,
    charged_credits: chargedCredits,
    released_credits: releasedCredits,
  };
}
