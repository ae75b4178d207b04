import type { ProviderPromises } from '../../../core/ports/provider.js';

/** What sd-server promises of every task. */
export const SDCPP_PROMISES: ProviderPromises = {
  answersWithOutputs: false,
  isAskedBy: 'nothing',
  takesTokenOnce: false,
  settleMs: 60_000,
  cancels: 'queued',
  keepsResultsMs: 600_000,
  isPaid: false,
};
