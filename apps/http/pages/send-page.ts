import { html } from 'hono/html';
import type { ErrorRenderer, HttpContext } from '../host/http-context.js';
import { sendText } from '../host/send.js';
import type { HttpHandler } from '../host/routing.js';
import { alert, pageText, type Html, type PageOptions } from './page.js';

const PAGE_TYPE = 'text/html; charset=utf-8';

const POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self' data:",
  "connect-src 'self'",
  "frame-ancestors 'none'",
  "base-uri 'none'",
];

/** What a page may load and send besides what is its server's own. */
export interface PageSources {
  /** The origin of signed addresses of objects, where that is another one. */
  readonly objects: string | undefined;
}

/**
 * Headers of a page. The referrer stays within this server; without one at all, browsers send `Origin: null` with
 * forms.
 */
export const PAGE_HEADERS: Readonly<Record<string, string>> = {
  'Content-Security-Policy': [...POLICY, "form-action 'self'"].join('; '),
  'Referrer-Policy': 'same-origin',
  'Cache-Control': 'no-store',
};

/** Those of a page that shows pictures and videos, and sends files: to the object store, and to no other host. */
export function mediaPageHeaders({ objects }: PageSources): Readonly<Record<string, string>> {
  const where = objects === undefined ? "'self'" : `'self' ${objects}`;
  const sources = [`img-src ${where} data: blob:`, `media-src ${where}`, `connect-src ${where}`];
  const others = POLICY.filter((one) => !/^(img|connect)-src /.test(one));
  return { ...PAGE_HEADERS, 'Content-Security-Policy': [...others, ...sources, "form-action 'self'"].join('; ') };
}

/** Of a page with a form that may be answered with a redirect to another server, which `form-action` would block. */
const REDIRECTING_HEADERS = { ...PAGE_HEADERS, 'Content-Security-Policy': POLICY.join('; ') };

export interface SentPage extends PageOptions {
  readonly content: Html;
  readonly status?: number;
  /** Whether a form of the page may be answered with a redirect to another server. */
  readonly redirectsAway?: boolean;
}

export async function sendPage(
  ctx: HttpContext,
  { content, status = 200, redirectsAway = false, ...page }: SentPage,
): Promise<void> {
  ctx.set(redirectsAway ? REDIRECTING_HEADERS : PAGE_HEADERS);
  await sendText(ctx, status, { mediaType: PAGE_TYPE, text: pageText(page, content) });
}

/** A handler whose refusals are pages. */
export function asPage(serve: HttpHandler): HttpHandler {
  return async (ctx) => {
    ctx.state.renderError = (error) => {
      ctx.set(PAGE_HEADERS);
      return ERROR_PAGE(error);
    };
    await serve(ctx);
  };
}

const ERROR_PAGE: ErrorRenderer = ({ message, requestId }) => ({
  mediaType: PAGE_TYPE,
  text: pageText(
    { title: 'This did not work' },
    html`${alert(message)}
      <p><a href="/">Go to the start page</a></p>
      <p class="quiet">Request ${requestId}</p>`,
  ),
});

/** After a form was handled, the browser goes to an address of this server, and reloading sends nothing again. */
export function redirectTo(ctx: HttpContext, path: string): void {
  ctx.status = 303;
  ctx.res.setHeader('Location', path);
  ctx.res.setHeader('Cache-Control', 'no-store');
}
