import type { Context } from '../../../core/context.js';
import { readSignInEmail } from '../../../core/people/manage-people.js';
import type { Person } from '../../../core/people/person.js';
import type { NewSession } from '../../../core/people/sessions.js';
import { isLinkUsable, noteSignIn, personByLink, personByPassword } from '../../../core/people/sign-in.js';
import type { OutsideProvider } from '../../../core/ports/outside-provider.js';
import type { HttpContext } from '../host/http-context.js';
import { createRouter } from '../host/routing.js';
import { serveStaticFile } from '../host/static-file.js';
import { readQuery } from '../host/read-query.js';
import type { HttpFront, HttpShared } from '../host/server.js';
import type { BrowserSessions } from '../pages/browser-sessions.js';
import { pageRoutes } from '../pages/page-route.js';
import { relyingParty } from '../pages/relying-party.js';
import { readForm } from '../pages/read-form.js';
import { returnPath } from '../pages/return-path.js';
import { requireSameOrigin } from '../pages/same-origin.js';
import { redirectTo, sendPage } from '../pages/send-page.js';
import { RequestRates } from '../pages/request-rates.js';
import type { SignInRates } from '../pages/sign-in-rates.js';
import { DeviceCookie } from './device-cookie.js';
import { PasskeyOperations } from './passkey-operations.js';
import { ProviderPages } from './provider-pages.js';
import { linkForm, linkOver, signInForm, type SignInView } from './views.js';

export interface SignInOptions {
  readonly context: Context;
  readonly sessions: BrowserSessions;
  readonly publicUrl: () => string;
  readonly rates: SignInRates;
  /** An outside provider that people may sign in with. */
  readonly outsideProvider?: OutsideProvider | undefined;
  /** How long a form may take to arrive once its headers are here, in milliseconds. */
  readonly bodyTimeoutMs: number;
}

/** `/sign-in`: by password, by a link, with a passkey or through the outside provider, and `/sign-out`. */
export function signIn(options: SignInOptions): HttpFront {
  return ({ addresses }) => {
    const pages = new SignInPages(options, addresses);
    const provider = providerPages(options, pages, addresses);
    const page = pageRoutes(options.publicUrl);
    return [
      createRouter([
        page('GET', '/sign-in', (ctx) => pages.show(ctx)),
        page('POST', '/sign-in', (ctx) => pages.withPassword(ctx)),
        page('GET', '/sign-in/link/:secret', (ctx) => pages.showLink(ctx, ctx.params['secret'] ?? '')),
        page('POST', '/sign-in/link/:secret', (ctx) => pages.withLink(ctx, ctx.params['secret'] ?? '')),
        page('POST', '/sign-out', (ctx) => pages.signOut(ctx)),
        ...pages.passkeys.routes,
        serveStaticFile(PASSKEY_SCRIPT, {
          file: new URL('browser/passkey-sign-in.js', import.meta.url),
          mediaType: 'text/javascript; charset=utf-8',
        }),
        ...(provider === undefined
          ? []
          : [
              page('GET', '/sign-in/provider', (ctx) => provider.leave(ctx)),
              page('GET', ProviderPages.CALLBACK, (ctx) => provider.comeBack(ctx)),
            ]),
      ]),
    ];
  };
}

function providerPages(
  { outsideProvider: provider, ...options }: SignInOptions,
  pages: SignInPages,
  addresses: HttpShared['addresses'],
): ProviderPages | undefined {
  if (provider === undefined) return undefined;
  return new ProviderPages({
    ...options,
    provider,
    rates: new RequestRates(addresses),
    begin: (ctx, person, authenticatedAt) => pages.begin(ctx, person, { method: 'provider', authenticatedAt }),
  });
}

type SignInProof = Omit<NewSession, 'userAgent'>;

const PASSKEY_SCRIPT = '/assets/passkey-sign-in.js';

/** Said of an unknown address and of a wrong password alike. */
const REFUSED = 'The e-mail address or the password is wrong.';

class SignInPages {
  readonly passkeys: PasskeyOperations;
  private readonly device: DeviceCookie;

  constructor(
    private readonly options: SignInOptions,
    private readonly addresses: HttpShared['addresses'],
  ) {
    this.device = new DeviceCookie(options.context, options.publicUrl);
    this.passkeys = new PasskeyOperations({
      ...options,
      addresses,
      begin: (ctx, person) => this.begin(ctx, person, { method: 'passkey' }),
    });
  }

  async show(ctx: HttpContext): Promise<void> {
    const { return: asked } = readQuery(ctx.state.target.query, ['return']);
    const returnTo = returnPath(asked);
    if (await this.options.sessions.find(ctx)) return redirectTo(ctx, returnTo);
    await this.showForm(ctx, { returnTo }, 200);
  }

  async withPassword(ctx: HttpContext): Promise<void> {
    const { context, publicUrl, bodyTimeoutMs } = this.options;
    requireSameOrigin(ctx, publicUrl());
    const form = await readForm(ctx, { timeoutMs: bodyTimeoutMs });
    const email = readSignInEmail(form.get('email') ?? '');
    const returnTo = returnPath(form.get('return') ?? undefined);
    await this.options.rates.take({
      address: this.addresses.ofRequest(ctx.req),
      // An address may be long, and the rates keep what they count.
      person: context.digests.keyed(`sign-in of ${email}`),
      device: this.device.read(ctx, email),
    });
    const person = await personByPassword(context, { email, password: form.get('password') ?? '' });
    if (!person) return this.showForm(ctx, { returnTo, email, fault: REFUSED }, 422);
    await this.begin(ctx, person, { method: 'password' });
    redirectTo(ctx, returnTo);
  }

  async showLink(ctx: HttpContext, secret: string): Promise<void> {
    if (!(await isLinkUsable(this.options.context, secret))) return this.showOver(ctx);
    await sendPage(ctx, { title: 'Sign in', content: linkForm(ctx.state.target.path) });
  }

  async withLink(ctx: HttpContext, secret: string): Promise<void> {
    requireSameOrigin(ctx, this.options.publicUrl());
    const person = await personByLink(this.options.context, secret);
    if (!person) return this.showOver(ctx);
    await this.begin(ctx, person, { method: 'link' });
    redirectTo(ctx, '/');
  }

  async signOut(ctx: HttpContext): Promise<void> {
    requireSameOrigin(ctx, this.options.publicUrl());
    const { return: asked } = readQuery(ctx.state.target.query, ['return']);
    await this.options.sessions.end(ctx);
    redirectTo(ctx, asked === undefined ? '/sign-in' : `/sign-in?return=${encodeURIComponent(returnPath(asked))}`);
  }

  async begin(ctx: HttpContext, person: Person, proof: SignInProof): Promise<void> {
    await this.options.sessions.begin(ctx, person, proof);
    this.device.write(ctx, person.email);
    await noteSignIn(this.options.context, person);
  }

  private showForm(
    ctx: HttpContext,
    view: Omit<SignInView, 'hasPasskeys' | 'provider'>,
    status: number,
  ): Promise<void> {
    const { publicUrl, outsideProvider } = this.options;
    const hasPasskeys = relyingParty(publicUrl()) !== undefined;
    return sendPage(ctx, {
      title: 'Sign in',
      status,
      scripts: hasPasskeys ? [PASSKEY_SCRIPT] : [],
      content: signInForm({ ...view, provider: outsideProvider?.name, hasPasskeys }),
    });
  }

  private showOver(ctx: HttpContext): Promise<void> {
    return sendPage(ctx, { title: 'Sign in', status: 410, content: linkOver() });
  }
}
