import { html } from 'hono/html';
import type { KoaContextWithOIDC } from 'oidc-provider';
import { alert, alertIf, pageText, type Html } from '../pages/page.js';
import { PAGE_HEADERS } from '../pages/send-page.js';

/** The code of a link, by the request that followed it: the person still confirms it. */
const PREFILLED = new WeakMap<object, string>();
const USER_CODE = /^[A-Za-z0-9-]{1,20}$/;

/** Shows this code in the form that the request gets. */
export function prefillUserCode(req: object, userCode: string): void {
  if (USER_CODE.test(userCode)) PREFILLED.set(req, userCode);
}

export async function errorPage(
  ctx: KoaContextWithOIDC,
  {
    error,
    error_description: description,
  }: { readonly error: string; readonly error_description?: string | undefined },
): Promise<void> {
  const text = error === 'server_error' ? 'Something went wrong on our side.' : (description ?? error);
  show(
    ctx,
    'This did not work',
    html`${alert(text)}
      <p>Go back to the program that sent you here, and start again. It is told as <code>${error}</code>.</p>`,
  );
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
        <strong>${client.clientName ?? client.clientId}</strong> asks to be connected. Go on only if your device shows
        this code, and you have it before you:
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
