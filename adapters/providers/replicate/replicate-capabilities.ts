import type { JsonObject } from '../../../core/json.js';
import type { ProviderCapabilities } from '../../../core/ports/provider.js';
import { maskCapability } from '../shared/task-input.js';

const OF_EVERY_TASK: ProviderCapabilities = {
  answersWithOutputs: false,
  isAskedBy: 'nothing',
  takesTokenOnce: false,
  settleMs: 60_000,
  cancels: 'running',
  keepsResultsMs: 60 * 60 * 1_000,
  isPaid: true,
};

/** The capabilities of Replicate for a model. */
export function replicateCapabilities(settings: JsonObject): ProviderCapabilities {
  return { ...OF_EVERY_TASK, ...maskCapability(settings) };
}
