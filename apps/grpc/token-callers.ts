import type { Metadata } from '@grpc/grpc-js';
import { type Authenticator, isOwnApp, requireScope } from '../../core/access/authenticate.js';
import type { Caller, Scope } from '../../core/access/credential.js';
import { ServiceError } from '../../core/errors.js';
import { isAccessTokenShaped } from '../../core/people/grants.js';
import { pointsOf, RateLimit, sizeNote } from '../rate-limit.js';
import { APP_KEY, rateOf } from './callers.js';

export interface TokenRates {
  readonly readsPerMinute: number;
  readonly writesPerMinute: number;
}

/** The requirements of a call with a token. */
export interface TokenCall {
  readonly scope: Scope;
  readonly byteSize: number;
  readonly metadata: Metadata;
}

/**
 * Programs that people have connected. They call for the account and the App of their token, with the same tokens,
 * rates and refusals as over REST; each front counts separately.
 */
export class TokenCallers {
  private readonly limits: Readonly<Record<'reads' | 'writes', RateLimit | undefined>>;

  constructor(
    private readonly authenticator: Authenticator,
    { readsPerMinute, writesPerMinute }: TokenRates,
  ) {
    this.limits = {
      reads: readsPerMinute > 0 ? new RateLimit(readsPerMinute) : undefined,
      writes: writesPerMinute > 0 ? new RateLimit(writesPerMinute) : undefined,
    };
  }

  /**
   * For whom a call acts. Throws DEVELOPER_TOKEN_INVALID, DEVELOPER_TOKEN_EXPIRED, DEVELOPER_TOKEN_REVOKED, RATE_LIMITED,
   * and DEVELOPER_SCOPE_INSUFFICIENT for a scope that the token lacks and for another App than its own.
   */
  async caller(token: string, { scope, byteSize, metadata }: TokenCall): Promise<Caller> {
    const caller = await this.authenticator.authenticate(token);
    await this.take(caller.credentialId, scope, byteSize);
    requireScope(caller, scope);
    if (!metadata.get(APP_KEY).every((value) => isOwnApp(caller, String(value))))
      throw new ServiceError('DEVELOPER_SCOPE_INSUFFICIENT', `${APP_KEY} must be the token's own App.`);
    return caller;
  }

  /** Throws as `caller` does once the token is over. */
  async requireCurrent(token: string): Promise<void> {
    await this.authenticator.authenticate(token);
  }

  close(): void {
    this.authenticator.close();
  }

  private async take(credentialId: string, scope: Scope, byteSize: number): Promise<void> {
    const points = pointsOf(byteSize);
    const rate = await this.limits[rateOf(scope)]?.take(credentialId, points);
    if (rate?.isOver === true)
      throw new ServiceError(
        'RATE_LIMITED',
        `Too many calls with this token${sizeNote(points)}; wait for the time in RetryInfo.`,
        {
          retryAfterMs: rate.resetMs,
        },
      );
  }
}

const BEARER_TOKEN = /^bearer +(svc_oauth_[A-Za-z0-9_-]+)$/i;

/** The OAuth token that a call brings; undefined for a call with anything else. */
export function accessTokenOf(metadata: Metadata): string | undefined {
  const [value, ...others] = metadata.get('authorization');
  const token = others.length === 0 ? BEARER_TOKEN.exec(String(value ?? ''))?.[1] : undefined;
  return token !== undefined && isAccessTokenShaped(token) ? token : undefined;
}
