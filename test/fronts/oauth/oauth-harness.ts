import { createHash, randomBytes } from 'node:crypto';
import { ScryptHasher } from '../../../adapters/system/scrypt-hasher.js';
import type { RestLimits } from '../../../apps/http/http-fronts.js';
import type { HttpFrontsOptions } from '../../harness/http-fronts.js';
import { createAccount } from '../../../core/access/manage.js';
import { grantCredits } from '../../../core/credits/operate.js';
import type { Log } from '../../../core/log.js';
import { createPerson } from '../../../core/people/manage-people.js';
import type { Person } from '../../../core/people/person.js';
import type { ArtefactStore } from '../../../core/ports/stores.js';
import type { Ports } from '../../../core/ports/ports.js';
import type { Settings } from '../../../core/settings.js';
import { SILENT } from '../../fixtures/memory-stores.js';
import { openServiceHarness, type ServiceHarness } from '../../harness/service-harness.js';
import { TestBrowser, type TestPage } from '../../harness/test-browser.js';
import { type RunningServer, serve } from '../http/host/rest-client.js';

export const PASSWORD = 'correct horse battery';
export const REDIRECT = 'http://127.0.0.1:3999/callback';
const CREDITS = 1_000;

export interface Tokens {
  readonly access_token: string;
  readonly refresh_token: string;
  readonly token_type: string;
  readonly expires_in: number;
  readonly scope: string;
}

export interface Answer {
  readonly status: number;
  readonly body: Record<string, unknown>;
  readonly headers: Headers;
}

/** A client's authorization request, with the verifier that proves its identity afterwards. */
export interface AuthorizationRequest {
  readonly path: string;
  readonly verifier: string;
  readonly state: string;
}

/** The whole service with its HTTP fronts, one account with credits and one person. */
export class OAuthHarness {
  private constructor(
    readonly harness: ServiceHarness,
    private readonly running: RunningServer,
    readonly person: Person,
    /** The public address of the service. */
    private readonly publicUrl: (() => string) | undefined,
  ) {}

  /** `storeDelayMs`: how long each read and write of an artefact takes. */
  static async open(
    options: Partial<Omit<HttpFrontsOptions, 'limits'>> = {},
    {
      storeDelayMs = 0,
      settings = {},
      log = SILENT,
      limits = {},
      ports: replaced = {},
    }: {
      readonly storeDelayMs?: number;
      readonly settings?: Partial<Settings>;
      readonly log?: Log;
      readonly limits?: Partial<RestLimits>;
      readonly ports?: Partial<Ports>;
    } = {},
  ): Promise<OAuthHarness> {
    const passwords = new ScryptHasher({ cost: { n: 16, r: 8, p: 1 } });
    const around = (ports: Ports): Ports => ({ ...ports, artefacts: delayed(ports.artefacts, storeDelayMs) });
    const harness = await openServiceHarness({ ports: { passwords, ...replaced }, around, settings, log });
    let isOpen = false;
    const { publicUrl } = options;
    // A test's own address is often that of this harness, which is known once it is open.
    const known = publicUrl && { publicUrl: () => (isOpen ? publicUrl() : 'http://127.0.0.1') };
    const running = await serve(harness, { ...options, ...known, limits });
    const { context } = harness;
    const { accountId } = await createAccount(context, { name: 'an account' });
    await grantCredits(context, { accountId, operationId: 'first', credits: CREDITS, reason: 'to test with' });
    const person = await createPerson(context, { accountId, email: 'ada@example.com', password: PASSWORD });
    isOpen = true;
    return new OAuthHarness(harness, running, person, publicUrl);
  }

  get origin(): string {
    return this.running.origin;
  }

  async close(): Promise<void> {
    await this.running.server.close(0);
    await this.harness.close();
  }

  async signedIn(email = 'ada@example.com'): Promise<TestBrowser> {
    const browser = new TestBrowser(this.origin);
    await browser.submit('/sign-in', { email, password: PASSWORD });
    return browser;
  }

  async register(metadata: object = {}): Promise<string> {
    const { body } = await this.post('/oauth/register', {
      client_name: 'a client',
      redirect_uris: [REDIRECT],
      ...metadata,
    });
    return String(body['client_id']);
  }

  /** Names REST as the resource, unless `params` name another one, or none. */
  request(clientId: string, params: Readonly<Record<string, string | undefined>> = {}): AuthorizationRequest {
    const verifier = randomBytes(32).toString('base64url');
    const state = randomBytes(8).toString('hex');
    const query = {
      client_id: clientId,
      redirect_uri: REDIRECT,
      response_type: 'code',
      code_challenge: createHash('sha256').update(verifier).digest('base64url'),
      code_challenge_method: 'S256',
      state,
      resource: `${this.publicUrl?.() ?? this.origin}/api/v1/developer`,
      ...params,
    };
    const named = Object.entries(query).filter((entry): entry is [string, string] => entry[1] !== undefined);
    return { path: `/oauth/authorize?${new URLSearchParams(named).toString()}`, verifier, state };
  }

  /** Allows what a page of consent asks for, all of it unless said otherwise. Answers where the browser was sent. */
  async allow(
    browser: TestBrowser,
    page: TestPage,
    fields: Readonly<Record<string, string | readonly string[]>> = {},
  ): Promise<URL> {
    const scope = [...page.text.matchAll(/name="scope" value="([^"]*)"/g)].map(([, value = '']) => value);
    const answer = await browser.submit(new URL(page.url).pathname, { scope, decision: 'allow', ...fields });
    return new URL(answer.headers.get('location') ?? answer.url);
  }

  /** The whole dance of a client, up to its tokens. */
  async connect(
    browser: TestBrowser,
    clientId: string,
    params: Readonly<Record<string, string | undefined>> = {},
    fields: Readonly<Record<string, string | readonly string[]>> = {},
  ): Promise<Tokens> {
    const { path, verifier } = this.request(clientId, params);
    const callback = await this.allow(browser, await browser.open(path), fields);
    const { body, status } = await this.exchange(clientId, callback.searchParams.get('code') ?? '', verifier);
    if (status !== 200) throw new Error(`No tokens: ${JSON.stringify(body)} at ${callback.href}`);
    return body as unknown as Tokens;
  }

  exchange(clientId: string, code: string, verifier: string, redirectUri = REDIRECT): Promise<Answer> {
    return this.token({
      grant_type: 'authorization_code',
      client_id: clientId,
      code,
      code_verifier: verifier,
      redirect_uri: redirectUri,
    });
  }

  refresh(clientId: string, refreshToken: string, more: Readonly<Record<string, string>> = {}): Promise<Answer> {
    return this.token({ grant_type: 'refresh_token', client_id: clientId, refresh_token: refreshToken, ...more });
  }

  token(fields: Readonly<Record<string, string>>, path = '/oauth/token'): Promise<Answer> {
    return this.send(
      path,
      { 'Content-Type': 'application/x-www-form-urlencoded' },
      new URLSearchParams(fields).toString(),
    );
  }

  post(path: string, body: object, headers: Record<string, string> = {}): Promise<Answer> {
    return this.send(path, { 'Content-Type': 'application/json', ...headers }, JSON.stringify(body));
  }

  /** Asks the developer API with a credential. */
  async call(
    credential: string,
    path = '/api/v1/developer/credits',
    headers: Record<string, string> = {},
  ): Promise<Answer> {
    const response = await fetch(this.origin + path, {
      headers: { Authorization: `Bearer ${credential}`, ...headers },
    });
    return {
      status: response.status,
      body: (await response.json()) as Record<string, unknown>,
      headers: response.headers,
    };
  }

  private async send(path: string, headers: Record<string, string>, body: string): Promise<Answer> {
    const response = await fetch(this.origin + path, { method: 'POST', headers, body });
    const text = await response.text();
    return {
      status: response.status,
      body: (text === '' ? {} : JSON.parse(text)) as Record<string, unknown>,
      headers: response.headers,
    };
  }
}

/** A store whose answers take a while on their way, as those of a server do. */
function delayed(store: ArtefactStore, delayMs: number): ArtefactStore {
  if (delayMs === 0) return store;
  return new Proxy(store, {
    get(target, name: keyof ArtefactStore) {
      const method = target[name].bind(target) as (...given: unknown[]) => Promise<unknown>;
      return async (...given: unknown[]) => {
        const answer = await method(...given);
        await new Promise((resolve) => {
          setTimeout(resolve, delayMs);
        });
        return answer;
      };
    },
  });
}
