import type { JsonObject } from '../../../core/json.js';
import type { ProviderCall, ProviderCheck } from '../../../core/ports/provider.js';
import { connectionFault, keyFault } from '../shared/check-faults.js';
import type { Connection } from '../shared/connection.js';
import { appOf, readSettings } from './fal-settings.js';

const MAX_ANSWER_BYTES = 1024 * 1024;

/** A request that there never was. */
const NO_REQUEST = '00000000-0000-0000-0000-000000000000';

/**
 * Asks for the status of a request that there is not, at each model's app. It makes nothing, and shows whether the
 * queue is reachable and accepts the key. Whether the model exists it cannot show.
 */
export async function checkQueue(
  connection: Connection,
  settings: readonly JsonObject[],
  { signal }: ProviderCall,
): Promise<ProviderCheck> {
  const apps = new Set(settings.flatMap((given) => appIn(given)));
  try {
    const faults = new Set<string>();
    for (const app of apps.size > 0 ? apps : ['fal-ai/flux']) {
      const url = connection.urlOf(...app.split('/'), 'requests', NO_REQUEST, 'status');
      const headers = { ...connection.credentials, accept: 'application/json' };
      const answer = await connection.client.request({ method: 'GET', url, headers, signal });
      const json = await answer.shortJson(MAX_ANSWER_BYTES);
      if (answer.status === 401 || answer.status === 403)
        faults.add(keyFault(connection, `The key is refused at ${connection.base} for ${app}; check api_key.`));
      else if (!('value' in json) || answer.status >= 500)
        faults.add(`${connection.base} is not the queue of fal (status ${answer.status}); check base_url.`);
    }
    return { about: 'fal', faults: [...faults] };
  } catch (error) {
    return { faults: [connectionFault(error, connection.base)] };
  }
}

function appIn(given: JsonObject): readonly string[] {
  const read = readSettings(given);
  return 'fault' in read ? [] : [appOf(read.settings.endpoint).join('/')];
}
