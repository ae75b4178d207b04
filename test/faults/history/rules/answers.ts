import type { ErrorCode } from '../../../../core/errors.js';
import type { Finding } from '../../../history/finding.js';
import type { Request } from '../history.js';
import { told, type Known } from '../known.js';
import { touches } from '../spans.js';

type ApiOperation = Exclude<Request['operation'], 'put' | 'fetch'>;

const ANY = { SERVICE_UNAVAILABLE: 503, DEVELOPER_TOKEN_REVOKED: 401 } as const;
const KEYED = { IDEMPOTENCY_IN_PROGRESS: 409, IDEMPOTENCY_PAYLOAD_MISMATCH: 409 } as const;

/** What each request may be told, well formed as all of them are. A fault of a store is a 503 and never a 500. */
const MAY_SAY: Readonly<Record<ApiOperation, Partial<Readonly<Record<ErrorCode | 'OK', number>>>>> = {
  create: { ...ANY, ...KEYED, OK: 202, CREDITS_INSUFFICIENT: 402, QUEUE_FULL: 429, FIELD_INVALID: 422 },
  get: { ...ANY, OK: 200, TASK_NOT_FOUND: 404 },
  cancel: { ...ANY, OK: 200, TASK_NOT_FOUND: 404 },
  credits: { ...ANY, OK: 200 },
  prepare: { ...ANY, ...KEYED, OK: 201 },
  complete: { ...ANY, ...KEYED, OK: 200, FIELD_INVALID: 422, UPLOAD_URL_EXPIRED: 410 },
};

/** What a request may be told that came through a troubled link, or to a process that was frozen while it arrived. */
const TROUBLED_MAY_SAY: Partial<Readonly<Record<ErrorCode, number>>> = { REQUEST_TIMEOUT: 408 };

/**
 * Invariant 19, as far as one front and one set of adapters show it: whatever goes wrong, answers are the contract's.
 */
export function* checkAnswers(known: Known): Iterable<Finding> {
  for (const exchange of known.answered('create', 'get', 'cancel', 'credits', 'prepare', 'complete')) {
    const { answer, request, sentAt, at } = exchange;
    const code = (answer.code ?? 'none') as ErrorCode;
    const isTroubled = touches(known.history.facts.troubles, { from: sentAt, until: at });
    const status = MAY_SAY[request.operation][code] ?? (isTroubled ? TROUBLED_MAY_SAY[code] : undefined);
    if (status !== answer.status)
      yield {
        invariant: 19,
        sentence: `${told(exchange)} was answered with ${answer.status} ${answer.code ?? 'and no code'}: ${answer.message ?? ''}`,
      };
  }
}
