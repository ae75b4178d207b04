import type { JsonObject } from '../../core/json.js';
import type { ProviderLimits } from '../../core/providers/provider-use.js';

/** Options that every provider has beside those of its driver: how much of it all processes together use. */
export const LIMIT_OPTIONS: Readonly<Record<string, JsonObject>> = {
  max_concurrent: {
    type: 'integer',
    minimum: 1,
    maximum: 100_000,
    description: 'Tasks that all processes together have at this provider. Without it there is no limit.',
  },
  max_submissions_per_minute: {
    type: 'integer',
    minimum: 1,
    maximum: 1_000_000,
    description: 'Tasks that all processes together submit in any 60 seconds. Without it there is no limit.',
  },
};

/** The keys of an instance that no driver of a provider may have as an option: its value would never arrive. */
export const INSTANCE_KEYS: readonly string[] = ['kind', ...Object.keys(LIMIT_OPTIONS)];

export function providerLimits(values: Readonly<Record<string, unknown>>, instance: string): ProviderLimits {
  const value = (option: string) => (values[`providers.${instance}.${option}`] ?? undefined) as number | undefined;
  const [maxConcurrent, maxSubmissionsPerMinute] = [value('max_concurrent'), value('max_submissions_per_minute')];
  return {
    ...(maxConcurrent === undefined ? {} : { maxConcurrent }),
    ...(maxSubmissionsPerMinute === undefined ? {} : { maxSubmissionsPerMinute }),
  };
}
