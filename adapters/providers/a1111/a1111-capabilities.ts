import type { JsonObject } from '../../../core/json.js';
import type { ProviderCapabilities } from '../../../core/ports/provider.js';

/** The capabilities of a web UI, which are the same for every task. */
const A1111_CAPABILITIES: ProviderCapabilities = {
  answersWithOutputs: true,
  isAskedBy: 'nothing',
  takesTokenOnce: false,
  // How long a request may still be in flight after we have abandoned it.
  settleMs: 60_000,
  cancels: 'nothing',
  isPaid: false,
};

/** A start image may have a mask. */
export function a1111Capabilities({ references }: JsonObject): ProviderCapabilities {
  return references === undefined ? A1111_CAPABILITIES : { ...A1111_CAPABILITIES, maxMaskedReferences: 1 };
}
