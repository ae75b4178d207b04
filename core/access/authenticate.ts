import type { Context } from '../context.js';
import { ServiceError } from '../errors.js';
import { isApiKeyShaped } from './api-key.js';
import type { ApiKey, Caller, Scope } from './credential.js';

/** How long a process may go on trusting what it read of a credential: revocation reaches it within this, in milliseconds. */
export const CREDENTIAL_CACHE_MS = 3_000;
const MAX_CACHED = 10_000;

interface Cached { readonly key: ApiKey; readonly readAt: number; readonly cancelTimer: () => void }

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
    const key = await this.find(credential);
    if (!key) throw new ServiceError('DEVELOPER_TOKEN_INVALID');
    if (key.expiresAt !== undefined && key.expiresAt <= this.context.clock.now()) throw new ServiceError('DEVELOPER_TOKEN_EXPIRED');
    if (key.revokedAt !== undefined) throw new ServiceError('DEVELOPER_TOKEN_REVOKED');
    return { accountId: key.accountId, appId: key.appId, credentialId: key.keyId, scopes: key.scopes };
  }

  /**
   * The store knows keys by their keyed digest only. For the few seconds that an answer counts it is kept under the
   * credential itself, which a client that calls often sends again anyway; then the credential is forgotten. The clock may be
   * set back and a timer may be late, so whichever is first ends it.
   */
  private async find(credential: string): Promise<ApiKey | null> {
    const now = this.context.clock.now();
    const cached = this.cache.get(credential);
    if (cached && isCurrent(cached, now)) return cached.key;
    if (!isApiKeyShaped(credential)) return null;
    let isOver = false;
    const cancelTimer = this.context.clock.after(CREDENTIAL_CACHE_MS, () => {
      isOver = true;
      if (this.cache.get(credential)?.cancelTimer === cancelTimer) this.cache.delete(credential);
    });
    const key = await this.context.credentials.findKey({ digest: this.context.digests.keyed(credential) }).catch((error: unknown) => {
      cancelTimer();
      throw error;
    });
    this.forget(credential, now);
    if (!key || isOver) {
      cancelTimer();
      return key;
    }
    this.cache.set(credential, { key, readAt: now, cancelTimer });
    return key;
  }

  /** Forgets all credentials, and leaves no timer behind. */
  close(): void {
    for (const credential of this.cache.keys()) this.drop(credential);
  }

  /** Entries stand in the order in which they were read, so that the outdated ones are in front. */
  private forget(credential: string, now: number): void {
    this.drop(credential);
    for (const [kept, entry] of this.cache) {
      if (isCurrent(entry, now) && this.cache.size < MAX_CACHED) return;
      this.drop(kept);
    }
  }

  private drop(credential: string): void {
    this.cache.get(credential)?.cancelTimer();
    this.cache.delete(credential);
  }
}

function isCurrent({ readAt }: Cached, now: number): boolean {
  return now >= readAt && now - readAt < CREDENTIAL_CACHE_MS;
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
