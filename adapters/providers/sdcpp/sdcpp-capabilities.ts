import type { JsonObject } from '../../../core/json.js';
import type { ProviderCapabilities } from '../../../core/ports/provider.js';

/** The capabilities of sd-server, which are the same for every task. */
const SDCPP_CAPABILITIES: ProviderCapabilities = {
  answersWithOutputs: false,
  isAskedBy: 'nothing',
  takesTokenOnce: false,
  settleMs: 60_000,
  cancels: 'queued',
  keepsResultsMs: 600_000,
  isPaid: false,
};

/** The mask belongs to the start image; pictures that the model only looks at have no mask. */
export function sdcppCapabilities({ references }: JsonObject): ProviderCapabilities {
  return references === 'init_image' ? { ...SDCPP_CAPABILITIES, maxMaskedReferences: 1 } : SDCPP_CAPABILITIES;
}
