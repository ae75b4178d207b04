import type { JsonObject } from '../../../core/json.js';
import type { ProviderCapabilities } from '../../../core/ports/provider.js';
import { isMaskNeeded, maskForm, readSettings } from './openai-settings.js';

/** How long a request may still be in flight after we have abandoned it. */
const SETTLE_MS = 60_000;

/** The capabilities of a server for a model with these settings. */
export function openAiCapabilities(settings: JsonObject): ProviderCapabilities {
  const read = readSettings(settings);
  const { api, cancel, paid } = 'fault' in read ? { api: 'sync', cancel: 'none', paid: true } : read.settings;
  const takesMask = 'settings' in read && maskForm(read.settings) !== undefined;
  return {
    answersWithOutputs: api === 'sync',
    isAskedBy: 'nothing',
    takesTokenOnce: false,
    settleMs: SETTLE_MS,
    cancels: cancel === 'delete' ? 'running' : 'nothing',
    ...(takesMask ? { maxMaskedReferences: 1 } : {}),
    ...('settings' in read && isMaskNeeded(read.settings) ? { needsMask: true } : {}),
    isPaid: paid,
  };
}
