import { html } from 'hono/html';
import type { Identity, Machine } from '../../../core/context.js';
import { ServiceError } from '../../../core/errors.js';
import { readBody as checkBody } from '../../../core/fields.js';
import { secretText } from '../../../core/people/secrets.js';
import { readSignInEmail } from '../../../core/people/manage-people.js';
import { beginPasskeySignIn, PASSKEY_CHALLENGE_MS, personByPasskey } from '../../../core/people/passkeys.js';
import type { Person } from '../../../core/people/person.js';
import type { NewSession } from '../../../core/people/sessions.js';
import {
  beginOutsideSignIn,
  finishOutsideSignIn,
  isLinkUsable,
  linkIdentity,
  noteSignIn,
  personByIdentity,
  personByLink,
  personByPassword,
} from '../../../core/people/sign-in.js';
import type { PasskeyAssertion, RelyingParty } from '../../../core/ports/machine.js';
import type { OutsideProvider } from '../../../core/ports/outside.js';
import { otherOrigin } from '../../config/network-address.js';
import type { HttpContext } from '../host/http-context.js';
import { serveStaticFile } from '../host/pages.js';
import { bodySchema, readBody, readNoBody, readQuery } from '../host/request.js';
import { sendAnswer } from '../host/send.js';
import { createRouter, type HttpFront, type HttpRoute, type HttpShared } from '../host/server.js';
import {
  type BrowserSessions,
  canUsePasskeys,
  outsideCookie,
  PageCookie,
  relyingParty,
  RequestRates,
  requireRelyingParty,
  type SignInRates,
} from '../pages/browser-sessions.js';
import {
  addressOf,
  alert,
  alertIf,
  type Html,
  isOpened,
  pageRoute,
  readForm,
  redirectTo,
  requireSameOrigin,
  returnPath,
  sendPage,
  withoutChallenge,
} from '../pages/page.js';

export interface SignInOptions {
  readonly context: Identity & Machine;
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
    const { outsideProvider: provider } = options;
    return [
      createRouter([
        pageRoute('GET', '/sign-in', (ctx) => pages.show(ctx)),
        pageRoute('POST', '/sign-in', (ctx) => pages.withPassword(ctx)),
        pageRoute('GET', '/sign-in/link/:secret', (ctx) => pages.showLink(ctx, ctx.params['secret'] ?? '')),
        pageRoute('POST', '/sign-in/link/:secret', (ctx) => pages.withLink(ctx, ctx.params['secret'] ?? '')),
        pageRoute('POST', '/sign-out', (ctx) => pages.signOut(ctx)),
        pages.passkeyRoute('/sign-in/passkey/begin', (ctx, party) => pages.beginPasskey(ctx, party)),
        pages.passkeyRoute('/sign-in/passkey/finish', (ctx, party) => pages.finishPasskey(ctx, party)),
        serveStaticFile(PASSKEY_SCRIPT, {
          file: new URL('browser/passkey-sign-in.js', import.meta.url),
          mediaType: 'text/javascript; charset=utf-8',
        }),
        ...(provider === undefined
          ? []
          : [
              pageRoute('GET', '/sign-in/provider', (ctx) => pages.leave(ctx, provider)),
              pageRoute('GET', CALLBACK, (ctx) => pages.comeBack(ctx, provider)),
            ]),
      ]),
    ];
  };
}

const PASSKEY_SCRIPT = '/assets/passkey-sign-in.js';
/** The path to which the outside provider redirects browsers. */
const CALLBACK = '/sign-in/provider/callback';

/** The message for an unknown address and for a wrong password alike. */
const REFUSED = 'The e-mail address or the password is wrong.';
const SIGN_IN_AGAIN = 'Sign in again to continue: this needs a new sign-in.';
const ENDED = 'Your session has ended. Sign in again.';

const MAX_BODY_BYTES = 16 * 1024;

class SignInPages {
  private readonly device: DeviceCookie;
  /** Keeps the challenge of a passkey with the browser that asked for it. */
  private readonly challenge: PageCookie;
  private readonly outside: PageCookie;
  private readonly outsideRates: RequestRates;

  constructor(
    private readonly options: SignInOptions,
    private readonly addresses: HttpShared['addresses'],
  ) {
    const { context, publicUrl } = options;
    this.device = new DeviceCookie(context, publicUrl);
    this.challenge = new PageCookie('darkroom_passkey', publicUrl, PASSKEY_CHALLENGE_MS);
    this.outside = outsideCookie(publicUrl);
    this.outsideRates = new RequestRates(addresses);
  }

  async show(ctx: HttpContext): Promise<void> {
    const { return: asked, again, ended } = readQuery(ctx.state.target.query, ['return', 'again', 'ended']);
    const returnTo = returnPath(asked);
    const isAgain = again !== undefined;
    const signedIn = await this.options.sessions.find(ctx);
    if (signedIn && !isAgain) return redirectTo(ctx, returnTo);
    const fault = signedIn ? SIGN_IN_AGAIN : ended === undefined ? undefined : ENDED;
    await this.showForm(ctx, { returnTo, isAgain, fault }, 200);
  }

  async withPassword(ctx: HttpContext): Promise<void> {
    const { context, publicUrl, rates, bodyTimeoutMs } = this.options;
    requireSameOrigin(ctx, publicUrl());
    const address = this.addresses.ofRequest(ctx.req);
    await rates.takeOfAddress({ address });
    const form = await readForm(ctx, { timeoutMs: bodyTimeoutMs });
    const email = readSignInEmail(form.get('email') ?? '');
    const returnTo = returnPath(form.get('return') ?? undefined);
    await rates.takeOfPerson({
      address,
      // An address may be long, and the rates keep what they count.
      person: context.digests.keyed(`sign-in of ${email}`),
      device: this.device.read(ctx, email),
    });
    const person = await personByPassword(context, { email, password: form.get('password') ?? '' });
    if (!person)
      return this.showForm(ctx, { returnTo, email, isAgain: form.get('again') !== null, refusal: REFUSED }, 422);
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

  /** A request of the script of the sign-in page, which signs in with a passkey alone. */
  passkeyRoute(path: string, answer: (ctx: HttpContext, party: RelyingParty) => Promise<object>): HttpRoute {
    return {
      method: 'POST',
      path,
      serve: async (ctx) => {
        ctx.state.renderError = withoutChallenge;
        const publicUrl = this.options.publicUrl();
        requireSameOrigin(ctx, publicUrl);
        await sendAnswer(ctx, 200, { data: await answer(ctx, requireRelyingParty(publicUrl)) });
      },
    };
  }

  async beginPasskey(ctx: HttpContext, party: RelyingParty): Promise<object> {
    const { context, bodyTimeoutMs, rates } = this.options;
    // An assertion needs a challenge, so this counts assertions, too.
    await rates.take({ address: this.addresses.ofRequest(ctx.req) });
    await readNoBody(ctx.req, { timeoutMs: bodyTimeoutMs });
    const challenge = await beginPasskeySignIn(context);
    this.challenge.write(ctx, challenge);
    return { challenge, rp_id: party.id, timeout_ms: PASSKEY_CHALLENGE_MS };
  }

  async finishPasskey(ctx: HttpContext, party: RelyingParty): Promise<object> {
    const { context, bodyTimeoutMs } = this.options;
    // Nothing in the body could help.
    if (this.challenge.read(ctx) === undefined) throw new ServiceError('PASSKEY_REFUSED');
    const bounds = { required: true, maxBytes: MAX_BODY_BYTES, timeoutMs: bodyTimeoutMs };
    const body = checkBody<PasskeyBody>(context, PASSKEY_SCHEMA, await readBody(ctx.req, bounds), PASSKEY_WORDING);
    const challenge = this.challenge.take(ctx);
    const person =
      challenge === undefined ? undefined : await personByPasskey(context, party, { ...answerOf(body), challenge });
    if (!person) throw new ServiceError('PASSKEY_REFUSED');
    await this.begin(ctx, person, { method: 'passkey' });
    return { location: returnPath(body.return) };
  }

  /** Out to the outside provider. Throws RATE_LIMITED: each sign-in in progress is stored, and sends requests there. */
  async leave(ctx: HttpContext, provider: OutsideProvider): Promise<void> {
    await this.outsideRates.takeBegun(ctx);
    const { return: asked, again } = readQuery(ctx.state.target.query, ['return', 'again']);
    const { location, secret } = await beginOutsideSignIn(this.options.context, provider, {
      returnTo: returnPath(asked),
      isAgain: again !== undefined,
    });
    this.outside.write(ctx, secret);
    redirectTo(ctx, location);
  }

  /** Back from the outside provider. Throws RATE_LIMITED, as `leave` does. */
  async comeBack(ctx: HttpContext, provider: OutsideProvider): Promise<void> {
    const { context, publicUrl, sessions } = this.options;
    await this.outsideRates.takeBegun(ctx);
    // The provider knows one address of this machine, and the cookie is with the name under which the person left.
    const elsewhere = otherOrigin(ctx.req.headers.host, publicUrl());
    if (elsewhere !== undefined && isOpened(ctx) && this.outside.read(ctx) === undefined)
      return redirectTo(ctx, elsewhere + addressOf(ctx));
    const secret = this.outside.take(ctx);
    const currentUrl = `${publicUrl()}${CALLBACK}?${ctx.state.target.query}`;
    const refuse = (text: string): Promise<void> =>
      sendPage(ctx, { title: 'Sign in', status: 422, content: providerFault(provider.name, text) });
    const back =
      secret === undefined ? undefined : await finishOutsideSignIn(context, provider, { currentUrl, secret });
    if (!back) return refuse('The sign-in was not completed.');
    const { identity, returnTo, sessionId } = back;
    if (sessionId !== undefined) {
      const { person, session } = await sessions.require(ctx);
      if (session.sessionId !== sessionId)
        throw new ServiceError('SESSION_REQUIRED', 'You have signed in again since; connect the identity once more.');
      await linkIdentity(context, person, identity);
      return redirectTo(ctx, returnTo);
    }
    const person = await personByIdentity(context, identity);
    if (!person) return refuse('Nobody here is connected with this identity.');
    // A provider may have kept its own session for days: who finds the browser open gets through, too.
    await this.begin(ctx, person, { method: 'provider', authenticatedAt: identity.authenticatedAt ?? 0 });
    redirectTo(ctx, returnTo);
  }

  private async begin(ctx: HttpContext, person: Person, proof: Omit<NewSession, 'userAgent'>): Promise<void> {
    await this.options.sessions.begin(ctx, person, proof);
    this.device.write(ctx, person.email);
    await noteSignIn(this.options.context, person);
  }

  private showForm(
    ctx: HttpContext,
    view: Omit<SignInView, 'hasPasskeys' | 'passkeysAt' | 'provider'>,
    status: number,
  ): Promise<void> {
    const { publicUrl, outsideProvider } = this.options;
    const hasPasskeys = canUsePasskeys(ctx, publicUrl());
    // An open request of a program belongs to this name, and cannot be continued under another one.
    const passkeysAt = hasPasskeys || view.isAgain ? undefined : relyingParty(publicUrl())?.origin;
    return sendPage(ctx, {
      title: 'Sign in',
      status,
      scripts: hasPasskeys ? [PASSKEY_SCRIPT] : [],
      content: signInForm({ ...view, provider: outsideProvider?.name, hasPasskeys, passkeysAt }),
    });
  }

  private async showOver(ctx: HttpContext): Promise<void> {
    const isSignedIn = (await this.options.sessions.find(ctx)) !== undefined;
    await sendPage(ctx, { title: 'Sign in', status: 410, content: linkOver(isSignedIn) });
  }
}

interface SignInView {
  /** The address after the sign-in. */
  readonly returnTo: string;
  /** Whether a session that the browser has is not enough. */
  readonly isAgain: boolean;
  readonly email?: string;
  /** Above the form. */
  readonly fault?: string | undefined;
  /** Why the address and the password were not taken, below both. */
  readonly refusal?: string | undefined;
  /** The name of the outside provider, where one is configured. */
  readonly provider?: string | undefined;
  /** Whether browsers can use passkeys at this address. */
  readonly hasPasskeys: boolean;
  /** The origin of the service at which they can, if it has another name. */
  readonly passkeysAt: string | undefined;
}

function signInForm(view: SignInView): Html {
  const { returnTo, isAgain, email = '', fault, refusal, provider, hasPasskeys, passkeysAt } = view;
  const isFaulty = refusal === undefined ? '' : html`aria-invalid="true" aria-describedby="refusal"`;
  return html`${alertIf(fault)}
    <form method="post" action="/sign-in">
      <input type="hidden" name="return" value="${returnTo}" />
      ${isAgain ? html`<input type="hidden" name="again" value="1" />` : ''}
      <label>
        E-mail address
        <input
          type="email"
          name="email"
          value="${email}"
          autocomplete="username"
          required
          maxlength="254"
          ${isFaulty}
        />
      </label>
      <label>
        Password
        <input
          type="password"
          name="password"
          autocomplete="current-password"
          required
          maxlength="256"
          ${isFaulty}
          ${refusal === undefined ? '' : html`autofocus`}
        />
      </label>
      ${refusal === undefined ? '' : html`<p role="alert" class="error" id="refusal">${refusal}</p>`}
      <button type="submit">Sign in</button>
    </form>
    ${hasPasskeys ? passkeyButton(returnTo) : ''}
    ${passkeysAt === undefined ? '' : passkeyElsewhere(passkeysAt, returnTo)}
    ${provider === undefined ? '' : providerLink(provider, returnTo, isAgain)}
    <p class="quiet">Without a password, or with a lost one: ask the operator of this service for a sign-in link.</p>`;
}

/** The script shows it if passkeys can be used, and shows errors in it. */
function passkeyButton(returnTo: string): Html {
  return html`<div id="passkey" hidden>
    <p>
      <button type="button" class="secondary" data-return="${returnTo}">Sign in with a passkey</button>
    </p>
    <p role="alert" class="alert"></p>
  </div>`;
}

function providerLink(provider: string, returnTo: string, isAgain: boolean): Html {
  const address = `/sign-in/provider?return=${encodeURIComponent(returnTo)}${isAgain ? '&again=1' : ''}`;
  return html`<p><a role="button" class="secondary" href="${address}">Sign in with ${provider}</a></p>`;
}

function linkForm(action: string): Html {
  return html`<form method="post" action="${action}">
    <p>This link signs you in once. It does nothing until you press the button.</p>
    <button type="submit">Sign in</button>
  </form>`;
}

/** Browsers keep passkeys for a name, and not for a number. */
function passkeyElsewhere(origin: string, returnTo: string): Html {
  const address = `${origin}/sign-in?return=${encodeURIComponent(returnTo)}`;
  return html`<p class="quiet">To use a passkey, sign in at <a href="${address}">${origin}</a>.</p>`;
}

function linkOver(isSignedIn: boolean): Html {
  return html`${alert('This sign-in link was used already, or is older than half an hour.')}
    ${isSignedIn ? html`<p>You are signed in: <a href="/">go to the console</a>.</p>` : ''}
    <p>
      The operator of this service makes another one with <code>darkroom people reset</code>. Or
      <a href="/sign-in">sign in with your password</a>.
    </p>`;
}

function providerFault(name: string, text: string): Html {
  return html`${alert(text)}
    <p><a href="/sign-in">Sign in another way</a>. To use ${name}, connect it on your account page first.</p>`;
}

const BASE64URL = { type: 'string', minLength: 1, maxLength: 4_096, pattern: '^[A-Za-z0-9_-]+$' } as const;
const FIELDS = ['credential_id', 'user_handle', 'client_data', 'authenticator_data', 'signature'] as const;

/** The request of the sign-in page after an authenticator has signed. */
const PASSKEY_SCHEMA = bodySchema(
  {
    credential_id: BASE64URL,
    user_handle: BASE64URL,
    client_data: BASE64URL,
    authenticator_data: BASE64URL,
    signature: BASE64URL,
    return: { type: 'string', maxLength: 2_000 },
  },
  FIELDS,
);
const PASSKEY_WORDING = Object.fromEntries(
  FIELDS.map((name) => [`/${name}`, `${name} must be 1 to 4096 characters of base64url.`]),
);

type PasskeyBody = NonNullable<(typeof PASSKEY_SCHEMA)['conforming']>;

function answerOf(body: PasskeyBody): { readonly personId: string; readonly assertion: PasskeyAssertion } {
  return {
    personId: Buffer.from(body.user_handle, 'base64url').toString('utf8'),
    assertion: {
      credentialId: body.credential_id,
      clientData: body.client_data,
      authenticatorData: body.authenticator_data,
      signature: body.signature,
    },
  };
}

const ID_BYTES = 16;
const KEPT_MS = 365 * 86_400_000;

/**
 * Knows a browser in which a person has signed in before. The cookie is a random id and a keyed digest of it with the
 * e-mail address: nobody can make one, and it signs nobody in.
 */
class DeviceCookie {
  private readonly cookie: PageCookie;

  constructor(
    private readonly context: Machine,
    publicUrl: () => string,
  ) {
    this.cookie = new PageCookie('darkroom_device', publicUrl, KEPT_MS);
  }

  /** The id of the browser, if this person has signed in with it. */
  read(ctx: HttpContext, email: string): string | undefined {
    const [id, proof] = (this.cookie.read(ctx) ?? '').split('.');
    return id !== undefined && proof === this.proofOf(id, email) ? id : undefined;
  }

  write(ctx: HttpContext, email: string): void {
    const id = this.read(ctx, email) ?? secretText(this.context.ids.random(ID_BYTES));
    this.cookie.write(ctx, `${id}.${this.proofOf(id, email)}`);
  }

  private proofOf(id: string, email: string): string {
    return this.context.digests.keyed(`sign-in-device ${id} ${email}`);
  }
}
