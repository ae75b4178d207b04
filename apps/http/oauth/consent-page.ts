import { html } from 'hono/html';
import { errors, type Provider } from 'oidc-provider';
import { type Audience, DEFAULT_SCOPES, type Scope, SCOPES } from '../../../core/access/credential.js';
import type { Identity, Machine, Money } from '../../../core/context.js';
import { ServiceError } from '../../../core/errors.js';
import { fieldInvalid } from '../../../core/fields.js';
import { createGrant } from '../../../core/people/grants.js';
import type { SignedIn } from '../../../core/people/sessions.js';
import type { HttpContext } from '../host/http-context.js';
import type { BrowserSessions } from '../pages/browser-sessions.js';
import { alertIf, type Html, numberText, readForm, redirectTo, requireSameOrigin, sendPage } from '../pages/page.js';
import { ownerOf } from './registration.js';
import { audienceOf, type MetadataOptions, resourceUrl } from './metadata.js';

/** Each scope in words; what spends credits says so. */
const SCOPE_TEXTS: Readonly<Record<Scope, string>> = {
  'credits:read': 'See the balance of the account',
  'generations:read': 'See the pictures and videos that it made',
  'generations:write': 'Make pictures and videos, which spends credits of the account',
  'uploads:write': 'Upload files to work with',
  'webhooks:manage': 'Choose addresses that are told of what it made, with the results',
};

const AUDIENCES: Readonly<Record<Audience, string>> = {
  rest: 'the API of this service',
  mcp: 'the tools of this service (MCP)',
};

/** `balance` is what the account has available. */
function consentForm(
  action: string,
  { clientName, redirectUri, audience, scopes }: Request,
  account: { readonly email: string; readonly name: string; readonly balance: string },
  fault: string | undefined,
): Html {
  return html`${alertIf(fault)}
    <p>
      A program that calls itself <strong>${clientName}</strong> wants to use ${AUDIENCES[audience]} for you. Nobody has
      checked its name. Go on only if you have started this yourself.
    </p>
    <dl class="facts">
      <dt>Answer goes to</dt>
      <dd>${redirectUri === undefined ? 'the device that shows the code' : ownerOf(redirectUri)}</dd>
      <dt>Signed in as</dt>
      <dd>${account.email}</dd>
      <dt>Account</dt>
      <dd>${account.name}</dd>
      <dt>Available</dt>
      <dd>${account.balance}</dd>
    </dl>
    <form method="post" action="${action}">
      <fieldset>
        <legend>It may</legend>
        ${SCOPES.filter((scope) => scopes.includes(scope)).map(scopeBox)}
      </fieldset>
      ${scopes.includes('generations:write') ? capField() : ''}
      <div class="split">
        <button type="submit" name="decision" value="deny" class="secondary">Deny</button>
        <button type="submit" name="decision" value="allow">Allow</button>
      </div>
    </form>
    <p class="quiet">You can end the connection at any time on your account page.</p>
    <form method="post" action="/sign-out">
      <button type="submit" class="outline secondary">Not you? Sign out</button>
    </form>`;
}

function scopeBox(scope: Scope): Html {
  const checked = DEFAULT_SCOPES.includes(scope) ? html` checked` : '';
  return html`<label><input type="checkbox" name="scope" value="${scope}" ${checked} />${SCOPE_TEXTS[scope]}</label>`;
}

function capField(): Html {
  return html`<label>
    Spend at most, in credits
    <input type="text" inputmode="numeric" name="cap" pattern="[0-9]*" maxlength="15" aria-describedby="cap-note" />
    <small id="cap-note">For as long as the connection lives. Empty: no limit but the account's balance.</small>
  </label>`;
}

export interface ConsentParts extends Pick<MetadataOptions, 'publicUrl' | 'audiences'> {
  readonly context: Money & Identity & Machine;
  readonly sessions: BrowserSessions;
  readonly bodyTimeoutMs: number;
}

interface Request {
  readonly clientId: string;
  readonly clientName: string;
  readonly redirectUri: string | undefined;
  readonly audience: Audience;
  readonly scopes: readonly Scope[];
}

/** The page on which a person allows a client to act for them, or refuses it. */
export class ConsentPage {
  constructor(
    private readonly provider: Provider,
    private readonly parts: ConsentParts,
  ) {}

  async show(ctx: HttpContext): Promise<void> {
    const request = await this.requestOf(ctx);
    const signedIn = await this.parts.sessions.find(ctx);
    if (!signedIn) return redirectTo(ctx, `/sign-in?return=${encodeURIComponent(ctx.state.target.path)}`);
    await this.showForm(ctx, request, signedIn);
  }

  async answer(ctx: HttpContext): Promise<void> {
    const { context, sessions, publicUrl, bodyTimeoutMs } = this.parts;
    requireSameOrigin(ctx, publicUrl());
    const form = await readForm(ctx, { timeoutMs: bodyTimeoutMs, lists: ['scope'] });
    const request = await this.requestOf(ctx);
    const signedIn = await sessions.find(ctx);
    if (!signedIn) return redirectTo(ctx, `/sign-in?return=${encodeURIComponent(ctx.state.target.path)}`);
    if (form.get('decision') !== 'allow')
      return this.finish(ctx, { error: 'access_denied', error_description: 'The person refused the request.' });
    const ticked = form.getAll('scope');
    const scopes = request.scopes.filter((scope) => ticked.includes(scope));
    const { person } = signedIn;
    try {
      if (scopes.length === 0) throw fieldInvalid('/scope', 'Tick what the program may do, or refuse it.');
      const { clientId, clientName, audience } = request;
      const capCredits = readCap(form.get('cap') ?? '');
      const asked = { clientId, clientName, audience, scopes, ...(capCredits === undefined ? {} : { capCredits }) };
      const { grantId } = await createGrant(context, person, asked);
      await this.finish(ctx, { login: { accountId: person.personId, remember: false }, consent: { grantId } });
    } catch (error) {
      if (!(error instanceof ServiceError) || error.code !== 'FIELD_INVALID') throw error;
      await this.showForm(ctx, request, signedIn, error.message);
    }
  }

  private async showForm(ctx: HttpContext, request: Request, { person }: SignedIn, fault?: string): Promise<void> {
    const account = await this.parts.context.accounts.read(person.accountId, undefined, 'totals');
    if (!account) throw new ServiceError('NOT_FOUND', 'There is no such account any more.');
    const balance = `${numberText(ctx, account.available)} ${account.currency}`;
    const shown = { email: person.email, name: account.name, balance };
    await sendPage(ctx, {
      title: 'Connect a program',
      status: fault === undefined ? 200 : 422,
      redirectsAway: true,
      content: consentForm(ctx.state.target.path, request, shown, fault),
    });
  }

  /** The request that this browser was sent here with. */
  private async requestOf(ctx: HttpContext): Promise<Request> {
    const { params } = await this.provider.interactionDetails(ctx.req, ctx.res).catch((error: unknown) => {
      throw error instanceof errors.SessionNotFound ? expired() : error;
    });
    const clientId = textOf(params['client_id']);
    const client = await this.provider.Client.find(clientId);
    if (!client) throw expired();
    const { publicUrl, audiences } = this.parts;
    const asked = textOf(params['scope']).split(' ');
    const redirectUri = params['redirect_uri'];
    return {
      clientId,
      clientName: client.clientName ?? clientId,
      redirectUri: typeof redirectUri === 'string' ? redirectUri : undefined,
      audience:
        audienceOf(publicUrl(), textOf(params['resource'], resourceUrl(publicUrl(), 'rest')), audiences) ?? 'rest',
      scopes: SCOPES.filter((scope) => asked.includes(scope)),
    };
  }

  private async finish(ctx: HttpContext, result: Parameters<Provider['interactionResult']>[2]): Promise<void> {
    redirectTo(ctx, await this.provider.interactionResult(ctx.req, ctx.res, result));
  }
}

function textOf(param: unknown, otherwise = ''): string {
  return typeof param === 'string' ? param : otherwise;
}

function expired(): ServiceError {
  return new ServiceError(
    'NOT_FOUND',
    'This request is too old, or began in another browser. Go back to the program and start again.',
  );
}

function readCap(text: string): number | undefined {
  const digits = text.trim();
  if (digits === '') return undefined;
  if (!/^\d{1,15}$/.test(digits)) throw fieldInvalid('/cap', 'A limit must be a whole number of credits.');
  return Number(digits);
}
