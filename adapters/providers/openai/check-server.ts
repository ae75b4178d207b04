import type { ProviderCall, ProviderCheck } from '../../../core/ports/provider.js';
import type { HttpAnswer } from '../../http/http-answer.js';
import { connectionFault, jsonOfCheck, keyFault } from '../shared/check-faults.js';
import type { Connection } from '../shared/connection.js';

const MAX_JSON_BYTES = 4 * 1024 * 1024;

/** Asks the server for its models, and looks whether it has these. Makes nothing. */
export async function checkServer(
  connection: Connection,
  models: ReadonlySet<string>,
  { signal }: ProviderCall,
): Promise<ProviderCheck> {
  const { base } = connection;
  try {
    const answer = await connection.client.request({
      method: 'GET',
      url: connection.urlOf('models'),
      headers: { ...connection.credentials, accept: 'application/json' },
      signal,
      limits: { maxBodyBytes: MAX_JSON_BYTES },
    });
    const { status } = answer;
    if (status === 401 || status === 403) {
      answer.discard();
      return { faults: [keyFault(connection, `The key is refused at ${base} (status ${status}); check api_key.`)] };
    }
    const known = await modelsIn(answer);
    if (known === undefined)
      return { faults: [`${base} has no OpenAI API: /models answered with status ${status}; check base_url.`] };
    return {
      faults: [...models].filter((model) => !known.has(model)).map((model) => `${base} has no model ${model}.`),
    };
  } catch (error) {
    return { faults: [connectionFault(error, base)] };
  }
}

async function modelsIn(answer: HttpAnswer): Promise<ReadonlySet<unknown> | undefined> {
  if (!answer.isOk) {
    answer.discard();
    return undefined;
  }
  const { data } = ((await jsonOfCheck(answer)) ?? {}) as { readonly data?: unknown };
  if (!Array.isArray(data)) return undefined;
  return new Set(data.map((model: { readonly id?: unknown } | null) => model?.id));
}
