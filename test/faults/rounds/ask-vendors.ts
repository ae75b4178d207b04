import type { ApiClient } from '../clients/api-client.js';
import type { ClientPool } from '../clients/client-pool.js';
import { VENDOR_MODEL_KEYS, VENDOR_MODELS, type VendorModel, type VendorName } from '../vendors/vendor-models.js';
import type { Action } from './schedule.js';

export interface AsksVendors {
  readonly pool: ClientPool;
  readonly rich: ApiClient;
  /** An upload of the rich that is ready. */
  readonly uploadId: string;
  readonly pause: (ms: number) => Promise<void>;
}

/** Of each model, each time: a trouble meets every second call, and a silence enough that a worker pauses the vendor. */
const [TASKS, TASKS_IN_SILENCE] = [3, 4];

/**
 * Asks the vendors of a fault for what it spoils, as nobody else might just then, and no others: tasks that wait for a
 * vendor in vain are in the way of later ones. Asks nothing for other faults.
 */
export async function askVendors(action: Action, { pool, rich, uploadId, pause }: AsksVendors): Promise<void> {
  if (action.to !== 'vendor-links' && action.to !== 'vendors') return;
  const models = VENDOR_MODEL_KEYS.filter((model) => isMadeBy(model, action.vendors));
  if (action.to === 'vendor-links') return pool.askVendors(rich, models, { uploadId, times: 1, pause });
  if (action.trouble === 'cancels-fail') return pool.cancelAtVendors(rich, models, pause);
  const times = action.trouble === 'silence' ? TASKS_IN_SILENCE : TASKS;
  const wanted = action.trouble === 'uploads-fail' ? (['vendor-edit'] as const) : models;
  return pool.askVendors(rich, wanted, { uploadId, times, pause });
}

function isMadeBy(model: VendorModel, vendors: readonly VendorName[]): boolean {
  return VENDOR_MODELS[model].makers.some((maker) => vendors.includes(maker));
}
