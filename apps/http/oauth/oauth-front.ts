import type { AsyncLocalStorage } from 'node:async_hooks';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Logger } from 'pino';
import type { HttpContext } from '../host/http-context.js';
import { loadOnce } from '../host/pages.js';
import { createRouter, type HttpFront, type HttpHandler, type HttpRoute } from '../host/server.js';
import { RequestRates } from '../pages/browser-sessions.js';
import { browserUrl, originOf, ownOrigins } from '../../config/network-address.js';
import { addressOf, isOpened, pageRoute, redirectTo, sendPage } from '../pages/page.js';
import type { AuthorizationServerOptions, ClientDocumentFetch } from './authorization-server.js';
import type { ConsentPage, ConsentParts } from './consent-page.js';
import { refusal, REFUSAL_TITLE } from './library-pages.js';
import { ENDPOINTS, metadataRouter } from './metadata.js';
import { oauthErrors, registrationRouter } from './registration.js';
import { readAuthorizationRequest, withReadForm } from './requests.js';

export interface OAuthOptions extends ConsentParts {
  readonly logger: Logger;
  /** Whether clients may register themselves (RFC 7591). */
  readonly hasRegistration: boolean;
  readonly fetchClientDocument?: ClientDocumentFetch | undefined;
}

/** The OAuth server, its consent and device pages, and its public documents. */
export function oauth(options: OAuthOptions): HttpFront {
  return ({ addresses }) => {
    const { publicUrl, hasRegistration } = options;
    const server = new LazyServer({ ...options, addressOf: (req) => addresses.ofRequest(req) });
    const rates = new RequestRates(addresses);
    const toLibrary = (path: string, take: (ctx: HttpContext) => Promise<void>): HttpRoute => ({
      method: 'any',
      path,
      serve: async (ctx) => {
        ctx.state.renderError = (error) => {
          // A page of any origin may be a client, and may know why it was refused.
          ctx.set('Access-Control-Allow-Origin', '*');
          return oauthErrors('invalid_request')(error);
        };
        await take(ctx);
        const resources = { publicUrl, audiences: options.audiences };
        await server.handle(ctx, await withReadForm(ctx.req, path, { ...resources, timeoutMs: options.bodyTimeoutMs }));
      },
    });
    const request = (ctx: HttpContext) => rates.takeRequest(ctx);
    const begun = (ctx: HttpContext) => rates.takeBegun(ctx);
    const page = (
      method: HttpRoute['method'],
      path: string,
      serve: HttpHandler,
      take: (ctx: HttpContext) => Promise<void> = request,
    ): HttpRoute =>
      pageRoute(method, path, async (ctx) => {
        await take(ctx);
        await serve(ctx);
      });
    /**
     * The first page of a request is opened at the issuer's address, which may be a number of this machine. A person who is
     * signed in there continues there; any other one where browsers keep passkeys.
     */
    const atPasskeys =
      (serve: HttpHandler): HttpHandler =>
      async (ctx) => {
        const [there, here] = [browserUrl(publicUrl()), `http://${ctx.req.headers.host ?? ''}`];
        const isElsewhere = isOpened(ctx) && here !== there && ownOrigins(publicUrl()).includes(here);
        if (isElsewhere && !(await options.sessions.find(ctx))) redirectTo(ctx, there + addressOf(ctx));
        else await serve(ctx);
      };
    return [
      metadataRouter({ ...options, take: request }),
      createRouter([
        page(
          'GET',
          ENDPOINTS.authorization,
          atPasskeys((ctx) => server.authorize(ctx)),
          begun,
        ),
        page('GET', `${ENDPOINTS.authorization}/:uid`, (ctx) => server.begin(ctx)),
        page('GET', '/oauth/consent/:uid', async (ctx) => (await server.consent()).show(ctx)),
        page('POST', '/oauth/consent/:uid', async (ctx) => (await server.consent()).answer(ctx)),
        page(
          'GET',
          '/oauth/device',
          atPasskeys((ctx) => server.beginDevice(ctx)),
          begun,
        ),
        page('POST', '/oauth/device', (ctx) => server.confirmDevice(ctx)),
        page('GET', '/oauth/device/:uid', (ctx) => server.handle(ctx)),
        toLibrary(ENDPOINTS.token, request),
        toLibrary(ENDPOINTS.revocation, request),
        toLibrary(ENDPOINTS.device_authorization, begun),
      ]),
      ...(hasRegistration ? [registrationRouter(options, { addresses })] : []),
    ];
  };
}

interface Loaded {
  readonly serve: (req: IncomingMessage, res: ServerResponse) => Promise<void>;
  readonly consent: ConsentPage;
  readonly prefillUserCode: (req: object, userCode: string) => void;
}

/** The library takes a quarter of a second to load, so it is loaded by the first request that needs it. */
class LazyServer {
  private readonly load = loadOnce(() => this.open());

  constructor(private readonly options: AuthorizationServerOptions & OAuthOptions) {}

  async consent(): Promise<ConsentPage> {
    return (await this.load()).consent;
  }

  /** Begins an authorization. */
  async authorize(ctx: HttpContext): Promise<void> {
    const { path, query } = ctx.state.target;
    const request = readAuthorizationRequest(query, { ...this.options, now: this.options.context.clock.now() });
    if ('repeated' in request) {
      // No redirect: which client or address is meant would be a guess (RFC 6749, 3.1 and 4.1.2.1).
      const content = refusal('invalid_request', `${request.repeated} was sent more than once`);
      return sendPage(ctx, { title: REFUSAL_TITLE, status: 400, content });
    }
    ctx.req.url = `${path}?${request.query}`;
    await this.begin(ctx);
  }

  /** Our session determines who is signed in, rather than what the library stored for an earlier request. */
  async begin(ctx: HttpContext): Promise<void> {
    dropSession(ctx);
    await this.handle(ctx);
  }

  /** As `begin`. The code of a link is shown in the form and sent by the person. */
  async beginDevice(ctx: HttpContext): Promise<void> {
    const { prefillUserCode } = await this.load();
    const userCode = new URLSearchParams(ctx.state.target.query).get('user_code');
    if (userCode !== null) prefillUserCode(ctx.req, userCode);
    ctx.req.url = ctx.state.target.path;
    await this.begin(ctx);
  }

  /** A form of a page that this browser was not shown is not looked at. */
  async confirmDevice(ctx: HttpContext): Promise<void> {
    if (!(ctx.req.headers.cookie ?? '').includes(SESSION_COOKIE_NAME)) return redirectTo(ctx, '/oauth/device');
    await this.handle(ctx);
  }

  /**
   * Hands the request over as it came, but for what a client could make the library believe of its own address. It leads a
   * browser to the origin at which its cookies are.
   */
  async handle(ctx: HttpContext, req = ctx.req): Promise<void> {
    const { serve } = await this.load();
    const { res } = ctx;
    const { host, protocol } = new URL(originOf(req.headers.host, this.options.publicUrl()));
    for (const name of Object.keys(req.headers)) if (/^(x-forwarded-|forwarded$)/.test(name)) delete req.headers[name];
    req.headers.host = host;
    req.headers['x-forwarded-proto'] = protocol.slice(0, -1);
    ctx.respond = false;
    await serve(req, res);
  }

  private async open(): Promise<Loaded> {
    const [{ createAuthorizationServer }, { ConsentPage: Page }, { prefillUserCode }, { default: storage }] =
      await quietly(this.options.logger, () =>
        Promise.all([
          import('./authorization-server.js'),
          import('./consent-page.js'),
          import('./library-pages.js'),
          import('oidc-provider/lib/helpers/als.js'),
        ]),
      );
    const provider = createAuthorizationServer(this.options);
    return {
      serve: disabledWhenIdle(storage, provider.callback()),
      consent: new Page(provider, this.options),
      prefillUserCode,
    };
  }
}

const SESSION_COOKIE_NAME = 'darkroom_oauth_session=';
const SESSION_COOKIE = /(?:^|;\s*)darkroom_oauth_session(?:\.sig)?=[^;]*/g;

function dropSession({ req }: HttpContext): void {
  const { cookie } = req.headers;
  if (cookie !== undefined) req.headers.cookie = cookie.replaceAll(SESSION_COOKIE, '').replace(/^;\s*/, '');
}

/** On other releases of Node than its newest, the library says so on the console when it is loaded. */
async function quietly<T>(logger: Logger, load: () => Promise<T>): Promise<T> {
  const { warn } = console;
  console.warn = (...said: unknown[]) => {
    if (String(said[0]).includes('oidc-provider')) logger.debug({ said: said[0] }, 'loading the OAuth server');
    else warn.apply(console, said);
  };
  try {
    return await load();
  } finally {
    console.warn = warn;
  }
}

/**
 * Calls `serve`, which runs within a context of `storage`, and disables the storage when the last call in progress has ended.
 * Before Node 24, once a storage has been used, Node tracks every promise of the process until the storage is disabled: a
 * status request then takes a fifth more CPU. A disabled storage works again when it is used.
 */
export function disabledWhenIdle<A extends readonly unknown[]>(
  storage: Pick<AsyncLocalStorage<unknown>, 'disable'>,
  serve: (...given: A) => Promise<void>,
): (...given: A) => Promise<void> {
  return async (...given) => {
    IN_PROGRESS.set(storage, (IN_PROGRESS.get(storage) ?? 0) + 1);
    try {
      await serve(...given);
    } finally {
      const left = (IN_PROGRESS.get(storage) ?? 0) - 1;
      IN_PROGRESS.set(storage, left);
      if (left === 0) storage.disable();
    }
  };
}

/** Calls in progress by storage: the library has one for all servers of a process. */
const IN_PROGRESS = new WeakMap<object, number>();
