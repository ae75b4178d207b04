import { fileURLToPath } from 'node:url';
import { html } from 'hono/html';
import { ServiceError } from '../../../core/errors.js';
import { fieldInvalid } from '../../../core/fields.js';
import { ownOrigins } from '../../config/network-address.js';
import type { ErrorRenderer, HttpContext } from '../host/http-context.js';
import { BuiltFiles } from '../host/built-files.js';
import { serveText } from '../host/pages.js';
import { readBytes } from '../host/request.js';
import { errorEnvelope, JSON_TYPE, sendText } from '../host/send.js';
import { createRouter, type HttpFront, type HttpHandler, type HttpRoute } from '../host/server.js';

/** Markup. Values in a template are escaped, unless they are markup themselves. */
export type Html = ReturnType<typeof html>;

export interface PageOptions {
  readonly title: string;
  /** URLs of this server's scripts, which load after the page. */
  readonly scripts?: readonly string[];
}

/** A whole page as text. */
export function pageText({ title, scripts = [] }: PageOptions, content: Html): string {
  const page = html`<!doctype html>
    <html lang="en">
      <head>
        <meta charset="utf-8" />
        <meta name="viewport" content="width=device-width, initial-scale=1" />
        <meta name="color-scheme" content="light dark" />
        <title>${title} · Darkroom</title>
        <link rel="icon" href="/assets/icon.svg" type="image/svg+xml" />
        <link rel="stylesheet" href="/assets/pages.css" />
        <script src="/assets/theme.js"></script>
        ${scripts.map((src) => html`<script type="module" src="${src}"></script>`)}
      </head>
      <body>
        <main>
          <p class="brand"><img src="/assets/icon.svg" alt="" width="20" height="20" />Darkroom</p>
          <h1>${title}</h1>
          ${content}
        </main>
      </body>
    </html>`;
  // Nothing in it is waited for, so it is a text, though an object of one.
  return (page as string).concat('\n');
}

/** One sentence that a screen reader announces when the page opens. */
export function alert(text: string): Html {
  return html`<p role="alert" class="alert">${text}</p>`;
}

/** Empty if there is no sentence. */
export function alertIf(text: string | undefined): Html {
  return text === undefined ? html`` : alert(text);
}

/** The icon of the pages as SVG: a lens. */
const PAGE_ICON = `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 20 20">
<rect width="20" height="20" rx="5" fill="#171717" stroke="#595959" stroke-width=".5"/>
<circle cx="10" cy="10" r="5" fill="none" stroke="#fff" stroke-width="1.6"/>
<circle cx="10" cy="10" r="2" fill="#f5a623"/>
</svg>
`;

/** The styles, fonts and the icon of all pages. The build makes them. */
export function pageAssets(): HttpFront {
  const files = new BuiltFiles(fileURLToPath(new URL('../../../pages/', import.meta.url)));
  const file = (name: string): HttpRoute => ({
    method: 'GET',
    path: `/${name}`,
    serve: (ctx) => files.send(ctx, name, 'checked'),
  });
  return () => [
    createRouter(
      [
        file('pages.css'),
        file('theme.js'),
        {
          method: 'GET',
          path: '/fonts/:file',
          serve: (ctx) => files.send(ctx, `fonts/${ctx.params['file'] ?? ''}`, 'hashed'),
        },
        serveText('/icon.svg', { 'Content-Type': 'image/svg+xml', 'Cache-Control': 'public, max-age=3600' }, PAGE_ICON),
      ],
      '/assets',
    ),
  ];
}

const PAGE_TYPE = 'text/html; charset=utf-8';

const POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "font-src 'self'",
  "img-src 'self' data:",
  "connect-src 'self'",
  "frame-ancestors 'none'",
  "base-uri 'none'",
];

/**
 * Headers of a page. The referrer stays within this server; without one at all, browsers send `Origin: null` with
 * forms.
 */
export const PAGE_HEADERS: Readonly<Record<string, string>> = {
  'Content-Security-Policy': [...POLICY, "form-action 'self'"].join('; '),
  'Referrer-Policy': 'same-origin',
  'Cache-Control': 'no-store',
};

/**
 * Those of a page that shows pictures and videos, and sends files: to the object store, and to no other host. `objects`
 * is the origin of signed addresses, where that is not this server's.
 */
export function mediaPageHeaders(objects: string | undefined): Readonly<Record<string, string>> {
  const where = objects === undefined ? "'self'" : `'self' ${objects}`;
  const sources = [`img-src ${where} data: blob:`, `media-src ${where}`, `connect-src ${where}`];
  const others = POLICY.filter((one) => !/^(img|connect)-src /.test(one));
  return { ...PAGE_HEADERS, 'Content-Security-Policy': [...others, ...sources, "form-action 'self'"].join('; ') };
}

/** Headers of a page whose form may lead to a redirect to another server, which `form-action` would block. */
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
function asPage(serve: HttpHandler): HttpHandler {
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

/** Makes a route of a page. */
export function pageRoute(method: HttpRoute['method'], path: string, serve: HttpHandler): HttpRoute {
  return { method, path, serve: asPage(serve) };
}

/** The path with its query. */
export function addressOf({ state }: HttpContext): string {
  const { path, query } = state.target;
  return query === '' ? path : `${path}?${query}`;
}

/** Whether a browser opens this page for a person, as it says itself. A program that follows addresses does not. */
export function isOpened({ req }: HttpContext): boolean {
  return req.headers['sec-fetch-mode'] === 'navigate';
}

const SOME_ORIGIN = 'http://host';
const MAX_LENGTH = 2_000;

/**
 * The address after a sign-in: a path of this server with its query. Anything else, such as an address of
 * another server in one of the spellings that browsers accept, is `/`.
 */
export function returnPath(text: string | undefined): string {
  if (text === undefined || text.length > MAX_LENGTH || !text.startsWith('/') || !URL.canParse(text, SOME_ORIGIN))
    return '/';
  const { origin, pathname, search, hash } = new URL(text, SOME_ORIGIN);
  // The parser has removed what browsers would: a path that begins with two slashes names a host to them.
  const path = pathname + search + hash;
  // Escaping makes the path longer.
  return origin === SOME_ORIGIN && !pathname.startsWith('//') && path.length <= MAX_LENGTH ? path : '/';
}

const FORM_TYPE = /^application\/x-www-form-urlencoded(?:[ \t]*;|$)/i;
const MAX_FORM_BYTES = 16 * 1024;
const MAX_FIELDS = 100;

/**
 * The fields of a form that a page of ours has sent. Throws MEDIA_TYPE_UNSUPPORTED, BODY_TOO_LARGE beyond 16 KiB,
 * REQUEST_TIMEOUT, and FIELD_INVALID for a field that is sent twice, unless it is one of `lists`.
 */
export async function readForm(
  { req }: Pick<HttpContext, 'req'>,
  { timeoutMs, lists = [] }: { readonly timeoutMs: number; readonly lists?: readonly string[] },
): Promise<URLSearchParams> {
  if (!FORM_TYPE.test(req.headers['content-type'] ?? ''))
    throw new ServiceError('MEDIA_TYPE_UNSUPPORTED', 'Send the form as application/x-www-form-urlencoded.');
  const bytes = await readBytes(req, { maxBytes: MAX_FORM_BYTES, timeoutMs });
  const form = new URLSearchParams(bytes.toString('utf8'));
  const names = [...form.keys()];
  if (names.length > MAX_FIELDS) throw fieldInvalid('', `A form may have at most ${MAX_FIELDS} fields.`);
  const twice = names.find((name, index) => !lists.includes(name) && names.indexOf(name) !== index);
  if (twice !== undefined) throw fieldInvalid(`/${twice}`, 'A field of the form was sent twice.');
  return form;
}

const OTHERWISE = 'en';

/** A number as the reader writes it: by the first language that their browser asks for and that is known here. */
export function numberText({ req }: Pick<HttpContext, 'req'>, value: number): string {
  return new Intl.NumberFormat(localeOf(req.headers['accept-language'] ?? '')).format(value);
}

function localeOf(acceptLanguage: string): string {
  for (const part of acceptLanguage.slice(0, 200).split(',')) {
    const tag = part.split(';')[0]?.trim() ?? '';
    if (isKnown(tag)) return tag;
  }
  return OTHERWISE;
}

function isKnown(tag: string): boolean {
  try {
    return Intl.NumberFormat.supportedLocalesOf(tag).length > 0;
  } catch {
    return false;
  }
}

/**
 * Refuses a request that changes something unless a page of this server made the browser send it: browsers send cookies
 * with requests of other pages too. Throws ORIGIN_REFUSED, also for a client that names no origin at all.
 */
export function requireSameOrigin({ req }: Pick<HttpContext, 'req'>, publicUrl: string): void {
  const { origin, 'sec-fetch-site': site } = req.headers;
  if (origin === undefined ? site !== 'same-origin' : !ownOrigins(publicUrl).includes(origin))
    throw new ServiceError('ORIGIN_REFUSED', `This can be done from a page of ${new URL(publicUrl).origin} only.`);
}

/**
 * Renders errors for scripts of our pages. A session is not a bearer token, so a 401 has no challenge. The pointer names
 * the field, so that the page can show the message there.
 */
export const withoutChallenge: ErrorRenderer = ({ requestId, code, message, pointer }) => ({
  mediaType: JSON_TYPE,
  text: errorEnvelope(requestId, code, message, { pointer }),
});
