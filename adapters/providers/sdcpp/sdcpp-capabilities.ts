import type { JsonObject } from '../../../core/json.js';
import type { ProviderCapabilities } from '../../../core/ports/provider.js';

/** What sd-server promises of every task. */
const SDCPP_PROMISES: ProviderCapabilities = {
  answersWithOutputs: false,
  isAskedBy: 'nothing',
  takesTokenOnce: false,
  settleMs: 60_000,
  cancels: 'queued',
  keepsResultsMs: 600_000,
  isPaid: false,
};

/** The mask belongs to the picture to begin with; pictures that the model looks at have none. */
export function sdcppCapabilities({ references }: JsonObject): ProviderCapabilities {
  return references === 'init_image' ? { ...SDCPP_PROMISES, maxMaskedReferences: 1 } : SDCPP_PROMISES;
}
