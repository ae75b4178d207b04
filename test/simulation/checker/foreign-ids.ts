import type { ErrorCode } from '../../../core/errors.js';
import type { Answer, Asked, Party } from '../observed.js';
import { demand } from './demand.js';
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

/** Invariant 17: nobody can tell somebody else's thing from none at all. */
export class ForeignIds {
  /** The one refusal every operation has for what is not the caller's. */
  private readonly refusals = new Map<string, string>();

  constructor(
    private readonly generations: Generations,
    private readonly uploads: Uploads,
  ) {}

  served({ request, party, number }: Asked, answer: Answer): void {
    if (!party || (request.operation !== 'get' && request.operation !== 'cancel' && request.operation !== 'complete'))
      return;
    const id = (request.operation === 'complete' ? request.uploadId : request.generationId).toLowerCase();
    const record = request.operation === 'complete' ? this.uploads.record(id) : this.generations.record(id);
    const isOwn = isOf(record, party) && record.kind !== 'void';
    // What was there a moment ago may have been looked at then.
    if (isOwn || isOf(this.generations.lives.get(id), party)) return;
    demand(
      answer.outcome !== 'success',
      17,
      () =>
        `request ${number}, ${request.operation} of ${id} by App ${party.appId}, succeeded, and it belongs to ${record?.appId ?? 'nobody'}`,
    );
    if (answer.outcome !== 'refused' || TOLD_ANYBODY.has(answer.code)) return;
    if (request.operation === 'complete' && !isReadable(request.body['sha256'])) return;
    const code = request.operation === 'complete' ? 'FIELD_INVALID' : 'TASK_NOT_FOUND';
    demand(
      answer.code === code,
      17,
      () =>
        `request ${number}, ${request.operation} of ${id} by App ${party.appId}, was refused with ${answer.code}, and it belongs to ${record?.appId ?? 'nobody'}`,
    );
    const first = this.refusals.get(request.operation) ?? answer.message;
    this.refusals.set(request.operation, first);
    demand(
      answer.message === first,
      17,
      () =>
        `request ${number}, ${request.operation} of ${id}, was refused with "${answer.message}", and others with "${first}"`,
    );
  }
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
