import { isIP } from 'node:net';
import { BurstyRateLimiter, RateLimiterMemory, RateLimiterRes } from 'rate-limiter-flexible';
import type { Identity, Machine } from '../../../core/context.js';
import { ServiceError } from '../../../core/errors.js';
import type { Person } from '../../../core/people/person.js';
import {
  beginSession,
  endSession,
  findSession,
  type NewSession,
  type SignedIn,
} from '../../../core/people/sessions.js';
import type { RelyingParty } from '../../../core/ports/machine.js';
import { browserUrl, originOf } from '../../config/network-address.js';
import { RateLimit } from '../../rate-limit.js';
import type { ClientAddresses } from '../host/client-addresses.js';
import type { HttpContext } from '../host/http-context.js';

const SECRET = /^[A-Za-z0-9_-]{43}$/;

/** A person's session in a browser: the cookie that carries its secret, and whom it signs in. */
export class BrowserSessions {
  private readonly cookie: PageCookie;

  constructor(
    private readonly context: Identity & Machine,
    publicUrl: () => string,
  ) {
    this.cookie = new PageCookie('darkroom_session', publicUrl, context.settings.sessionMaxMs);
  }

  /** The signed-in person; undefined without a session, and for a session that has ended. */
  async find(ctx: HttpContext): Promise<SignedIn | undefined> {
    const secret = this.secretOf(ctx);
    return secret === undefined ? undefined : findSession(this.context, secret);
  }

  /** The secret in the browser's cookie; undefined if it cannot be the secret of a session. */
  secretOf(ctx: HttpContext): string | undefined {
    const secret = this.cookie.read(ctx);
    return secret !== undefined && SECRET.test(secret) ? secret : undefined;
  }

  /** Like `find`, and throws SESSION_REQUIRED without a session. */
  async require(ctx: HttpContext): Promise<SignedIn> {
    const signedIn = await this.find(ctx);
    if (!signedIn) throw new ServiceError('SESSION_REQUIRED');
    return signedIn;
  }

  /** Begins a new session with a new secret, and ends the one that the browser had. */
  async begin(ctx: HttpContext, person: Person, proof: Omit<NewSession, 'userAgent'>): Promise<SignedIn> {
    const before = await this.find(ctx);
    const userAgent = ctx.req.headers['user-agent'] ?? '';
    const { secret, ...signedIn } = await beginSession(this.context, person, { ...proof, userAgent });
    if (before) await endSession(this.context, before.person, before.session.sessionId);
    this.cookie.write(ctx, secret);
    return signedIn;
  }

  async end(ctx: HttpContext): Promise<void> {
    const signedIn = await this.find(ctx);
    if (signedIn) await endSession(this.context, signedIn.person, signedIn.session.sessionId);
    this.cookie.clear(ctx);
  }
}

/** A cookie of the pages, which no script can read and which requests of other sites do not carry. */
export class PageCookie {
  constructor(
    private readonly name: string,
    private readonly publicUrl: () => string,
    /** How long a browser keeps it, in milliseconds. */
    private readonly lifeMs: number,
  ) {}

  read(ctx: HttpContext): string | undefined {
    return ctx.cookies.get(this.fullName);
  }

  write(ctx: HttpContext, value: string): void {
    this.set(ctx, value, this.lifeMs);
  }

  /** Makes the browser delete it. */
  clear(ctx: HttpContext): void {
    this.set(ctx, '', 0);
  }

  /** Returns the value that the browser sent, and removes the cookie. */
  take(ctx: HttpContext): string | undefined {
    const value = this.read(ctx);
    this.clear(ctx);
    return value;
  }

  private set(ctx: HttpContext, value: string, maxAge: number): void {
    const { isSecure } = this;
    // The connection that the server sees may be a proxy's; what the browser uses is the public address.
    ctx.cookies.secure = isSecure;
    // Lax: links of other sites lead here as the person who is signed in.
    ctx.cookies.set(this.fullName, value, {
      httpOnly: true,
      sameSite: 'lax',
      path: '/',
      secure: isSecure,
      maxAge,
      overwrite: true,
    });
  }

  /** With the prefix `__Host-`, browsers accept the cookie only from this host and only over TLS. */
  private get fullName(): string {
    return this.isSecure ? `__Host-${this.name}` : this.name;
  }

  private get isSecure(): boolean {
    return this.publicUrl().startsWith('https:');
  }
}

/** How long a person may stay at the outside provider. */
const AWAY_MS = 600_000;

/** Knows a browser that was sent to the outside provider when it comes back. */
export function outsideCookie(publicUrl: () => string): PageCookie {
  return new PageCookie('darkroom_outside', publicUrl, AWAY_MS);
}

/**
 * For whom browsers keep passkeys at the public address. Undefined where they keep none: at an address without a domain
 * name, and without TLS anywhere but on this computer, where it is `localhost` whichever name the address has.
 */
export function relyingParty(publicUrl: string): RelyingParty | undefined {
  const { protocol, hostname, origin } = new URL(browserUrl(publicUrl));
  const isHere = hostname === 'localhost' || hostname.endsWith('.localhost');
  const isNumber = hostname.startsWith('[') || isIP(hostname) !== 0;
  return !isNumber && (protocol === 'https:' || isHere) ? { id: hostname, origin } : undefined;
}

/** Whether the page that sent a request can use passkeys: not where it is open under a number of this computer. */
export function canUsePasskeys({ req }: Pick<HttpContext, 'req'>, publicUrl: string): boolean {
  return relyingParty(publicUrl)?.origin === originOf(req.headers.host, publicUrl);
}

/** Like `relyingParty`, and throws NOT_FOUND if there is none. */
export function requireRelyingParty(publicUrl: string): RelyingParty {
  const party = relyingParty(publicUrl);
  if (!party) throw new ServiceError('NOT_FOUND', 'Passkeys cannot be used at the address of this service.');
  return party;
}

const REQUESTS_A_MINUTE = 600;
const BEGUN_A_MINUTE = 120;
const TOO_MANY_REQUESTS = 'Too many requests came from this address; try again later.';

/**
 * How much one address may ask of a front in this process for which nobody has to be known: 600 requests a minute, of which
 * 120 may begin something that is kept for a while, such as an authorization, a device code or a sign-in elsewhere.
 */
export class RequestRates {
  private readonly requests = new RateLimit(REQUESTS_A_MINUTE);
  private readonly begun = new RateLimit(BEGUN_A_MINUTE);

  constructor(private readonly addresses: ClientAddresses) {}

  /** Counts a request. Throws RATE_LIMITED with the time to wait. */
  async takeRequest({ req }: Pick<HttpContext, 'req'>): Promise<void> {
    await this.requests.require(this.addresses.ofRequest(req), TOO_MANY_REQUESTS);
  }

  /** Like `takeRequest`, for a request that starts something. */
  async takeBegun(ctx: Pick<HttpContext, 'req'>): Promise<void> {
    await this.takeRequest(ctx);
    await this.begun.require(this.addresses.ofRequest(ctx.req), TOO_MANY_REQUESTS);
  }
}

const BURST_SECONDS = 900;

/** Tries at first, and the seconds between two of them afterwards. */
interface Allowance {
  readonly burst: number;
  readonly secondsBetween: number;
}

const PER_ADDRESS: Allowance = { burst: 20, secondsBetween: 5 };
/** The limit for one address, or for one browser. */
const PER_PERSON: Allowance = { burst: 10, secondsBetween: 10 };
/** The limit for all addresses together: more than ten of them can try at the pace above. */
const PER_PERSON_IN_ALL: Allowance = { burst: 100, secondsBetween: 1 };

export interface SignInTry {
  /** The client address. */
  readonly address: string;
  /** The person to sign in; the same text whether there is such a person or not. Absent if none is named. */
  readonly person?: string;
  /** The browser, if that person has signed in with it before. */
  readonly device?: string | undefined;
}

/**
 * Slows guesses of passwords down, for one address and for one person, in this process. No address can use up the tries
 * of another one. Many addresses that guess together can; so a browser in which the person has signed in before has a pace of its own.
 */
export class SignInRates {
  private readonly addresses = limiter('address', PER_ADDRESS);
  private readonly peopleAtAddresses = limiter('person-at-address', PER_PERSON);
  private readonly people = limiter('person', PER_PERSON_IN_ALL);
  private readonly devices = limiter('device', PER_PERSON);

  /** Counts a try, before any password is looked at. Throws RATE_LIMITED with the time to wait. */
  async take(tried: SignInTry): Promise<void> {
    await this.takeOfAddress(tried);
    await this.takeOfPerson(tried);
  }

  /** Counts a try for its address alone, before the person is known. Throws RATE_LIMITED. */
  async takeOfAddress({ address }: SignInTry): Promise<void> {
    await consume(this.addresses, address);
  }

  /** Counts for its person a try that was counted for its address. Throws RATE_LIMITED. */
  async takeOfPerson({ address, person, device }: SignInTry): Promise<void> {
    if (person === undefined) return;
    if (device !== undefined) return consume(this.devices, `${person} ${device}`);
    await consume(this.peopleAtAddresses, `${person} ${address}`);
    await consume(this.people, person);
  }
}

function limiter(keyPrefix: string, { burst, secondsBetween }: Allowance): BurstyRateLimiter {
  return new BurstyRateLimiter(
    new RateLimiterMemory({ keyPrefix, points: 1, duration: secondsBetween }),
    new RateLimiterMemory({ keyPrefix: `${keyPrefix}-burst`, points: burst, duration: BURST_SECONDS }),
  );
}

async function consume(limiterOfOne: BurstyRateLimiter, who: string): Promise<void> {
  try {
    await limiterOfOne.consume(who);
  } catch (refusal) {
    if (!(refusal instanceof RateLimiterRes)) throw refusal;
    throw new ServiceError('RATE_LIMITED', 'There were too many attempts to sign in; wait a moment and try again.', {
      retryAfterMs: refusal.msBeforeNext,
    });
  }
}
