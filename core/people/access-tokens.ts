import { SCOPES, type Scope } from '../access/credential.js';
import type { Context } from '../context.js';
import { findGrant, type Grant } from './grants.js';
import { secretDigest } from './secrets.js';

export const ACCESS_TOKEN_PREFIX = 'svc_oauth_';
export const ACCESS_TOKEN_KIND = 'access-token';
const SHAPE = /^svc_oauth_[A-Za-z0-9_-]{43}$/;

/** An OAuth access token as it is found: what it may do, and when it ended or ends. */
export interface FoundAccessToken {
  readonly grant: Grant;
  /** Those of the token, which may be fewer than the grant's. */
  readonly scopes: readonly Scope[];
  readonly expiresAt: number;
  /** Whether the token, its grant or its person was ended by somebody. */
  readonly isRevoked: boolean;
}

/** Whether the text could be an access token, without a read of the store. */
export function isAccessTokenShaped(text: string): boolean {
  return SHAPE.test(text);
}

/** Undefined for a token that was never made, or ended so long ago that it was removed. */
export async function findAccessToken(
  ports: Pick<Context, 'artefacts' | 'people' | 'digests'>,
  secret: string,
): Promise<FoundAccessToken | undefined> {
  const id = secretDigest(ports, ACCESS_TOKEN_KIND, secret);
  const token = await ports.artefacts.find({ kind: ACCESS_TOKEN_KIND, id });
  if (token?.group === undefined) return undefined;
  const grant = await findGrant(ports, token.group);
  if (!grant) return undefined;
  const person = await ports.people.read(grant.personId);
  const { scope } = token.data;
  const asked = typeof scope === 'string' ? scope.split(' ') : [];
  return {
    grant,
    scopes: SCOPES.filter((known) => asked.includes(known) && grant.scopes.includes(known)),
    expiresAt: token.expiresAt,
    isRevoked: token.endedAt !== undefined || grant.endedAt !== undefined || !person || person.disabledAt !== undefined,
  };
}
