import {
  create,
  type DescMessage,
  type DescMethodUnary,
  fromJson,
  type MessageInitShape,
  toBinary,
} from '@bufbuild/protobuf';
import { GenerationInputSchema, Generations } from '../../apps/grpc/generated/darkroom/v1/generations_pb.js';
import { type Caller, SCOPES } from '../../core/access/credential.js';
import type { Json } from '../../core/json.js';
import type { CallKind } from '../load/calls.js';
import type { Mark } from '../load/generator.js';
import { type RequestKind, UNIQUE } from '../load/requests.js';
import type { Credential } from './program.js';

/** The token of the only service that calls over gRPC. */
export const SERVICE_TOKEN = 'bench-0123456789abcdef0123456789abcdef';

const BASE = '/api/v1/developer/generations';
const CREDITS = '/api/v1/developer/credits';

/** The body of every create in the run: a prompt of ordinary length for the model that delivers immediately. */
export const SAMPLE_REQUEST = {
  model_key: 'sandbox-noop',
  operation: 'image_generation',
  prompt:
    'A lighthouse on a cliff at dusk, waves below, the first stars above, a small boat coming home with its lamp lit.',
  parameters: { n: 1 },
  client_trace_id: 'bench-0001',
} as const satisfies Json;

/** Creates, each with one of these keys. */
export function createRequests(...secrets: readonly string[]): RequestKind {
  const targets = secrets.map((credential) => ({ path: BASE, credential }));
  return { method: 'POST', targets, body: JSON.stringify(SAMPLE_REQUEST), isKeyed: true, status: 202 };
}

/** Creates that are answered when the generation has ended. */
export function waitingCreates(creates: RequestKind): RequestKind {
  return { ...creates, headers: { Prefer: 'wait=60' } };
}

/**
 * Requests for pictures over the OpenAI-compatible API, or to another server with the Images API. Prompts differ, as equal
 * requests would get the same picture.
 */
export function imagesRequests(body: object, credential: string): RequestKind {
  const varied = { ...body, prompt: `${SAMPLE_REQUEST.prompt} ${UNIQUE}` };
  const targets = [{ path: '/v1/images/generations', credential }];
  return { method: 'POST', targets, body: JSON.stringify(varied), isKeyed: false, status: 200 };
}

export function creditsRequests(secret: string): RequestKind {
  return { method: 'GET', targets: [{ path: CREDITS, credential: secret }], isKeyed: false, status: 200 };
}

/** The newest generations of an App: all, those of a model, of a status and of a trace id, a page of each. */
export function listRequests(secret: string): RequestKind {
  const { model_key: model, client_trace_id: trace } = SAMPLE_REQUEST;
  const queries = ['', `?model_key=${model}`, '?status=succeeded', `?client_trace_id=${trace}`];
  const targets = queries.map((query) => ({ path: `${BASE}${query}`, credential: secret }));
  return { method: 'GET', targets, isKeyed: false, status: 200 };
}

export function entriesRequests(secret: string): RequestKind {
  return { method: 'GET', targets: [{ path: `${CREDITS}/entries`, credential: secret }], isKeyed: false, status: 200 };
}

/** A page of the use of the last 31 days. */
export function usageRequests(secret: string, by: string): RequestKind {
  const targets = [{ path: `/api/v1/developer/usage?by=${by}&limit=100`, credential: secret }];
  return { method: 'GET', targets, isKeyed: false, status: 200 };
}

export function statusRequests(secret: string, generationIds: readonly string[]): RequestKind {
  return statusRequestsOf(generationIds.map((generationId) => ({ generationId, credential: secret })));
}

/** Each request reads one of these, with the credential that created it. */
export function statusRequestsOf(created: readonly Pick<Mark, 'generationId' | 'credential'>[]): RequestKind {
  const targets = created.map(({ generationId, credential }) => ({ path: `${BASE}/${generationId}`, credential }));
  return { method: 'GET', targets, isKeyed: false, status: 200 };
}

/** The same over gRPC: a service that acts for the account and the App of the credential. */
export function createCalls(credential: Credential): CallKind {
  const input = fromJson(GenerationInputSchema, { ...SAMPLE_REQUEST, operation: 'OPERATION_IMAGE_GENERATION' });
  return callsOf(Generations.method.createGeneration, credential, [{ input }], true);
}

export function getCalls(credential: Credential, generationIds: readonly string[]): CallKind {
  return callsOf(
    Generations.method.getGeneration,
    credential,
    generationIds.map((generationId) => ({ generationId })),
    false,
  );
}

function callsOf<I extends DescMessage>(
  method: DescMethodUnary<I>,
  { accountId, appId }: Credential,
  asked: readonly MessageInitShape<I>[],
  isKeyed: boolean,
): CallKind {
  return {
    call: `/${method.parent.typeName}/${method.name}`,
    metadata: {
      'authorization': `Bearer ${SERVICE_TOKEN}`,
      'darkroom-account-id': accountId,
      'darkroom-app-id': appId,
    },
    messages: asked.map((message) =>
      Buffer.from(toBinary(method.input, create(method.input, message))).toString('base64'),
    ),
    isKeyed,
  };
}

export function callerOf({ accountId, appId }: Credential): Caller {
  return { accountId, appId, credentialId: accountId, scopes: SCOPES };
}
