import type { ErrorCode } from '../../../core/errors.js';
import { checkKeyUsed, type KeyVerdict, type Revocation } from '../../history/access.js';
import type { Answer, Asked } from '../observed.js';
import { demandNone } from './demand.js';
import type { EventOrder } from './event-order.js';

/** Simulated clients mistype their secret, or forget to send it: such a refusal says nothing of the key. */
const SAYS_NOTHING: ReadonlySet<ErrorCode> = new Set<ErrorCode>([
  'DEVELOPER_TOKEN_INVALID',
  'DEVELOPER_TOKEN_REQUIRED',
  'SERVICE_UNAVAILABLE',
  'RATE_LIMITED',
]);

/** Invariant 18: every answer by whether its key was revoked, in true time. */
export class Access {
  private readonly revocations = new Map<string, Revocation>();

  constructor(private readonly order: EventOrder) {}

  noteAsked({ request, at }: Asked): void {
    if (request.operation === 'revoke' && !this.revocations.has(request.keyId))
      this.revocations.set(request.keyId, { askedAt: at });
  }

  served(asked: Asked, answer: Answer, at: number): void {
    const { party, number, request } = asked;
    if (!party || answer.outcome === 'lost') return;
    const used = {
      told: `request ${number} (${request.operation})`,
      arrivedAt: this.order.arrivedAt(asked),
      answeredAt: at,
      verdict: verdictOf(answer),
      answer: answer.outcome === 'success' ? 'success' : answer.code,
    };
    demandNone(checkKeyUsed(used, this.revocations.get(party.keyId)));
  }

  answered({ request, at: askedAt }: Asked, answer: Answer, at: number): void {
    if (request.operation !== 'revoke' || answer.outcome !== 'success') return;
    const known = this.revocations.get(request.keyId);
    if (known?.doneAt === undefined) this.revocations.set(request.keyId, { askedAt, ...known, doneAt: at });
  }
}

function verdictOf(answer: Exclude<Answer, { outcome: 'lost' }>): KeyVerdict {
  if (answer.outcome === 'success') return 'taken';
  if (SAYS_NOTHING.has(answer.code)) return 'nothing';
  if (answer.code !== 'DEVELOPER_TOKEN_REVOKED') return 'taken';
  // A suspended account has the same code; its rule is with the suspensions.
  return answer.message === 'The account is suspended.' ? 'nothing' : 'revoked';
}
