import type { JsonObject } from '../../../core/json.js';
import type { ProviderCapabilities } from '../../../core/ports/provider.js';
import { maskedPlaces } from './body-template.js';
import { readSettings } from './read-settings.js';

/** The capabilities of the API for a model with these settings; unusable settings provide none. */
export function httpJsonCapabilities(given: JsonObject): ProviderCapabilities {
  const read = readSettings(given);
  const settings = 'settings' in read ? read.settings : undefined;
  const maxMasked = settings === undefined ? 0 : maskedPlaces(settings.submit.body);
  const keepsSeconds = settings?.keeps_results_seconds;
  return {
    answersWithOutputs: false,
    isAskedBy: settings?.recover === undefined ? 'nothing' : 'token',
    takesTokenOnce: settings?.submit.takes_token_once ?? false,
    settleMs: Math.round((settings?.settle_seconds ?? 60) * 1_000),
    cancels: settings?.cancel?.stops ?? 'nothing',
    ...(keepsSeconds === undefined ? {} : { keepsResultsMs: keepsSeconds * 1_000 }),
    isPaid: settings?.is_paid ?? true,
    ...(maxMasked === 0 ? {} : { maxMaskedReferences: maxMasked }),
  };
}
