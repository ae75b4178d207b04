import type { ProviderCall, RecoverAnswer } from '../../../core/ports/provider.js';
import { valuesAt } from '../shared/pointer-values.js';
import type { ApiCalls } from './api-calls.js';
import { callFailed, isOfApi } from './failed-calls.js';
import type { HttpJsonSettings } from './http-json-settings.js';
import { MAX_JSON_BYTES } from './read-answer.js';
import { idAt } from './task-reference.js';

/**
 * Looks a task up by its token. A missing task is believed only if the settings say how the API reports it. Throws
 * `HttpError` for an answer that leaves it open.
 */
export async function recoverTask(
  calls: ApiCalls,
  token: string,
  settings: HttpJsonSettings,
  { signal }: ProviderCall,
): Promise<RecoverAnswer> {
  const { recover } = settings;
  if (recover === undefined) return 'unsupported';
  const answer = await calls.at(recover.path, { token }, { signal, settings });
  if (!answer.isOk) {
    const isOurs = await isOfApi(answer, settings);
    if (recover.missing_status.includes(answer.status) && isOurs) return { found: false };
    throw callFailed(answer, `The answer to a look-up has status ${answer.status}.`);
  }
  const json = await answer.json(MAX_JSON_BYTES);
  const isFound = recover.found === undefined || isThere(json, recover.found);
  if (isFound === undefined) throw answer.error('bad-answer', 'The answer to a look-up does not say what it found.');
  if (!isFound) return { found: false };
  const reference = idAt(json, recover.id, settings);
  const isOther = recover.token !== undefined && valuesAt(json, recover.token)[0] !== token;
  if (reference === undefined || isOther)
    throw answer.error('bad-answer', 'The answer to a look-up has another task than the one that was asked for.');
  return { found: true, reference };
}

/** A list with items, `true` or an object says that there is a task; an empty list, `false` or `null` that there is none. */
function isThere(json: unknown, pointer: string): boolean | undefined {
  const [value] = valuesAt(json, pointer);
  if (Array.isArray(value)) return value.length > 0;
  if (typeof value === 'boolean') return value;
  if (value === null) return false;
  return typeof value === 'object' ? true : undefined;
}
