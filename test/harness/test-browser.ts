/** A page as a browser without scripts sees it. */
export interface TestPage {
  readonly status: number;
  readonly headers: Headers;
  /** Its address, after redirects within the server. */
  readonly url: string;
  readonly text: string;
}

const MAX_REDIRECTS = 10;

/**
 * Handles cookies, redirects and forms as a browser does, without scripts. Redirects that leave the server are not
 * followed: the page then contains the `Location`.
 */
export class TestBrowser {
  private readonly cookies = new Map<string, { readonly value: string; readonly path: string }>();

  constructor(readonly origin: string) {}

  open(path: string, headers: Record<string, string> = {}): Promise<TestPage> {
    return this.load('GET', path, { 'Sec-Fetch-Site': 'none', ...headers });
  }

  /** Sends a form of one of the server's pages. A list contains several values of one name. */
  submit(
    path: string,
    fields: Readonly<Record<string, string | readonly string[]>>,
    headers: Record<string, string> = {},
  ): Promise<TestPage> {
    const form = new URLSearchParams();
    for (const [name, value] of Object.entries(fields))
      for (const one of typeof value === 'string' ? [value] : value) form.append(name, one);
    const sent = { 'Origin': this.origin, 'Content-Type': 'application/x-www-form-urlencoded', ...headers };
    return this.load('POST', path, sent, form.toString());
  }

  /** Sends JSON, as a script on one of the server's pages does. */
  post(path: string, body: object, headers: Record<string, string> = {}): Promise<TestPage> {
    const sent = { 'Origin': this.origin, 'Content-Type': 'application/json', ...headers };
    return this.load('POST', path, sent, JSON.stringify(body));
  }

  /** The cookies that a browser would send for a path. */
  cookieHeader(path: string): string {
    return [...this.cookies]
      .filter(([, cookie]) => path.startsWith(cookie.path))
      .map(([name, { value }]) => `${name}=${value}`)
      .join('; ');
  }

  setCookie(name: string, value: string): void {
    this.cookies.set(name, { value, path: '/' });
  }

  private async load(
    method: 'GET' | 'POST',
    path: string,
    headers: Record<string, string>,
    body?: string,
    redirects = 0,
  ): Promise<TestPage> {
    const url = new URL(path, this.origin);
    const cookie = this.cookieHeader(url.pathname);
    const response = await fetch(url, {
      method,
      redirect: 'manual',
      headers: { Accept: 'text/html', ...headers, ...(cookie === '' ? {} : { Cookie: cookie }) },
      ...(body === undefined ? {} : { body }),
    });
    for (const line of response.headers.getSetCookie()) this.keep(line);
    const location = response.headers.get('location');
    const text = await response.text();
    const target = location === null ? undefined : new URL(location, url);
    if (target?.origin !== this.origin || redirects === MAX_REDIRECTS)
      return { status: response.status, headers: response.headers, url: url.href, text };
    return this.load('GET', target.href, { 'Sec-Fetch-Site': 'same-origin' }, undefined, redirects + 1);
  }

  private keep(line: string): void {
    const [pair = '', ...attributes] = line.split(';').map((part) => part.trim());
    const [name = '', value = ''] = pair.split('=');
    const path = attributes.find((one) => /^path=/i.test(one))?.slice('path='.length) ?? '/';
    const isOver = attributes.some((one) => /^expires=Thu, 01 Jan 1970|^max-age=0$/i.test(one));
    if (isOver || value === '') this.cookies.delete(name);
    else this.cookies.set(name, { value, path });
  }
}

/** The hidden fields of the first form of a page, unescaped. */
export function hiddenFields({ text }: TestPage): Readonly<Record<string, string>> {
  const inputs = [...text.matchAll(/<input type="hidden" name="([^"]*)" value="([^"]*)"/g)];
  return Object.fromEntries(inputs.map(([, name = '', value = '']) => [name, value.replaceAll('&amp;', '&')]));
}
