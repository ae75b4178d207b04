import { html } from 'hono/html';
import { DEFAULT_SCOPES, SCOPES, type Audience, type Scope } from '../../../core/access/credential.js';
import { alertIf, type Html } from '../pages/page.js';

export interface ConsentView {
  readonly action: string;
  readonly clientName: string;
  /** Where the answer goes: a host, a scheme of an installed program, or this machine. */
  readonly leadsTo: string;
  readonly email: string;
  readonly accountName: string;
  /** What the account can spend now. */
  readonly balance: string;
  readonly audience: Audience;
  readonly scopes: readonly Scope[];
  readonly fault?: string | undefined;
}

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

export function consentForm(view: ConsentView): Html {
  const { action, clientName, leadsTo, email, accountName, balance, audience, scopes, fault } = view;
  return html`${alertIf(fault)}
    <p>
      A program that calls itself <strong>${clientName}</strong> wants to use ${AUDIENCES[audience]} for you. Nobody has
      checked its name. Go on only if you have started this yourself.
    </p>
    <dl class="facts">
      <dt>Answer goes to</dt>
      <dd>${leadsTo}</dd>
      <dt>Signed in as</dt>
      <dd>${email}</dd>
      <dt>Account</dt>
      <dd>${accountName}</dd>
      <dt>Available</dt>
      <dd>${balance}</dd>
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
