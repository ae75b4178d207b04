import { html } from 'hono/html';
import { alert, alertIf, type Html } from '../pages/page.js';

export interface SignInView {
  /** Where the person goes on afterwards. */
  readonly returnTo: string;
  readonly email?: string;
  readonly fault?: string | undefined;
  /** The name of the outside provider, where one is configured. */
  readonly provider?: string | undefined;
  /** Whether browsers can use passkeys at this address. */
  readonly hasPasskeys: boolean;
}

export function signInForm({ returnTo, email = '', fault, provider, hasPasskeys }: SignInView): Html {
  return html`${alertIf(fault)}
    <form method="post" action="/sign-in">
      <input type="hidden" name="return" value="${returnTo}" />
      <label>
        E-mail address
        <input type="email" name="email" value="${email}" autocomplete="username" required maxlength="254" />
      </label>
      <label>
        Password
        <input type="password" name="password" autocomplete="current-password" required maxlength="256" />
      </label>
      <button type="submit">Sign in</button>
    </form>
    ${hasPasskeys ? passkeyButton(returnTo) : ''} ${provider === undefined ? '' : providerLink(provider, returnTo)}
    <p class="quiet">Without a password, or with a lost one: ask the operator of this service for a sign-in link.</p>`;
}

/** Shown by the script that can use it, which also puts faults there. */
function passkeyButton(returnTo: string): Html {
  return html`<div id="passkey" hidden>
    <p>
      <button type="button" class="secondary outline wide" data-return="${returnTo}">Sign in with a passkey</button>
    </p>
    <p role="alert" class="alert"></p>
  </div>`;
}

function providerLink(provider: string, returnTo: string): Html {
  const address = `/sign-in/provider?return=${encodeURIComponent(returnTo)}`;
  return html`<p><a role="button" class="secondary outline wide" href="${address}">Sign in with ${provider}</a></p>`;
}

export function linkForm(action: string): Html {
  return html`<form method="post" action="${action}">
    <p>This link signs you in once. It does nothing until you press the button.</p>
    <button type="submit">Sign in</button>
  </form>`;
}

export function linkOver(): Html {
  return html`${alert('This sign-in link was used already, or is too old.')}
    <p>Ask the operator of this service for another one, or <a href="/sign-in">sign in with your password</a>.</p>`;
}

export function providerFault(name: string, text: string): Html {
  return html`${alert(text)}
    <p><a href="/sign-in">Sign in another way</a>. To use ${name}, connect it on your account page first.</p>`;
}
