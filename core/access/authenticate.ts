import type { Identity, Machine, Money } from '../context.js';
import { ServiceError } from '../errors.js';
import { findAccessToken, isAccessTokenShaped, noteGrantUse } from '../people/grants.js';
import { startOfDay } from '../settings.js';
import {
  accountSuspended,
  type ApiKey,
  type Audience,
  type Caller,
  isApiKeyShaped,
  type Scope,
  scopeInsufficient,
} from './credential.js';

/** How long a process may trust a cached credential, in milliseconds. A revocation takes effect within this time. */
export const CREDENTIAL_CACHE_MS = 3_000;
const MAX_CACHED = 10_000;

/** A credential as it was read, and whether its account may spend. */
interface Found {
  readonly caller: Caller;
  /** The audience of a token; absent for an API key, which is valid for all. */
  readonly audience?: Audience;
  readonly expiresAt?: number | undefined;
  readonly isRevoked: boolean;
  readonly isSuspended: boolean;
  /** Writes down that it is used. */
  readonly noteUse: () => void;
}
interface Cached {
  readonly found: Found;
  readonly readAt: number;
  readonly cancelTimer: () => void;
}

/** Identifies callers. Create one per process, because it caches credentials for a few seconds. */
export class Authenticator {
  private readonly cache = new Map<string, Cached>();

  /** `onUse` is called with the id of a credential that was accepted, at least once in `CREDENTIAL_CACHE_MS` of use. */
  constructor(
    private readonly context: Money & Identity & Machine,
    private readonly onUse: (credentialId: string) => void = () => undefined,
  ) {}

  /**
   * The caller a credential names: an API key, or an OAuth access token for this audience. Throws
   * DEVELOPER_TOKEN_REQUIRED without one, DEVELOPER_TOKEN_INVALID for anything that is not known (anonymous tokens too)
   * and for a token of another audience, DEVELOPER_TOKEN_EXPIRED and DEVELOPER_TOKEN_REVOKED, the last for a credential
   * of a suspended account too.
   */
  async authenticate(credential: string | undefined, audience: Audience = 'rest'): Promise<Caller> {
    if (credential === undefined || credential === '') throw new ServiceError('DEVELOPER_TOKEN_REQUIRED');
    const found = await this.find(credential);
    if (!found) throw new ServiceError('DEVELOPER_TOKEN_INVALID');
    if (found.audience !== undefined && found.audience !== audience)
      throw new ServiceError('DEVELOPER_TOKEN_INVALID', 'This token was made for another address of the service.');
    const refusal = refusalOf(found, this.context.clock.now());
    if (refusal) throw refusal;
    return found.caller;
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
    if (!isCredentialShaped(credential)) return null;
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
    const credentials = isApiKeyShaped(credential) ? this.readKey(credential) : this.readToken(credential);
    const known = await credentials;
    if (!known) return null;
    const account = await this.context.accounts.read(known.caller.accountId, undefined, 'totals');
    const found = { ...known, isSuspended: account?.suspendedAt !== undefined };
    if (!refusalOf(found, this.context.clock.now())) {
      found.noteUse();
      this.onUse(found.caller.credentialId);
    }
    return found;
  }

  private async readKey(secret: string): Promise<Omit<Found, 'isSuspended'> | null> {
    const key = await this.context.credentials.findKey({ digest: this.context.digests.keyed(secret) });
    if (!key) return null;
    const { accountId, appId, keyId: credentialId, scopes, monthlyCap, expiresAt, revokedAt } = key;
    return {
      caller: {
        accountId,
        appId,
        credentialId,
        scopes,
        ...(monthlyCap === undefined ? {} : { cap: { credits: monthlyCap, per: 'month' } }),
      },
      expiresAt,
      isRevoked: revokedAt !== undefined,
      noteUse: () => noteUse(this.context, key),
    };
  }

  private async readToken(secret: string): Promise<Omit<Found, 'isSuspended'> | null> {
    const token = await findAccessToken(this.context, secret);
    if (!token) return null;
    const { grant, scopes, expiresAt, isRevoked } = token;
    const { accountId, appId, grantId: credentialId, audience, capCredits } = grant;
    return {
      caller: {
        accountId,
        appId,
        credentialId,
        scopes,
        seesOwnAppOnly: true,
        ...(capCredits === undefined ? {} : { cap: { credits: capCredits, per: 'life' } }),
      },
      audience,
      expiresAt,
      isRevoked,
      noteUse: () => void noteGrantUse(this.context, grant).catch(() => undefined),
    };
  }

  /** Forgets all credentials and cancels their timers. */
  close(): void {
    for (const credential of this.cache.keys()) this.drop(credential);
  }

  /** Entries are in the order in which they were read, so the outdated ones come first. */
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

/** Whether a text could be a credential at all, without a read of the store. */
export function isCredentialShaped(text: string): boolean {
  return isApiKeyShaped(text) || isAccessTokenShaped(text);
}

function refusalOf({ expiresAt, isRevoked, isSuspended }: Found, now: number): ServiceError | undefined {
  if (expiresAt !== undefined && expiresAt <= now) return new ServiceError('DEVELOPER_TOKEN_EXPIRED');
  if (isRevoked) return new ServiceError('DEVELOPER_TOKEN_REVOKED');
  return isSuspended ? accountSuspended() : undefined;
}

function isCurrent({ readAt }: Cached, now: number): boolean {
  return now >= readAt && now - readAt < CREDENTIAL_CACHE_MS;
}

const DAY_MS = 86_400_000;

/**
 * Writes the UTC day on the key, so that operators can see which keys are unused. A key is written once a day, however
 * many processes see it. No request waits for the write; if it fails or loses a race, the next use writes again. A
 * stored day in the future was written by a clock that was ahead, or by a process already past midnight: one day ahead
 * is left alone, so that two clocks never overwrite each other's day.
 */
function noteUse({ credentials, clock }: Identity & Machine, key: ApiKey): void {
  const today = startOfDay(clock.now());
  const { lastUsedAt = -Infinity } = key;
  if (lastUsedAt >= today && lastUsedAt <= today + DAY_MS) return;
  credentials.replaceKey({ ...key, lastUsedAt: today, version: key.version + 1 }, key.version).catch(() => undefined);
}

/** Throws DEVELOPER_SCOPE_INSUFFICIENT when the caller lacks the scope. */
export function requireScope({ scopes }: Caller, scope: Scope): void {
  if (!scopes.includes(scope)) throw scopeInsufficient(scope);
}

/**
 * Whether the App that a request names, if it names one, is the credential's own. Otherwise it is refused with
 * DEVELOPER_SCOPE_INSUFFICIENT.
 */
export function isOwnApp(caller: Caller, appId: string | undefined): boolean {
  return appId === undefined || appId.toLowerCase() === caller.appId;
}
