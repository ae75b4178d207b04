import type { ErrorCode } from '../../../core/errors.js';
import type { Answer, Asked, Party, Request } from '../observed.js';
import { ForeignAnswers } from '../../history/ownership.js';
import { demandNone } from './demand.js';
import type { Generations } from './generations.js';
import type { Uploads } from './uploads.js';

/**
 * What any request may be told, whatever it is about. All keys carry all scopes, so a scope that is missing is no such
 * thing.
 */
const TOLD_ANYBODY: ReadonlySet<ErrorCode> = new Set<ErrorCode>([
  'DEVELOPER_TOKEN_REQUIRED',
  'DEVELOPER_TOKEN_INVALID',
  'DEVELOPER_TOKEN_EXPIRED',
  'DEVELOPER_TOKEN_REVOKED',
  'RATE_LIMITED',
  'SERVICE_UNAVAILABLE',
  'INTERNAL_ERROR',
  'IDEMPOTENCY_IN_PROGRESS',
  'IDEMPOTENCY_PAYLOAD_MISMATCH',
]);
const SHA256 = /^[0-9a-f]{64}$/i;

/** Invariant 17: what each request about an id of somebody else, or of nobody, was answered with. */
export class ForeignIds {
  private readonly answers = new ForeignAnswers();

  constructor(
    private readonly generations: Generations,
    private readonly uploads: Uploads,
  ) {}

  served({ request, party, number }: Asked, answer: Answer): void {
    if (!party || !isAboutId(request)) return;
    const { operation } = request;
    const id = (operation === 'complete' ? request.uploadId : request.generationId).toLowerCase();
    const record = operation === 'complete' ? this.uploads.record(id) : this.generations.record(id);
    const isOwn = isOf(record, party) && record.kind !== 'void';
    // What was there a moment ago may have been looked at then.
    if (isOwn || isOf(this.generations.lives.get(id), party) || answer.outcome === 'lost') return;
    if (answer.outcome === 'refused') {
      if (TOLD_ANYBODY.has(answer.code)) return;
      if (operation === 'complete' && !isReadable(request.body['sha256'])) return;
    }
    const told = `request ${number}, ${operation} of ${id} by App ${party.appId},`;
    const isSuccess = answer.outcome === 'success';
    const refusal = answer.outcome === 'refused' ? { code: answer.code, message: answer.message } : {};
    demandNone(this.answers.check({ told, operation, id, owner: record?.appId, isSuccess, ...refusal }));
  }
}

type AboutId = Extract<Request, { operation: 'get' | 'cancel' | 'delete' | 'complete' }>;

function isAboutId(request: Request): request is AboutId {
  return ['get', 'cancel', 'delete', 'complete'].includes(request.operation);
}

function isOf<T extends { readonly accountId: string; readonly appId: string }>(
  thing: T | undefined,
  { accountId, appId }: Party,
): thing is T {
  return thing?.accountId === accountId && thing.appId === appId;
}

function isReadable(sha256: unknown): boolean {
  return sha256 === undefined || (typeof sha256 === 'string' && SHA256.test(sha256));
}
