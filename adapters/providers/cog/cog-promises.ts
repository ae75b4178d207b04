import type { ProviderPromises } from '../../../core/ports/provider.js';

/** What a container of Cog promises of every task. */
export const COG_PROMISES: ProviderPromises = {
  answersWithOutputs: true,
  isAskedBy: 'nothing',
  // Only while it runs: after its end the same id runs again.
  takesTokenOnce: false,
  settleMs: 30_000,
  cancels: 'nothing',
  isPaid: false,
};
