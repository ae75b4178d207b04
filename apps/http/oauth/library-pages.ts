import { html } from 'hono/html';
import type { KoaContextWithOIDC } from 'oidc-provider';
import { clientNameOf } from '../pages/connected-program.js';
import { alert, alertIf, type Html, PAGE_HEADERS, pageText } from '../pages/page.js';
import { isLoopback, ownerOf } from './registration.js';
import { ENDPOINTS } from './metadata.js';

/** The code of a link, by the request that followed it: the person still confirms it. */
const PREFILLED = new WeakMap<object, string>();
const USER_CODE = /^[A-Za-z0-9-]{1,20}$/;

/** Shows this code in the form that the request gets. */
export function prefillUserCode(req: object, userCode: string): void {
  if (USER_CODE.test(userCode)) PREFILLED.set(req, userCode);
}

export const REFUSAL_TITLE = 'This did not work';

export async function errorPage(
  ctx: KoaContextWithOIDC,
  {
    error,
    error_description: description,
  }: { readonly error: string; readonly error_description?: string | undefined },
): Promise<void> {
  show(ctx, REFUSAL_TITLE, refusal(error, description));
}

/** What a person reads whose program sent a request that cannot be answered, without a way back to any address. */
export function refusal(error: string, description: string | null | undefined): Html {
  return html`${alert(sentenceOf(error, description))}
    <p>Go back to the program that sent you here, and start again. The error code is <code>${error}</code>.</p>`;
}

/**
 * Shows a page instead of a response that would redirect the browser before the person has done anything: anyone may
 * register a client, so a link to this server could lead to any address (RFC 9700, 4.11.2). A program that waits on
 * the person's computer is redirected to immediately. No other address is named or linked to than one that the client
 * has registered.
 */
export async function showBeforeRedirect(ctx: KoaContextWithOIDC, next: () => Promise<void>): Promise<void> {
  await next();
  const address = ctx.response.get('Location');
  // Redirects to our own pages have a path without an origin, which cannot be parsed as a URL.
  if (ctx.path !== ENDPOINTS.authorization || !URL.canParse(address)) return;
  const { searchParams } = new URL(address);
  const error = searchParams.get('error') ?? 'server_error';
  const description = searchParams.get('error_description');
  const isKnown = isRegistered(ctx, address);
  if (isKnown && isLoopback(address)) return;
  ctx.remove('Location');
  ctx.status = 400;
  show(ctx, REFUSAL_TITLE, isKnown ? wayBack(address, error, description) : refusal(error, description));
}

function wayBack(address: string, error: string, description: string | null): Html {
  return html`${alert(sentenceOf(error, description))}
    <p>
      A program sent you here with a request that cannot be answered. Its address is that of
      <strong>${ownerOf(address)}</strong>, and nobody has checked it.
    </p>
    <p>
      <a href="${address}">Go back to it with the error <code>${error}</code></a>
    </p>`;
}

/**
 * Whether a response leads to the address of the request, and the client has registered that. A client with an address
 * that is not accepted any more is not known here.
 */
function isRegistered({ oidc }: KoaContextWithOIDC, address: string): boolean {
  const { client, params = {} } = oidc;
  const { redirect_uri: uri } = params;
  if (client === undefined || typeof uri !== 'string' || !client.redirectUriAllowed(uri)) return false;
  const registered = new URL(uri);
  const target = new URL(address);
  return (['protocol', 'host', 'pathname'] as const).every((part) => target[part] === registered[part]);
}

/** The library's descriptions have neither a capital nor a full stop. Some begin with the name of a parameter, which stays as it is. */
function sentenceOf(error: string, description: string | null | undefined): string {
  if (error === 'server_error') return 'Something went wrong on our side.';
  // The library's words for a client_id that is not registered, or not any more.
  if (error === 'invalid_client' && description === 'client is invalid')
    return 'This service does not know the program. Remove the connection in the program, and add it again.';
  const text = (description ?? error).replace(/^[a-z](?=[a-z]* )/, (first) => first.toUpperCase());
  return `${text.replace(/\.$/, '')}.`;
}

export async function deviceCodeForm(
  ctx: KoaContextWithOIDC,
  _form: string,
  _out?: unknown,
  fault?: Error & { readonly userCode?: string },
): Promise<void> {
  const sentence = fault && (FAULTS[fault.name] ?? 'The request could not be completed.');
  show(
    ctx,
    'Connect a device',
    html`${alertIf(sentence)}
      <form method="post" action="/oauth/device">
        <input type="hidden" name="xsrf" value="${xsrfOf(ctx)}" />
        <label>
          The code that your device shows
          <input
            name="user_code"
            value="${fault?.userCode ?? PREFILLED.get(ctx.req) ?? ''}"
            autocomplete="off"
            autocapitalize="characters"
            spellcheck="false"
            required
            maxlength="20"
          />
        </label>
        <button type="submit">Continue</button>
      </form>`,
  );
}

const FAULTS: Readonly<Record<string, string>> = {
  NoCodeError: 'Enter the code that your device shows.',
  NotFoundError: 'There is no such code. Check what your device shows.',
  ExpiredError: 'This code is too old. Have your device show another one.',
  AlreadyUsedError: 'This code was used already. Have your device show another one.',
  AbortedError: 'The request was refused. Your device is told.',
};

export async function deviceConfirmForm(
  ctx: KoaContextWithOIDC,
  _form: string,
  client: { readonly clientName?: string | undefined; readonly clientId: string },
  _deviceInfo: unknown,
  userCode: string,
): Promise<void> {
  show(
    ctx,
    'Connect a device',
    html`<p>
        <strong>${clientNameOf(client)}</strong> asks to be connected. Continue only if your device shows this code, and
        you have it before you:
      </p>
      <p><code>${userCode}</code></p>
      <form method="post" action="/oauth/device">
        <input type="hidden" name="xsrf" value="${xsrfOf(ctx)}" />
        <input type="hidden" name="user_code" value="${userCode}" />
        <div class="split">
          <button type="submit" name="abort" value="yes" class="secondary">Cancel</button>
          <button type="submit" name="confirm" value="yes">The code is the same</button>
        </div>
      </form>`,
  );
}

export async function deviceDone(ctx: KoaContextWithOIDC): Promise<void> {
  show(ctx, 'The device is connected', html`<p>You can close this page and go on at your device.</p>`);
}

/** The library compares it with what it kept for this browser. */
function xsrfOf(ctx: KoaContextWithOIDC): string {
  return (ctx.oidc.session as { readonly state?: { readonly secret?: string } } | undefined)?.state?.secret ?? '';
}

function show(ctx: KoaContextWithOIDC, title: string, content: Html): void {
  ctx.set(PAGE_HEADERS);
  ctx.type = 'html';
  ctx.body = pageText({ title }, content);
}
