import type { ApiClient } from '../clients/api-client.js';
import type { ClientPool } from '../clients/client-pool.js';
import type { Action } from './schedule.js';

export interface AsksVendors {
  readonly pool: ClientPool;
  readonly rich: ApiClient;
  /** An upload of the rich that is ready. */
  readonly uploadId: string;
  readonly pause: (ms: number) => Promise<void>;
}

/** Of each model, each time: a trouble meets every second call, and a silence enough that a worker pauses the vendor. */
const [TASKS, TASKS_IN_SILENCE] = [2, 4];

/** Asks vendors for what their fault spoils, as nobody else might just then; nothing for other faults. */
export async function askVendors(action: Action, { pool, rich, uploadId, pause }: AsksVendors): Promise<void> {
  if (action.to === 'vendor-links') await pool.askVendors(rich, { uploadId, times: 1, pause });
  if (action.to !== 'vendors') return;
  const times = action.trouble === 'silence' ? TASKS_IN_SILENCE : TASKS;
  await (action.trouble === 'cancels-fail'
    ? pool.cancelAtVendors(rich, pause)
    : pool.askVendors(rich, { uploadId, times, pause }));
}
