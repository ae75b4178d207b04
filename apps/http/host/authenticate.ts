import type { IncomingMessage, ServerResponse } from 'node:http';
import { type Authenticator, isCredentialShaped, isOwnApp } from '../../../core/access/authenticate.js';
import type { Audience, Caller } from '../../../core/access/credential.js';
import { ServiceError } from '../../../core/errors.js';
import type { Clock } from '../../../core/ports/machine.js';
import { RATE_WINDOW_SECONDS, RateLimit, sizeNote } from '../../rate-limit.js';
import type { HttpContext } from './http-context.js';
import { headerText, readCredential } from './request.js';
import type { HttpShared } from './server.js';

export interface AuthenticatingParts extends Pick<HttpShared, 'addresses' | 'refusals'> {
  readonly authenticator: Authenticator;
  /** Throws what refuses a request that the stores could not answer anyway, if they would be asked at all. */
  readonly requireStores: (wouldAsk: () => boolean) => void;
  /** The URL of the metadata of the protected resource (RFC 9728); undefined where no tokens are issued. */
  readonly resourceMetadata: () => string | undefined;
}

/** Who sends the request. What fails is counted for where it came from; what succeeds never is. */
export async function authenticateRequest(
  ctx: HttpContext,
  parts: AuthenticatingParts,
  audience: Audience,
): Promise<Caller> {
  const { req, state } = ctx;
  const { authenticator, addresses, refusals, resourceMetadata } = parts;
  state.resourceMetadata = resourceMetadata;
  try {
    const credential = readCredential(req);
    requireStores(ctx, credential, parts);
    return await authenticator.authenticate(credential, audience);
  } catch (error) {
    if (!(error instanceof ServiceError) || error.code === 'SERVICE_UNAVAILABLE') throw error;
    state.address = addresses.ofRequest(req);
    throw refusals.countFailure(state.address, error);
  }
}

/**
 * A malformed key is refused without the stores, whether they are available or not. The log lines of the outage count
 * what is refused for it: a line for each would let unauthenticated clients fill the log.
 */
function requireStores({ state }: HttpContext, credential: string | undefined, parts: AuthenticatingParts): void {
  try {
    parts.requireStores(() => isCredentialShaped(credential ?? ''));
  } catch (error) {
    state.isLeftOut = true;
    throw error;
  }
}

/** Throws DEVELOPER_SCOPE_INSUFFICIENT if X-App-Id names another App than that of the credential. */
export function requireOwnApp(req: IncomingMessage, caller: Caller): void {
  if (!isOwnApp(caller, headerText(req, 'x-app-id')))
    throw new ServiceError('DEVELOPER_SCOPE_INSUFFICIENT', "X-App-Id must be the credential's own App.");
}

/**
 * How many requests a credential may send in a minute to this process. Every answer it counts says how many are left.
 */
export class ShownRateLimit {
  readonly #limit: RateLimit;
  readonly #policy: string;

  constructor(
    private readonly name: string,
    private readonly perMinute: number,
  ) {
    this.#limit = new RateLimit(perMinute);
    this.#policy = `"${name}";q=${perMinute};w=${RATE_WINDOW_SECONDS}`;
  }

  /** Counts a request of `points`, of which `taken` were counted before. Throws RATE_LIMITED. */
  async take(credentialId: string, res: ServerResponse, points: number, taken = 0): Promise<void> {
    const { isOver, remaining, resetMs } = await this.#limit.take(credentialId, points, taken);
    res.setHeader('RateLimit-Policy', this.#policy);
    res.setHeader('RateLimit', `"${this.name}";r=${remaining};t=${Math.ceil(resetMs / 1_000)}`);
    if (!isOver) return;
    const message = `A credential may send ${this.perMinute} ${this.name} a minute${sizeNote(points)}; wait for the time in Retry-After.`;
    throw new ServiceError('RATE_LIMITED', message, { retryAfterMs: resetMs });
  }
}

/** Reads and writes a minute for one credential in this process; 0 turns the limit off. */
export interface CredentialLimits {
  readonly readsPerMinute: number;
  readonly writesPerMinute: number;
}

export const DEFAULT_CREDENTIAL_LIMITS: CredentialLimits = { readsPerMinute: 1_200, writesPerMinute: 300 };

/** Shared by the fronts that credentials are for: none of them is a way around the rates of another. */
export type CredentialRates = Readonly<Partial<Record<'reads' | 'writes', ShownRateLimit>>>;

/** A rate of 0 is no limit. */
export function createCredentialRates({ readsPerMinute, writesPerMinute }: CredentialLimits): CredentialRates {
  return {
    ...(readsPerMinute > 0 ? { reads: new ShownRateLimit('reads', readsPerMinute) } : {}),
    ...(writesPerMinute > 0 ? { writes: new ShownRateLimit('writes', writesPerMinute) } : {}),
  };
}

/** With the time that a credential is remembered, a revocation ends a wait within five seconds. */
const LOOK_EVERY_MS = 1_000;

/**
 * Looks whether the credentials of requests that last are still valid: each once a second, however many requests it
 * has. Nothing is looked at while there is none.
 */
export class CredentialWatch {
  private readonly followed = new Map<string, Set<() => void>>();
  private cancelTimer: (() => void) | undefined;
  private isLooking = false;

  constructor(
    /** Rejects for a credential that is not valid. */
    private readonly authenticator: {
      readonly authenticate: (credential: string, audience: Audience) => Promise<unknown>;
    },
    private readonly clock: Pick<Clock, 'after'>,
    /** What the credentials must be for. */
    private readonly audience: Audience,
  ) {}

  /** Tells, each second until the returned function is called, when the credential is refused. */
  follow(credential: string, tell: () => void): () => void {
    const told = this.followed.get(credential) ?? new Set();
    this.followed.set(credential, told.add(tell));
    this.schedule();
    return () => {
      told.delete(tell);
      if (told.size > 0 || this.followed.get(credential) !== told) return;
      this.followed.delete(credential);
      if (this.followed.size > 0) return;
      this.cancelTimer?.();
      this.cancelTimer = undefined;
    };
  }

  private schedule(): void {
    if (this.cancelTimer !== undefined || this.isLooking || this.followed.size === 0) return;
    this.cancelTimer = this.clock.after(LOOK_EVERY_MS, () => void this.look());
  }

  private async look(): Promise<void> {
    this.cancelTimer = undefined;
    this.isLooking = true;
    for (const [credential, told] of Array.from(this.followed)) {
      if (await this.isRefused(credential)) for (const tell of told) tell();
    }
    this.isLooking = false;
    this.schedule();
  }

  private async isRefused(credential: string): Promise<boolean> {
    try {
      await this.authenticator.authenticate(credential, this.audience);
      return false;
    } catch (error) {
      // Stores that do not answer say nothing of the credential.
      return error instanceof ServiceError && error.code !== 'SERVICE_UNAVAILABLE';
    }
  }
}
