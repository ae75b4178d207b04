import type { ProviderPromises } from '../../../core/ports/provider.js';

/** What ComfyUI promises of every task; a request may be on its way for `settleMs`. */
export function comfyUiPromises(settleMs: number): ProviderPromises {
  return {
    answersWithOutputs: false,
    isAskedBy: 'token',
    takesTokenOnce: false,
    settleMs,
    cancels: 'running',
    isPaid: false,
  };
}

/** From the option `settle_seconds`. */
export function settleMsOf(settleSeconds: number): number {
  return Math.ceil(settleSeconds * 1_000);
}
