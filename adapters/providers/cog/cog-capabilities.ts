import type { JsonObject } from '../../../core/json.js';
import type { ProviderCapabilities } from '../../../core/ports/provider.js';
import { maskCapability } from '../shared/task-input.js';

const OF_EVERY_TASK: ProviderCapabilities = {
  answersWithOutputs: true,
  isAskedBy: 'nothing',
  // Only while it runs: once it has ended, the same id runs again.
  takesTokenOnce: false,
  settleMs: 30_000,
  cancels: 'nothing',
  isPaid: false,
};

/** The capabilities of a Cog container for its model. */
export function cogCapabilities(settings: JsonObject): ProviderCapabilities {
  return { ...OF_EVERY_TASK, ...maskCapability(settings) };
}
