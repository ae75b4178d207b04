import type { Context } from '../context.js';
import { ServiceError } from '../errors.js';
import { isApiKeyShaped } from './api-key.js';
import type { ApiKey, Caller, Scope } from './credential.js';
import { noteUse } from './note-use.js';
import { accountSuspended } from './suspended.js';

/**
 * How long a process may go on trusting what it read of a credential: revocation reaches it within this, in
 * milliseconds.
 */
export const CREDENTIAL_CACHE_MS = 3_000;
const MAX_CACHED = 10_000;

/** What is read of a credential: the key, and whether its account may spend. */
interface Found {
  readonly key: ApiKey;
  readonly isSuspended: boolean;
}
interface Cached {
  readonly found: Found;
  readonly readAt: number;
  readonly cancelTimer: () => void;
}

/** Tells who is calling. One a process, since it remembers credentials for a few seconds. */
export class Authenticator {
  private readonly cache = new Map<string, Cached>();

  constructor(private readonly context: Pick<Context, 'accounts' | 'credentials' | 'digests' | 'clock'>) {}

  /**
   * The caller a credential names. Throws DEVELOPER_TOKEN_REQUIRED without one, DEVELOPER_TOKEN_INVALID for anything
   * that is not a known API key (anonymous tokens too), DEVELOPER_TOKEN_EXPIRED and DEVELOPER_TOKEN_REVOKED, the last
   * for a key of a suspended account too.
   */
  async authenticate(credential: string | undefined): Promise<Caller> {
    if (credential === undefined || credential === '') throw new ServiceError('DEVELOPER_TOKEN_REQUIRED');
    const found = await this.find(credential);
    if (!found) throw new ServiceError('DEVELOPER_TOKEN_INVALID');
    const refusal = refusalOf(found, this.context.clock.now());
    if (refusal) throw refusal;
    const { key } = found;
    return { accountId: key.accountId, appId: key.appId, credentialId: key.keyId, scopes: key.scopes };
  }

  /**
   * The store knows keys by their keyed digest only. For the few seconds that an answer counts it is kept under the
   * credential itself, which a client that calls often sends again anyway; then the credential is forgotten. The clock
   * may be set back and a timer may be late, so whichever is first ends it.
   */
  private async find(credential: string): Promise<Found | null> {
    const now = this.context.clock.now();
    const cached = this.cache.get(credential);
    if (cached && isCurrent(cached, now)) return cached.found;
    if (!isApiKeyShaped(credential)) return null;
    let isOver = false;
    const cancelTimer = this.context.clock.after(CREDENTIAL_CACHE_MS, () => {
      isOver = true;
      if (this.cache.get(credential)?.cancelTimer === cancelTimer) this.cache.delete(credential);
    });
    const found = await this.read(credential).catch((error: unknown) => {
      cancelTimer();
      throw error;
    });
    this.forget(credential, now);
    if (!found || isOver) {
      cancelTimer();
      return found;
    }
    this.cache.set(credential, { found, readAt: now, cancelTimer });
    return found;
  }

  private async read(credential: string): Promise<Found | null> {
    const { accounts, credentials, digests, clock } = this.context;
    const key = await credentials.findKey({ digest: digests.keyed(credential) });
    if (!key) return null;
    const account = await accounts.read(key.accountId, undefined, 'totals');
    const found = { key, isSuspended: account?.suspendedAt !== undefined };
    if (!refusalOf(found, clock.now())) noteUse(this.context, key);
    return found;
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

function refusalOf({ key, isSuspended }: Found, now: number): ServiceError | undefined {
  if (key.expiresAt !== undefined && key.expiresAt <= now) return new ServiceError('DEVELOPER_TOKEN_EXPIRED');
  if (key.revokedAt !== undefined) return new ServiceError('DEVELOPER_TOKEN_REVOKED');
  return isSuspended ? accountSuspended() : undefined;
}

function isCurrent({ readAt }: Cached, now: number): boolean {
  return now >= readAt && now - readAt < CREDENTIAL_CACHE_MS;
}

/** Throws DEVELOPER_SCOPE_INSUFFICIENT when the caller lacks the scope. */
export function requireScope(caller: Caller, scope: Scope): void {
  if (!caller.scopes.includes(scope))
    throw new ServiceError('DEVELOPER_SCOPE_INSUFFICIENT', `The credential does not carry the scope ${scope}.`);
}

/**
 * Whether the App that a request names, if it names one, is the credential's own. Otherwise it is refused with
 * DEVELOPER_SCOPE_INSUFFICIENT.
 */
export function isOwnApp(caller: Caller, appId: string | undefined): boolean {
  return appId === undefined || appId.toLowerCase() === caller.appId;
}
