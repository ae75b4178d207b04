import type { ErrorCode } from '../../../core/errors.js';

/** What a client without access is told of how to get it. */
export interface ChallengeOf {
  readonly code: ErrorCode;
  /** The scope that the credential lacks, if that is why. */
  readonly scope?: string | undefined;
  /** The address of the resource's metadata (RFC 9728), where tokens are given out. */
  readonly resourceMetadata?: string | undefined;
}

const INVALID: ReadonlySet<ErrorCode> = new Set<ErrorCode>([
  'DEVELOPER_TOKEN_INVALID',
  'DEVELOPER_TOKEN_EXPIRED',
  'DEVELOPER_TOKEN_REVOKED',
]);

/**
 * `WWW-Authenticate` of an answer with 401 or 403 (RFC 6750 §3). A refusal that another scope would not change names no
 * error: clients would ask for the scope again and again.
 */
export function bearerChallenge({ code, scope, resourceMetadata }: ChallengeOf): string {
  const error = INVALID.has(code) ? 'invalid_token' : scope === undefined ? undefined : 'insufficient_scope';
  const parameters = [
    ...(error === undefined ? [] : [`error="${error}"`]),
    ...(scope === undefined ? [] : [`scope="${scope}"`]),
    ...(resourceMetadata === undefined ? [] : [`resource_metadata="${resourceMetadata}"`]),
  ];
  return parameters.length === 0 ? 'Bearer' : `Bearer ${parameters.join(', ')}`;
}
