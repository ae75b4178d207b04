import type { JsonObject } from '../../../core/json.js';
import type { ProviderPromises } from '../../../core/ports/provider.js';
import { maskPromise } from '../shared/task-input.js';

const OF_EVERY_TASK: ProviderPromises = {
  answersWithOutputs: true,
  isAskedBy: 'nothing',
  // Only while it runs: after its end the same id runs again.
  takesTokenOnce: false,
  settleMs: 30_000,
  cancels: 'nothing',
  isPaid: false,
};

/** What a container of Cog promises of the tasks of its model. */
export function cogPromises(settings: JsonObject): ProviderPromises {
  return { ...OF_EVERY_TASK, ...maskPromise(settings) };
}
