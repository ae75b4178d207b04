import { requireScope } from '../../../core/access/authenticate.js';
import type { Caller } from '../../../core/access/credential.js';
import { renameAccount, resumeAccount, revokeKey, suspendAccount } from '../../../core/access/manage.js';
import type { Context } from '../../../core/context.js';
import { adjustCredits, grantCredits } from '../../../core/credits/operate.js';
import { ServiceError, StoreUnavailable } from '../../../core/errors.js';
import { cancelOpenGenerations } from '../../../core/generation/end-generation.js';
import { disconnect } from '../../../core/people/grants.js';
import type { Answer, CompatibleCreate, Request } from '../observed.js';
import { callRest, routeOf } from './rest-call.js';
import type { SimulatedProcess } from './simulated-process.js';

/**
 * Handles a request that has arrived at a process: the route's own checks and the REST front's own operation, without a
 * socket. An operator's request is a command on the same stores.
 */
export async function serve(
  process: SimulatedProcess,
  request: Exclude<Request, CompatibleCreate>,
  secret: string | undefined,
): Promise<Answer> {
  try {
    if (!isOperators(request)) return await answer(process, request, secret);
    await operate(process, request);
    return { outcome: 'success', data: {}, replayed: false };
  } catch (error) {
    return refusal(error);
  }
}

type OperatorRequest = Extract<Request, { operation: 'grant' | 'adjust' | 'revoke' | 'suspend' | 'resume' | 'rename' }>;
/** Creates over `/v1` are served by themselves, since they wait for the end. */
export type ClientRequest = Exclude<Request, OperatorRequest | CompatibleCreate>;

const OPERATORS: ReadonlySet<Request['operation']> = new Set<OperatorRequest['operation']>([
  'grant',
  'adjust',
  'revoke',
  'suspend',
  'resume',
  'rename',
]);

function isOperators(request: Exclude<Request, CompatibleCreate>): request is OperatorRequest {
  return OPERATORS.has(request.operation);
}

async function operate({ context }: SimulatedProcess, request: OperatorRequest): Promise<void> {
  if (request.operation === 'revoke') {
    const { keyId, personId } = request;
    await (personId === undefined ? revokeKey(context, keyId) : disconnect(context, personId, keyId));
    return;
  }
  if (request.operation === 'suspend') {
    await suspendAccount(context, request.accountId);
    if (request.cancels) await cancelOpenGenerations(context, request.accountId);
    return;
  }
  if (request.operation === 'resume') {
    await resumeAccount(context, request.accountId);
    return;
  }
  if (request.operation === 'rename') {
    await renameAccount(context, request.accountId, request.name);
    return;
  }
  const { accountId, operationId, credits } = request;
  const operation = { accountId, operationId, credits, reason: 'as agreed' };
  await (request.operation === 'grant' ? grantCredits : adjustCredits)(context, operation);
}

const OPERATION_IDS: Readonly<Record<ClientRequest['operation'], string>> = {
  'create': 'createGeneration',
  'estimate': 'estimateGeneration',
  'get': 'getGeneration',
  'cancel': 'cancelGeneration',
  'delete': 'deleteGeneration',
  'credits': 'getCredits',
  'usage': 'getUsage',
  'prepare': 'prepareUpload',
  'complete': 'completeUpload',
  'delete-upload': 'deleteUpload',
};

async function answer(
  { context, authenticator }: SimulatedProcess,
  request: ClientRequest,
  secret: string | undefined,
): Promise<Answer> {
  const caller = await authenticator.authenticate(secret);
  requireScope(caller, routeOf(OPERATION_IDS[request.operation]).scope);
  return answerTo(context, caller, request);
}

/** Answers a client that is known. Throws the error of a refusal. */
export async function answerTo(context: Context, caller: Caller, request: ClientRequest): Promise<Answer> {
  const answered = await callRest(routeOf(OPERATION_IDS[request.operation]), {
    context,
    caller,
    params: paramsOf(request),
    ...(request.operation === 'usage' ? { query: `by=${request.by}&limit=100` } : {}),
    ...('key' in request ? { idempotencyKey: request.key } : {}),
    ...('body' in request ? { body: request.body } : {}),
  });
  return { outcome: 'success', ...answered };
}

function paramsOf(request: ClientRequest): Record<string, string> {
  if ('uploadId' in request) return { upload_id: request.uploadId };
  return 'generationId' in request ? { generation_id: request.generationId } : {};
}

export function refusal(error: unknown): Answer {
  if (error instanceof ServiceError) return { outcome: 'refused', code: error.code, message: error.message };
  if (error instanceof StoreUnavailable)
    return { outcome: 'refused', code: 'SERVICE_UNAVAILABLE', message: error.message };
  return {
    outcome: 'refused',
    code: 'INTERNAL_ERROR',
    message: error instanceof Error ? `${error.name}: ${error.message}` : String(error),
  };
}
