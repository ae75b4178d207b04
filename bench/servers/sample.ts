import type { Caller } from '../../core/access/credential.js';
import type { Json } from '../../core/json.js';
import { SCOPES } from '../../core/access/credential.js';
import type { Mark } from '../load/generator.js';
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

/** Creates, each as one of these keys. */
export function createRequests(...secrets: readonly string[]): RequestKind {
  const targets = secrets.map((credential) => ({ path: BASE, credential }));
  return { method: 'POST', targets, body: JSON.stringify(SAMPLE_REQUEST), isKeyed: true, status: 202 };
}

export function statusRequests(secret: string, generationIds: readonly string[]): RequestKind {
  return statusRequestsOf(generationIds.map((generationId) => ({ generationId, credential: secret })));
}

/** Each asks for one of these, as whoever made it. */
export function statusRequestsOf(created: readonly Pick<Mark, 'generationId' | 'credential'>[]): RequestKind {
  const targets = created.map(({ generationId, credential }) => ({ path: `${BASE}/${generationId}`, credential }));
  return { method: 'GET', targets, isKeyed: false, status: 200 };
}

export function callerOf({ accountId, appId }: Credential): Caller {
  return { accountId, appId, credentialId: accountId, scopes: SCOPES };
}
