import type { JsonObject } from '../../../core/json.js';
import type { ProviderCapabilities } from '../../../core/ports/provider.js';
import { maskCapability } from '../shared/task-input.js';
import type { FalOptions } from './platform-headers.js';

/** Without stored payloads, a response of 10 kB or more is kept for the shorter time. */
const [KEEPS_RESULTS_MS, KEEPS_LEAST_MS] = [60 * 60 * 1_000, 6 * 60 * 1_000];

/** The capabilities of fal for a model at an instance with these options. */
export function falCapabilities(
  settings: JsonObject,
  { keeps_payloads: keepsPayloads }: Pick<FalOptions, 'keeps_payloads'>,
): ProviderCapabilities {
  return {
    answersWithOutputs: false,
    isAskedBy: 'nothing',
    takesTokenOnce: false,
    settleMs: 60_000,
    // A running task is asked to stop, and the model decides whether it does.
    cancels: 'queued',
    keepsResultsMs: keepsPayloads ? KEEPS_RESULTS_MS : KEEPS_LEAST_MS,
    isPaid: true,
    ...maskCapability(settings),
  };
}
