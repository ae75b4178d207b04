import type { Context } from '../context.js';
import { ServiceError } from '../errors.js';
import { isApiKeyShaped } from './api-key.js';
import type { ApiKey, Caller, Scope } from './credential.js';

/** How long a process may go on trusting what it read of a credential: revocation reaches it within this, in milliseconds. */
export const CREDENTIAL_CACHE_MS = 3_000;
const MAX_CACHED = 10_000;

interface Cached { readonly key: ApiKey; readonly readAt: number }

/** Tells who is calling. One a process, since it remembers credentials for a few seconds. */
export class Authenticator {
  private readonly cache = new Map<string, Cached>();

  constructor(private readonly context: Pick<Context, 'credentials' | 'digests' | 'clock'>) {}

  /**
   * The caller a credential names. Throws DEVELOPER_TOKEN_REQUIRED without one, DEVELOPER_TOKEN_INVALID for anything that
   * is not a known API key (anonymous tokens too), DEVELOPER_TOKEN_EXPIRED and DEVELOPER_TOKEN_REVOKED.
   */
  async authenticate(credential: string | undefined): Promise<Caller> {
    if (credential === undefined || credential === '') throw new ServiceError('DEVELOPER_TOKEN_REQUIRED');
    if (!isApiKeyShaped(credential)) throw new ServiceError('DEVELOPER_TOKEN_INVALID');
    const key = await this.find(this.context.digests.keyed(credential));
    if (!key) throw new ServiceError('DEVELOPER_TOKEN_INVALID');
    if (key.expiresAt !== undefined && key.expiresAt <= this.context.clock.now()) throw new ServiceError('DEVELOPER_TOKEN_EXPIRED');
    if (key.revokedAt !== undefined) throw new ServiceError('DEVELOPER_TOKEN_REVOKED');
    return { accountId: key.accountId, appId: key.appId, credentialId: key.keyId, scopes: key.scopes };
  }

  /** Looked up by keyed digest, so that neither the cache nor a comparison's time tells anything of the secret. */
  private async find(digest: string): Promise<ApiKey | null> {
    const now = this.context.clock.now();
    const cached = this.cache.get(digest);
    if (cached && now >= cached.readAt && now - cached.readAt < CREDENTIAL_CACHE_MS) return cached.key;
    const key = await this.context.credentials.findKey({ digest });
    this.cache.delete(digest);
    if (key) this.remember(digest, { key, readAt: now });
    return key;
  }

  private remember(digest: string, cached: Cached): void {
    const oldest = this.cache.size >= MAX_CACHED ? this.cache.keys().next().value : undefined;
    if (oldest !== undefined) this.cache.delete(oldest);
    this.cache.set(digest, cached);
  }
}

/** Throws DEVELOPER_SCOPE_INSUFFICIENT when the caller lacks the scope. */
export function requireScope(caller: Caller, scope: Scope): void {
  if (!caller.scopes.includes(scope)) throw new ServiceError('DEVELOPER_SCOPE_INSUFFICIENT', `The credential does not carry the scope ${scope}.`);
}

/** Throws DEVELOPER_SCOPE_INSUFFICIENT when an App is named and it is not the credential's. */
export function requireApp(caller: Caller, appId: string | undefined): void {
  if (appId !== undefined && appId.toLowerCase() !== caller.appId) {
    throw new ServiceError('DEVELOPER_SCOPE_INSUFFICIENT', "X-App-Id must be the credential's own App.");
  }
}
