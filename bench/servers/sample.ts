import type { Caller } from '../../core/access/credential.js';
import type { Json } from '../../core/json.js';
import { SCOPES } from '../../core/access/credential.js';
import type { RequestKind } from '../load/requests.js';
import type { Credential } from './program.js';

const BASE = '/api/v1/developer/generations';

/** What every create of the run asks for: a prompt of ordinary length for the model that delivers at once. */
export const SAMPLE_REQUEST: Json = {
  model_key: 'sandbox-noop',
  operation: 'image_generation',
  prompt: 'A lighthouse on a cliff at dusk, waves below, the first stars above, a small boat coming home with its lamp lit.',
  parameters: { n: 1 },
  client_trace_id: 'bench-0001',
};

export function createRequests(secret: string, path = BASE): RequestKind {
  return { method: 'POST', paths: [path], credential: secret, body: JSON.stringify(SAMPLE_REQUEST), isKeyed: true, status: 202 };
}

export function statusRequests(secret: string, generationIds: readonly string[]): RequestKind {
  return { method: 'GET', paths: generationIds.map((id) => `${BASE}/${id}`), credential: secret, isKeyed: false, status: 200 };
}

export function callerOf({ accountId, appId }: Credential): Caller {
  return { accountId, appId, credentialId: accountId, scopes: SCOPES };
}
