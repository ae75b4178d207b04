import type { ErrorCode } from '../../../core/errors.js';
import type { Answer, Asked } from '../observed.js';
import { demand } from './demand.js';
import type { EventOrder } from './event-order.js';

const REACHES_ALL_WITHIN_MS = 5_000;
/** A client that sends its secret mistyped, or forgets to send it, is told that. */
const TOLD_THE_REVOKED: ReadonlySet<ErrorCode> = new Set<ErrorCode>([
  'DEVELOPER_TOKEN_REVOKED',
  'DEVELOPER_TOKEN_INVALID',
  'DEVELOPER_TOKEN_REQUIRED',
  'SERVICE_UNAVAILABLE',
  'RATE_LIMITED',
]);

/** Invariant 18: a revoked key opens nothing any more, anywhere, and no other key is taken for a revoked one. */
export class Access {
  private readonly askedToRevoke = new Set<string>();
  /** When operators learned that a key is revoked, in true time. */
  private readonly revokedAt = new Map<string, number>();

  constructor(private readonly order: EventOrder) {}

  noteAsked({ request }: Asked): void {
    if (request.operation === 'revoke') this.askedToRevoke.add(request.keyId);
  }

  served(asked: Asked, answer: Answer): void {
    const { party, number, request } = asked;
    if (!party) return;
    const { keyId } = party;
    // A suspended account has the same code, and is looked at elsewhere.
    const isRevoked =
      answer.outcome === 'refused' &&
      answer.code === 'DEVELOPER_TOKEN_REVOKED' &&
      answer.message !== 'The account is suspended.';
    demand(
      !isRevoked || this.askedToRevoke.has(keyId),
      18,
      () => `request ${number} was refused for a revoked key, and nobody revoked ${keyId}`,
    );
    const lateMs = this.order.arrivedAt(asked) - (this.revokedAt.get(keyId) ?? Infinity);
    if (lateMs <= REACHES_ALL_WITHIN_MS || answer.outcome === 'lost') return;
    const told = answer.outcome === 'success' ? 'success' : answer.code;
    const isRefused = answer.outcome === 'refused' && TOLD_THE_REVOKED.has(answer.code);
    demand(
      isRefused,
      18,
      () =>
        `request ${number} (${request.operation}) arrived ${lateMs} ms after key ${keyId} was revoked, and was answered with ${told}`,
    );
  }

  answered({ request }: Asked, answer: Answer, at: number): void {
    if (request.operation !== 'revoke' || answer.outcome !== 'success' || this.revokedAt.has(request.keyId)) return;
    this.revokedAt.set(request.keyId, at);
  }
}
