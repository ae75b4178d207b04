import type { Context } from '../../../core/context.js';
import { ServiceError } from '../../../core/errors.js';
import type { Person } from '../../../core/people/person.js';
import {
  beginSession,
  endSession,
  findSession,
  type SignedIn,
  type NewSession,
} from '../../../core/people/sessions.js';
import type { HttpContext } from '../host/http-context.js';
import { PageCookie } from './page-cookie.js';

const SECRET = /^[A-Za-z0-9_-]{43}$/;

/** A person's session in a browser: the cookie that carries its secret, and whom it signs in. */
export class BrowserSessions {
  private readonly cookie: PageCookie;

  constructor(
    private readonly context: Context,
    publicUrl: () => string,
  ) {
    this.cookie = new PageCookie('darkroom_session', { publicUrl, lifeMs: context.settings.sessionMaxMs });
  }

  /** Who is signed in; undefined for nobody, and for a session that has ended. */
  async find(ctx: HttpContext): Promise<SignedIn | undefined> {
    const secret = this.secretOf(ctx);
    return secret === undefined ? undefined : findSession(this.context, secret);
  }

  /** What the browser's cookie carries; undefined for what cannot be the secret of a session. */
  secretOf(ctx: HttpContext): string | undefined {
    const secret = this.cookie.read(ctx);
    return secret !== undefined && SECRET.test(secret) ? secret : undefined;
  }

  /** As `find`, and throws SESSION_REQUIRED for nobody. */
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
