import type { JsonObject } from '../../../core/json.js';
import type { ProviderCall, ProviderCheck } from '../../../core/ports/provider.js';
import type { HttpAnswer } from '../../http/http-answer.js';
import { connectionFault, keyFault } from '../shared/check-faults.js';
import type { ApiCalls } from './api-calls.js';
import { errorIn, isAboutAccount, meaningOf } from './error-meaning.js';
import { jsonIn } from './failed-calls.js';
import type { HttpJsonSettings } from './http-json-settings.js';
import { MAX_JSON_BYTES } from './read-answer.js';
import { readSettings } from './read-settings.js';

const KEY_REFUSED = 'refuses the key; check api_key and auth.';
const NOT_JSON = 'is not JSON; check base_url and check_path.';

/**
 * Gets the `check_path` of each model's settings, once. If none has one, only the reachability of the server is
 * checked.
 */
export async function checkPaths(
  calls: ApiCalls,
  given: readonly JsonObject[],
  { signal }: ProviderCall,
): Promise<ProviderCheck> {
  const { base } = calls.connection;
  const paths = new Map<string, HttpJsonSettings>();
  for (const one of given) {
    const read = readSettings(one);
    if ('settings' in read && read.settings.check_path !== undefined)
      paths.set(read.settings.check_path, read.settings);
  }
  try {
    if (paths.size === 0) return await checkConnection(calls, signal);
    const faults: string[] = [];
    for (const [path, settings] of paths) {
      const answer = await calls.at(path, {}, { signal, settings });
      const fault = await answerFault(answer, settings);
      if (fault === undefined) continue;
      const sentence = `${base}${path} ${fault}`;
      faults.push(fault === KEY_REFUSED ? keyFault(calls.connection, sentence) : sentence);
    }
    return { faults };
  } catch (error) {
    return { faults: [connectionFault(error, base)] };
  }
}

/** Any answer will do, and no key is needed for one. */
async function checkConnection({ connection }: ApiCalls, signal: ProviderCall['signal']): Promise<ProviderCheck> {
  const answer = await connection.client.request({ method: 'GET', url: connection.base, signal });
  answer.discard();
  return { about: 'a server answers; without check_path, neither its key nor its paths are tried', faults: [] };
}

async function answerFault(answer: HttpAnswer, { errors, check_status: also }: HttpJsonSettings) {
  const { status, isOk } = answer;
  const isRight = isOk || also.includes(status);
  const body = await jsonIn(answer, MAX_JSON_BYTES);
  if (!isRight && (status === 401 || status === 403)) return KEY_REFUSED;
  // Some APIs refuse a key with a status of success, or with 400.
  if (isAboutAccount(meaningOf(errors, errorIn(body, errors, status)))) return KEY_REFUSED;
  if (!isRight) return `has status ${status}; check base_url and check_path.`;
  return body === undefined ? NOT_JSON : undefined;
}
