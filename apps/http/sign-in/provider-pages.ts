import type { Context } from '../../../core/context.js';
import { ServiceError } from '../../../core/errors.js';
import {
  beginOutsideSignIn,
  finishOutsideSignIn,
  linkIdentity,
  personByIdentity,
} from '../../../core/people/outside-sign-in.js';
import type { Person } from '../../../core/people/person.js';
import type { OutsideProvider } from '../../../core/ports/outside-provider.js';
import type { HttpContext } from '../host/http-context.js';
import { readQuery } from '../host/read-query.js';
import type { BrowserSessions } from '../pages/browser-sessions.js';
import { outsideCookie } from '../pages/outside-cookie.js';
import type { PageCookie } from '../pages/page-cookie.js';
import type { RequestRates } from '../pages/request-rates.js';
import { returnPath } from '../pages/return-path.js';
import { redirectTo, sendPage } from '../pages/send-page.js';
import { providerFault } from './views.js';

export interface ProviderPagesParts {
  readonly context: Context;
  readonly provider: OutsideProvider;
  readonly sessions: BrowserSessions;
  readonly publicUrl: () => string;
  readonly rates: RequestRates;
  /** Begins the person's session. */
  readonly begin: (ctx: HttpContext, person: Person, authenticatedAt: number) => Promise<void>;
}

/** Sign-in through the outside provider: out to it, and back. */
export class ProviderPages {
  private readonly cookie: PageCookie;

  constructor(private readonly parts: ProviderPagesParts) {
    this.cookie = outsideCookie(parts.publicUrl);
  }

  /** Where the provider sends browsers back. */
  static readonly CALLBACK = '/sign-in/provider/callback';

  /** Throws RATE_LIMITED: each sign-in that is begun is stored until it is over, and asks the provider of something. */
  async leave(ctx: HttpContext): Promise<void> {
    const { context, provider, rates } = this.parts;
    await rates.takeBegun(ctx);
    const { return: asked } = readQuery(ctx.state.target.query, ['return']);
    const { location, secret } = await beginOutsideSignIn(context, provider, { returnTo: returnPath(asked) });
    this.cookie.write(ctx, secret);
    redirectTo(ctx, location);
  }

  /** Throws RATE_LIMITED, as `leave` does. */
  async comeBack(ctx: HttpContext): Promise<void> {
    const { context, provider, publicUrl, begin, rates } = this.parts;
    await rates.takeBegun(ctx);
    const secret = this.cookie.take(ctx);
    const currentUrl = `${publicUrl()}${ProviderPages.CALLBACK}?${ctx.state.target.query}`;
    const back =
      secret === undefined ? undefined : await finishOutsideSignIn(context, provider, { currentUrl, secret });
    if (!back) return this.refuse(ctx, 422, 'The sign-in was not completed.');
    const { identity, returnTo, sessionId } = back;
    if (sessionId !== undefined) {
      const { person, session } = await this.parts.sessions.require(ctx);
      if (session.sessionId !== sessionId)
        throw new ServiceError('SESSION_REQUIRED', 'You have signed in again since; connect the identity once more.');
      await linkIdentity(context, person, identity);
      return redirectTo(ctx, returnTo);
    }
    const person = await personByIdentity(context, identity);
    if (!person) return this.refuse(ctx, 422, 'Nobody here is connected with this identity.');
    // A provider may have kept its own session for days: who finds the browser open gets through, too.
    await begin(ctx, person, identity.authenticatedAt ?? 0);
    redirectTo(ctx, returnTo);
  }

  private refuse(ctx: HttpContext, status: number, text: string): Promise<void> {
    const { name } = this.parts.provider;
    return sendPage(ctx, { title: 'Sign in', status, content: providerFault(name, text) });
  }
}
