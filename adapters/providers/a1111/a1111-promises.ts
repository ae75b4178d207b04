import type { ProviderPromises } from '../../../core/ports/provider.js';

/** What a web UI promises of every task. */
export const A1111_PROMISES: ProviderPromises = {
  answersWithOutputs: true,
  isAskedBy: 'nothing',
  takesTokenOnce: false,
  // How long a request may be on its way once we have given it up.
  settleMs: 60_000,
  cancels: 'nothing',
  isPaid: false,
};
