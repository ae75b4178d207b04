import type { IncomingMessage, ServerResponse } from 'node:http';
import { type Authenticator, isCredentialShaped, isOwnApp } from '../../../core/access/authenticate.js';
import type { Audience, Caller } from '../../../core/access/credential.js';
import { ServiceError } from '../../../core/errors.js';
import type { Clock } from '../../../core/ports/machine.js';
import { pointsOf, RATE_WINDOW_SECONDS, RateLimit, sizeNote } from '../../rate-limit.js';
import type { HttpContext } from './http-context.js';
import { declaredBytes, headerText, readCredential } from './request.js';
import type { HttpShared, RoutedContext } from './server.js';

/** How a front authenticates requests, before it serves them and while they last. */
export interface Access {
  /** The sender of the request. Throws the error that refuses it. */
  authenticate(ctx: RoutedContext): Promise<Caller>;
  /** Calls `onRefused`, until the returned function is called, when the sender would no longer be authenticated. */
  follow(ctx: RoutedContext, onRefused: () => void): () => void;
}

export interface CredentialAccessParts extends Pick<HttpShared, 'addresses' | 'refusals'> {
  readonly authenticator: Authenticator;
  readonly context: { readonly clock: Pick<Clock, 'after'> };
  readonly audience: Audience;
  /** Throws SERVICE_UNAVAILABLE if the stores are known to be unavailable and the request would use them. */
  readonly requireStores?: (wouldUse: () => boolean) => void;
  /** The URL of the metadata of the protected resource (RFC 9728); absent where no tokens are issued. */
  readonly resourceMetadata?: () => string | undefined;
}

/** Authentication by an API key or an access token. */
export class CredentialAccess implements Access {
  private readonly watch: CredentialWatch;

  constructor(private readonly parts: CredentialAccessParts) {
    this.watch = new CredentialWatch(parts.authenticator, parts.context.clock, parts.audience);
  }

  /**
   * A failure is counted for the address of the client; a success never is. A malformed key is refused without the
   * stores, whether they are available or not.
   */
  async authenticate({ req, state }: HttpContext): Promise<Caller> {
    const { authenticator, audience, addresses, refusals, requireStores, resourceMetadata } = this.parts;
    if (resourceMetadata) state.resourceMetadata = resourceMetadata;
    try {
      const credential = readCredential(req);
      // The log lines of an outage count the requests that are refused for it: a line for each would let
      // unauthenticated clients fill the log.
      state.isLeftOut = true;
      requireStores?.(() => isCredentialShaped(credential ?? ''));
      state.isLeftOut = false;
      return await authenticator.authenticate(credential, audience);
    } catch (error) {
      if (!(error instanceof ServiceError) || error.code === 'SERVICE_UNAVAILABLE') throw error;
      state.address = addresses.ofRequest(req);
      throw refusals.countFailure(state.address, error);
    }
  }

  follow({ req }: HttpContext, onRefused: () => void): () => void {
    return this.watch.follow(readCredential(req) ?? '', onRefused);
  }
}

export interface AdmissionRules {
  readonly access: Access;
  readonly clock: Pick<Clock, 'now'>;
  readonly rateLimit: ShownRateLimit | undefined;
  readonly maxBodyBytes: number;
}

/** A request whose sender is known, and which counts against the rate of its credential. */
export interface Admission {
  readonly rules: AdmissionRules;
  readonly caller: Caller;
  readonly authenticatedAt: number;
}

/** Authenticates a request and counts it by its declared size. */
export async function admitRequest(ctx: RoutedContext, rules: AdmissionRules): Promise<Admission> {
  const caller = await rules.access.authenticate(ctx);
  ctx.state.caller = caller;
  const authenticatedAt = rules.clock.now();
  const points = pointsOf(Math.min(declaredBytes(ctx.req) ?? 0, rules.maxBodyBytes));
  if (rules.rateLimit) await rules.rateLimit.take(caller.credentialId, ctx.res, points);
  return { rules, caller, authenticatedAt };
}

const STALE_AFTER_MS = 1_000;

/**
 * Reads the body of an admitted request. A body in chunks counts against the rate when it has arrived. Its sender is
 * authenticated again if that took long, since the credential may have been revoked meanwhile.
 */
export async function readAdmittedBody<T>(
  ctx: RoutedContext,
  { rules: { access, clock, rateLimit }, caller, authenticatedAt }: Admission,
  read: (arrived: (byteSize: number) => Promise<void>) => Promise<T>,
): Promise<T> {
  const isChunked = declaredBytes(ctx.req) === undefined;
  const body = await read(async (byteSize) => {
    if (rateLimit && isChunked) await rateLimit.take(caller.credentialId, ctx.res, pointsOf(byteSize), pointsOf(0));
  });
  if (clock.now() - authenticatedAt > STALE_AFTER_MS) await access.authenticate(ctx);
  return body;
}

/** Throws DEVELOPER_SCOPE_INSUFFICIENT if X-App-Id names another App than that of the credential. */
export function requireOwnApp(req: IncomingMessage, caller: Caller): void {
  if (!isOwnApp(caller, headerText(req, 'x-app-id')))
    throw new ServiceError('DEVELOPER_SCOPE_INSUFFICIENT', "X-App-Id must be the credential's own App.");
}

/** How many requests a credential may send to this process per minute. Each response has the number that is left. */
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

/** Reads and writes per minute for one credential in this process; 0 disables the limit. */
export interface CredentialLimits {
  readonly readsPerMinute: number;
  readonly writesPerMinute: number;
}

/** Shared by the fronts that credentials are for: none of them is a way around the rates of another. */
export type CredentialRates = Readonly<Partial<Record<'reads' | 'writes', ShownRateLimit>>>;

export function createCredentialRates({ readsPerMinute, writesPerMinute }: CredentialLimits): CredentialRates {
  return {
    ...(readsPerMinute > 0 ? { reads: new ShownRateLimit('reads', readsPerMinute) } : {}),
    ...(writesPerMinute > 0 ? { writes: new ShownRateLimit('writes', writesPerMinute) } : {}),
  };
}

/** With the time that a credential is cached, a revocation ends a wait within five seconds. */
const CHECK_EVERY_MS = 1_000;

/** The long requests of one credential: they do not hold a copy of it each. */
class Followers extends Set<() => void> {
  constructor(readonly credential: string) {
    super();
  }
}

/**
 * Checks whether the credentials of long requests are still valid: each once per second, however many requests it has.
 */
export class CredentialWatch {
  private readonly followed = new Map<string, Followers>();
  private cancelTimer: (() => void) | undefined;
  private isChecking = false;

  constructor(
    /** Rejects for a credential that is not valid. */
    private readonly authenticator: {
      readonly authenticate: (credential: string, audience: Audience) => Promise<unknown>;
    },
    private readonly clock: Pick<Clock, 'after'>,
    /** The audience of the credentials. */
    private readonly audience: Audience,
  ) {}

  /** Calls `onRefused`, until the returned function is called, when the credential is no longer valid. */
  follow(credential: string, onRefused: () => void): () => void {
    const followers = this.followed.get(credential) ?? new Followers(credential);
    followers.add(onRefused);
    this.followed.set(credential, followers);
    this.schedule();
    return () => {
      followers.delete(onRefused);
      if (followers.size > 0 || this.followed.get(followers.credential) !== followers) return;
      this.followed.delete(followers.credential);
      if (this.followed.size > 0) return;
      this.cancelTimer?.();
      this.cancelTimer = undefined;
    };
  }

  private schedule(): void {
    if (this.cancelTimer !== undefined || this.isChecking || this.followed.size === 0) return;
    this.cancelTimer = this.clock.after(CHECK_EVERY_MS, () => void this.check());
  }

  private async check(): Promise<void> {
    this.cancelTimer = undefined;
    this.isChecking = true;
    for (const [credential, followers] of Array.from(this.followed)) {
      if (await this.isRefused(credential)) for (const onRefused of followers) onRefused();
    }
    this.isChecking = false;
    this.schedule();
  }

  private async isRefused(credential: string): Promise<boolean> {
    try {
      await this.authenticator.authenticate(credential, this.audience);
      return false;
    } catch (error) {
      // An unavailable store does not make a credential invalid.
      return error instanceof ServiceError && error.code !== 'SERVICE_UNAVAILABLE';
    }
  }
}
