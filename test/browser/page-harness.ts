import { expect } from 'chai';
import { randomBytes } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Browser, BrowserContext, BrowserContextOptions, Page } from 'playwright-core';
import { FileObjectStore } from '../../adapters/files/file-object-store.js';
import type { SignedObjectGate } from '../../adapters/signed-object-gate.js';
import { SystemClock } from '../../adapters/system/system-clock.js';
import type { HttpFrontsOptions } from '../harness/http-fronts.js';
import type { Person } from '../../core/people/person.js';
import { beginSession, type NewSession } from '../../core/people/sessions.js';
import type { Catalog, CatalogSource } from '../../core/ports/catalog.js';
import type { ObjectStore } from '../../core/ports/object-store.js';
import type { WebhookSender } from '../../core/ports/outside.js';
import type { Providers } from '../../core/ports/provider.js';
import { OAuthHarness, PASSWORD } from '../fronts/oauth/oauth-harness.js';
import { orSkip } from '../servers/server-absent.js';
import { startChromium } from './chromium.js';

export const EMAIL = 'ada@example.com';

export interface PageHarnessOptions extends Partial<Omit<HttpFrontsOptions, 'limits'>> {
  readonly webhookSender?: WebhookSender;
  readonly providers?: Providers;
  readonly catalog?: Catalog;
  /** The file that operators see; none when absent. */
  readonly catalogSource?: CatalogSource;
  /** The object store; files on this machine when absent. */
  readonly store?: ObjectStore;
  /** Whether the public address has the number of this machine, as that of the first start; pages are opened under its name. */
  readonly hasNumber?: boolean;
  /** Serves signed addresses at another origin than that of the pages, which it answers. */
  readonly elsewhere?: (gate: SignedObjectGate) => Promise<string>;
}

/** One service with its pages under the name localhost, and one browser. */
export class PageHarness {
  private constructor(
    readonly service: OAuthHarness,
    private readonly browser: Browser,
    private readonly folder: string,
  ) {}

  /** Throws `ServerAbsent` where there is no browser. */
  static async open({
    elsewhere,
    webhookSender,
    providers,
    catalog,
    catalogSource,
    store,
    hasNumber = false,
    ...options
  }: PageHarnessOptions = {}): Promise<PageHarness> {
    const browser = await startChromium();
    const folder = await mkdtemp(join(tmpdir(), 'darkroom-pages-'));
    const publicUrl = () => (hasNumber ? service.origin : underName(service.origin));
    const objects = await FileObjectStore.open({
      folder,
      publicBaseUrl: () => objectsOrigin ?? publicUrl(),
      secret: randomBytes(32),
      clock: new SystemClock(),
    });
    const objectsOrigin = await elsewhere?.(objects.signedObjects);
    const service = await OAuthHarness.open(
      {
        mcp: { confirmAboveCredits: 100 },
        signedObjects: objects.signedObjects,
        ...options,
        publicUrl,
      },
      {
        ports: {
          objects: store ?? objects,
          ...(webhookSender === undefined ? {} : { webhookSender }),
          ...(providers === undefined ? {} : { providers }),
          ...(catalog === undefined ? {} : { catalog }),
          ...(catalogSource === undefined ? {} : { catalogSource }),
        },
      },
    );
    const pages = new PageHarness(service, browser, folder);
    if (objectsOrigin !== undefined) pages.otherOrigins.push(objectsOrigin);
    return pages;
  }

  async close(): Promise<void> {
    await this.browser.close();
    await this.service.close();
    await rm(this.folder, { recursive: true, force: true });
  }

  /** Other origins that pages may send requests to. */
  readonly otherOrigins: string[] = [];

  get origin(): string {
    return underName(this.service.origin);
  }

  /** A browser without cookies or storage. Errors in its pages are in `faults`. */
  async newVisitor(options: BrowserContextOptions = {}): Promise<Visitor> {
    const context = await this.browser.newContext({ baseURL: this.origin, ...options });
    context.setDefaultTimeout(20_000);
    const faults: string[] = [];
    context.on('console', (message) => {
      if (message.type() === 'error' && !isNetwork(message.text())) faults.push(message.text());
    });
    context.on('weberror', (error) => faults.push(error.error().message));
    context.on('request', (request) => {
      const url = request.url();
      const isKnown = [this.origin, 'blob:', ...this.otherOrigins].some((known) => url.startsWith(known));
      if (!isKnown) faults.push(`a request to ${request.url()}`);
    });
    return { context, page: await context.newPage(), faults };
  }

  /** Signs in by the form that the page shows. A person can do it ten times; then it is slowed down. */
  async signInByForm({ page }: Pick<Visitor, 'page'>, path = '/'): Promise<void> {
    await page.goto(path);
    await page.getByLabel('E-mail address').fill(EMAIL);
    await page.getByLabel('Password').fill(PASSWORD);
    await page.getByRole('button', { name: 'Sign in', exact: true }).click();
    await page.waitForURL((url) => !url.pathname.startsWith('/sign-in'));
  }

  /** Opens a page as the person who is signed in. */
  async openSignedIn(
    { page, context }: Pick<Visitor, 'page' | 'context'>,
    path = '/',
    person: Person = this.service.person,
    proof: Omit<NewSession, 'userAgent'> = { method: 'password' },
  ): Promise<void> {
    const { harness } = this.service;
    const current = (await harness.context.people.read(person.personId)) ?? person;
    const { secret: value } = await beginSession(harness.context, current, { ...proof, userAgent: 'a test' });
    await context.addCookies([{ name: 'darkroom_session', value, url: this.origin, httpOnly: true, sameSite: 'Lax' }]);
    await page.goto(path);
  }
}

/**
 * The pages of one service for the tests of a suite, which are skipped where there is no browser. Each test has a new
 * visitor, whose pages must not have an error.
 */
export function openPages(visit: (visitor: Visitor) => unknown, options: PageHarnessOptions = {}): () => PageHarness {
  let pages: PageHarness | undefined;
  let visitor: Visitor;
  before(async function open() {
    pages = await orSkip(this, PageHarness.open(options));
  });
  after(() => pages?.close());
  const harness = () => pages as PageHarness;
  beforeEach(async () => {
    visitor = await harness().newVisitor();
    visit(visitor);
  });
  afterEach(async function close() {
    if (this.currentTest?.state === 'failed') await describePages(visitor.context);
    await visitor.context.close();
    expect(visitor.faults).to.deep.equal([]);
  });
  return harness;
}

/** The answer of a service with an internal error, for `Route.fulfill`. */
export const INTERNAL_ERROR = {
  status: 500,
  json: { success: false, code: 'INTERNAL_ERROR', message: 'Internal error.', request_id: 'a-request' },
} as const;

/** Prints what each page shows, so that a failure in CI can be understood. */
async function describePages(context: BrowserContext): Promise<void> {
  for (const page of context.pages()) {
    const text = await page.evaluate<string>('document.body.innerText').catch(String);
    console.log(`The failed test left ${page.url()} with:\n${text}\n`);
  }
}

export interface Visitor {
  readonly context: BrowserContext;
  readonly page: Page;
  readonly faults: readonly string[];
}

/** A refused request is the page's to handle. */
function isNetwork(text: string): boolean {
  return text.startsWith('Failed to load resource');
}

function underName(origin: string): string {
  return origin.replace('127.0.0.1', 'localhost');
}

/** So many pictures of a page are drawn in some seconds. */
const MAX_TRIES = 300;

/** The name of the focused element. */
const FOCUSED = `(() => {
  const { activeElement: at } = document;
  return at.getAttribute('aria-label') ?? at.labels?.[0]?.textContent ?? at.textContent.trim();
})()`;

/** Waits until the element with this name has the focus. */
export async function focusOn(page: Page, name: string): Promise<void> {
  let found = '';
  for (let tries = 0; tries < MAX_TRIES && found !== name; tries += 1) {
    found = await page.evaluate<string>(`new Promise(requestAnimationFrame).then(() => ${FOCUSED})`);
  }
  expect(found).to.equal(name);
}

/**
 * Waits until an expression is true in the page; the test's own time limit is the bound. The page's content security
 * policy forbids polling inside the page.
 */
export async function untilInPage(page: Page, expression: string): Promise<void> {
  while (!(await page.evaluate<boolean>(`new Promise(requestAnimationFrame).then(() => Boolean(${expression}))`)));
}

/** Waits until the picture that a selector finds is there, with this width in pixels. */
export function pictureOf(page: Page, selector: string, widthPx: number): Promise<void> {
  return untilInPage(page, `document.querySelector(${JSON.stringify(selector)})?.naturalWidth === ${widthPx}`);
}

/**
 * Waits until the picture that a selector finds is drawn from a thumbnail. Browsers say of such a picture how wide it is shown,
 * and not how wide its file is.
 */
export function thumbnailOf(page: Page, selector: string): Promise<void> {
  const image = `document.querySelector(${JSON.stringify(selector)})`;
  return untilInPage(page, `${image}?.naturalWidth > 0 && ${image}.currentSrc.includes('/thumbnails/')`);
}

/** Presses Tab until something has the focus. Fails after a hundred. */
export async function tabTo(page: Page, name: string): Promise<void> {
  for (let presses = 0; presses < 100; presses += 1) {
    if ((await page.evaluate<string>(FOCUSED)) === name) return;
    await page.keyboard.press('Tab');
  }
  expect.fail(`Tab never reaches "${name}".`);
}
