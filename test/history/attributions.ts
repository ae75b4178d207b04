import type { Attribution } from '../../core/credits/account.js';
import type { JsonObject } from '../../core/json.js';
import type { Finding } from './finding.js';
import { canonical, textOf } from './values.js';

/** What the credits of a create are attributed to: the API key that sent it, and what its body names. */
export function attributionOf(credentialId: string, body: JsonObject): JsonObject {
  return {
    credentialId,
    modelKey: textOf(body['model_key']),
    ...(body['client_trace_id'] === undefined ? {} : { clientTraceId: body['client_trace_id'] }),
  };
}

/** Invariant 1: credits are attributed to a request that was sent under the key they were reserved under. */
export function* checkAttribution(
  what: string,
  { credentialId, modelKey, clientTraceId }: Partial<Attribution> = {},
  requests: readonly JsonObject[],
): Iterable<Finding> {
  const attribution = canonical({ credentialId, modelKey, clientTraceId });
  if (requests.some((request) => canonical(request) === attribution)) return;
  yield {
    invariant: 1,
    sentence: `${what} is attributed to ${attribution}, and its requests were ${requests.map(canonical).join(', ')}`,
  };
}
