import type { JsonObject } from '../../../core/json.js';
import type { ProviderCapabilities } from '../../../core/ports/provider.js';

/** What a web UI promises of every task. */
const A1111_PROMISES: ProviderCapabilities = {
  answersWithOutputs: true,
  isAskedBy: 'nothing',
  takesTokenOnce: false,
  // How long a request may be on its way once we have given it up.
  settleMs: 60_000,
  cancels: 'nothing',
  isPaid: false,
};

/** A picture to begin with may have a mask. */
export function a1111Capabilities({ references }: JsonObject): ProviderCapabilities {
  return references === undefined ? A1111_PROMISES : { ...A1111_PROMISES, maxMaskedReferences: 1 };
}
