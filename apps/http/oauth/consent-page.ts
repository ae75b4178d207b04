import { html } from 'hono/html';
import { errors, type Provider } from 'oidc-provider';
import { type Audience, DEFAULT_SCOPES, type Scope } from '../../../core/access/credential.js';
import type { Identity, Machine, Money } from '../../../core/context.js';
import { ServiceError } from '../../../core/errors.js';
import { fieldInvalid } from '../../../core/fields.js';
import { type AskedScopes, createGrant, knownScopes, refuseRequest } from '../../../core/people/grants.js';
import type { Person } from '../../../core/people/person.js';
import { secretKey } from '../../../core/people/secrets.js';
import { isRecentSignIn, type SignedIn } from '../../../core/people/sessions.js';
import type { ArtefactKey } from '../../../core/ports/stores.js';
import type { HttpContext } from '../host/http-context.js';
import type { BrowserSessions } from '../pages/browser-sessions.js';
import { clientNameOf, documentUrl, PROGRAM_SCOPE_TEXTS } from '../pages/connected-program.js';
import { alertIf, type Html, numberText, readForm, redirectTo, requireSameOrigin, sendPage } from '../pages/page.js';
import { audienceOf, type MetadataOptions } from './metadata.js';
import { noteClientUse, ownerOf } from './registration.js';
import { defaultAudience, OWN_PARAMS } from './requests.js';

const AUDIENCES: Readonly<Record<Audience, string>> = {
  rest: 'the API of this service',
  mcp: 'the tools of this service (MCP)',
};

/** `balance` is what the account has available. */
function consentForm(
  action: string,
  { clientId, clientName, redirectUri, audience, asked: { scopes, isDefault } }: Request,
  account: {
    readonly personId: string;
    readonly email: string;
    readonly name: string;
    readonly balance: string;
  },
  fault: string | undefined,
): Html {
  const document = documentUrl(clientId);
  return html`${alertIf(fault)}
    <p>
      A program that calls itself <strong>${clientName}</strong> wants to use ${AUDIENCES[audience]} for you. Nobody has
      checked its name. Continue only if you have started this yourself.
    </p>
    <dl class="facts">
      ${
        document === undefined
          ? ''
          : html`<dt>Described at</dt>
              <dd>${document.href}</dd>`
      }
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
      <input type="hidden" name="person" value="${account.personId}" />
      <fieldset>
        <legend>It may</legend>
        ${scopes.map((scope) => scopeBox(scope, isDefault))}
      </fieldset>
      ${scopes.includes('generations:write') ? capField() : ''}
      <div class="split">
        <button type="submit" name="decision" value="deny" class="secondary">Deny</button>
        <button type="submit" name="decision" value="allow">Allow</button>
      </div>
    </form>
    <p class="quiet">You can end the connection at any time on your account page.</p>
    <form method="post" action="/sign-out?return=${encodeURIComponent(action)}">
      <button type="submit" class="secondary">Not you? Sign out</button>
    </form>`;
}

/** What spends credits is ticked only for a program that has asked for it by name. */
function scopeBox(scope: Scope, isDefault: boolean): Html {
  const isTicked = DEFAULT_SCOPES.includes(scope) && !(isDefault && scope === 'generations:write');
  const checked = isTicked ? html` checked` : '';
  return html`<label
    ><input type="checkbox" name="scope" value="${scope}" ${checked} />${PROGRAM_SCOPE_TEXTS[scope]}</label
  >`;
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
  /** The library's id of the request. */
  readonly uid: string;
  readonly clientId: string;
  readonly clientName: string;
  readonly redirectUri: string | undefined;
  readonly audience: Audience;
  readonly asked: AskedScopes;
  /** The person must have signed in at this time or later; absent if the client did not say. */
  readonly signedInSince?: number;
  /** The artefact that says whom the page was shown to. */
  readonly shown: ArtefactKey;
}

const SHOWN = 'consent-shown';
/** As long as a request may be answered. */
const SHOWN_MS = 900_000;
const OTHER_PERSON =
  'This request was shown to another person, who was signed in here before. Check it again: it is for your account now.';

/** The page on which a person allows a client to act for them, or refuses it. */
export class ConsentPage {
  constructor(
    private readonly provider: Provider,
    private readonly parts: ConsentParts,
  ) {}

  async show(ctx: HttpContext): Promise<void> {
    const request = await this.requestOf(ctx);
    const signedIn = await this.parts.sessions.find(ctx);
    if (!signedIn || !this.isRecent(signedIn, request)) return signInFirst(ctx);
    await this.showForm(ctx, request, signedIn);
  }

  async answer(ctx: HttpContext): Promise<void> {
    const { sessions, publicUrl, bodyTimeoutMs } = this.parts;
    requireSameOrigin(ctx, publicUrl());
    // The form is asked for only if the request and the session exist. Both may end while it arrives.
    await this.requestOf(ctx);
    if (!(await sessions.find(ctx))) return signInFirst(ctx);
    const form = await readForm(ctx, { timeoutMs: bodyTimeoutMs, lists: ['scope'] });
    const request = await this.requestOf(ctx);
    const signedIn = await sessions.find(ctx);
    if (!signedIn) return signInFirst(ctx);
    if (form.get('decision') !== 'allow') {
      await refuseRequest(this.parts.context, signedIn.person, request.uid);
      return this.finish(ctx, { error: 'access_denied', error_description: 'The person refused the request.' });
    }
    if (!this.isRecent(signedIn, request)) return signInFirst(ctx);
    if (!(await this.wasShownTo(signedIn.person, request, form.get('person') ?? undefined)))
      return this.showForm(ctx, request, signedIn, OTHER_PERSON);
    try {
      await this.allow(ctx, request, signedIn.person, form);
    } catch (error) {
      if (!(error instanceof ServiceError) || error.code !== 'FIELD_INVALID') throw error;
      await this.showForm(ctx, request, signedIn, error.message);
    }
  }

  private async allow(ctx: HttpContext, request: Request, person: Person, form: URLSearchParams): Promise<void> {
    const { context } = this.parts;
    const { clientId, clientName, audience } = request;
    const capCredits = readCap(form.get('cap') ?? '');
    const { grantId } = await createGrant(context, person, {
      clientId,
      clientName,
      audience,
      asked: request.asked.scopes,
      ticked: form.getAll('scope'),
      requestId: request.uid,
      ...(capCredits === undefined ? {} : { capCredits }),
    });
    await noteClientUse(context, clientId);
    await this.finish(ctx, { login: { accountId: person.personId, remember: false }, consent: { grantId } });
  }

  /** A browser that somebody has left open must not be enough to connect a program. */
  private isRecent({ session }: SignedIn, { signedInSince = 0 }: Request): boolean {
    return isRecentSignIn(this.parts.context, session) && session.authenticatedAt >= signedInSince;
  }

  /** Whether this person is the one whom the form names, and whom the page was last shown to. */
  private async wasShownTo({ personId }: Person, { shown }: Request, named = personId): Promise<boolean> {
    const found = await this.parts.context.artefacts.find(shown);
    return named === personId && found?.owner === personId;
  }

  private async showForm(ctx: HttpContext, request: Request, { person }: SignedIn, fault?: string): Promise<void> {
    const { accounts, artefacts, clock } = this.parts.context;
    const { personId, accountId, email } = person;
    const account = await accounts.read(accountId, undefined, 'totals');
    if (!account) throw new ServiceError('NOT_FOUND', 'There is no such account any more.');
    const now = clock.now();
    const until = now + SHOWN_MS;
    await artefacts.put({
      ...request.shown,
      owner: personId,
      data: {},
      createdAt: now,
      expiresAt: until,
      removeAt: until,
    });
    const balance = `${numberText(ctx, account.available)} ${account.currency}`;
    await sendPage(ctx, {
      title: 'Connect a program',
      status: fault === undefined ? 200 : 422,
      redirectsAway: true,
      content: consentForm(ctx.state.target.path, request, { personId, email, name: account.name, balance }, fault),
    });
  }

  /** The request that this browser was sent here with. */
  private async requestOf(ctx: HttpContext): Promise<Request> {
    const { params, uid } = await this.provider.interactionDetails(ctx.req, ctx.res).catch((error: unknown) => {
      throw error instanceof errors.SessionNotFound ? expired() : error;
    });
    const clientId = textOf(params['client_id']);
    const client = await this.provider.Client.find(clientId);
    if (!client) throw expired();
    const { context, publicUrl, audiences } = this.parts;
    const redirectUri = params['redirect_uri'];
    const since = params[OWN_PARAMS.since];
    return {
      uid,
      clientId,
      clientName: clientNameOf(client),
      redirectUri: typeof redirectUri === 'string' ? redirectUri : undefined,
      audience: audienceOf(publicUrl(), textOf(params['resource']), audiences) ?? defaultAudience(audiences),
      asked: {
        scopes: knownScopes(textOf(params['scope'])),
        isDefault: params[OWN_PARAMS.isDefault] !== undefined,
      },
      ...(since === undefined ? {} : { signedInSince: Number(since) }),
      shown: secretKey(context, SHOWN, uid),
    };
  }

  private async finish(ctx: HttpContext, result: Parameters<Provider['interactionResult']>[2]): Promise<void> {
    const address = await this.provider.interactionResult(ctx.req, ctx.res, result).catch((error: unknown) => {
      // The browser has followed another answer to the request meanwhile.
      throw error instanceof errors.SessionNotFound || error instanceof errors.InvalidGrant ? expired() : error;
    });
    redirectTo(ctx, address);
  }
}

/** The person comes back here once they have signed in. */
function signInFirst(ctx: HttpContext): void {
  redirectTo(ctx, `/sign-in?return=${encodeURIComponent(ctx.state.target.path)}&again=1`);
}

function textOf(param: unknown): string {
  return typeof param === 'string' ? param : '';
}

function expired(): ServiceError {
  return new ServiceError(
    'NOT_FOUND',
    'This request is too old, was answered already, or began in another browser. Go back to the program and start again.',
  );
}

function readCap(text: string): number | undefined {
  const digits = text.trim();
  if (digits === '') return undefined;
  if (!/^\d{1,15}$/.test(digits)) throw fieldInvalid('/cap', 'A limit must be a whole number of credits.');
  return Number(digits);
}
