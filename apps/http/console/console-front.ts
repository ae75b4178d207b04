import { fileURLToPath } from 'node:url';
import { ServiceError, StoreUnavailable } from '../../../core/errors.js';
import { type BodySchema, readBody as checkBody } from '../../../core/fields.js';
import type { Json } from '../../../core/json.js';
import { isOperator } from '../../../core/people/operators.js';
import type { Person } from '../../../core/people/person.js';
import type { SignedIn } from '../../../core/people/sessions.js';
import type { Ports } from '../../../core/ports/ports.js';
import { RateLimit } from '../../rate-limit.js';
import { BuiltFiles } from '../host/built-files.js';
import { readBody } from '../host/request.js';
import { sendAnswer, sendStream, type StreamedAnswer } from '../host/send.js';
import { createRouter, type HttpFront, type HttpHandler, type HttpRoute } from '../host/server.js';
import {
  addressOf,
  mediaPageHeaders,
  pageRoute,
  redirectTo,
  requireSameOrigin,
  withoutChallenge,
} from '../pages/page.js';
import type { ConsoleOperation, ConsoleOptions, ConsoleParts } from './console-operation.js';
import { GENERATION_OPERATIONS } from './generations.js';
import { KEY_OPERATIONS } from './keys-and-apps.js';
import { MODEL_OPERATIONS } from './models.js';
import { OVERVIEW_OPERATIONS } from './overview.js';
import { SESSION_OPERATIONS } from './sessions-and-connections.js';
import { SIGN_IN_OPERATIONS } from './sign-in-ways.js';
import { WEBHOOK_OPERATIONS } from './webhooks.js';
import { guarded } from './operator/operator-operation.js';
import { OPERATOR_OPERATIONS, OPERATOR_PAGES } from './operator/routes.js';

/** The path of the account page. */
export const CONSOLE_PATH = '/console';
/** The paths of the pages below `CONSOLE_PATH`, so that each can be opened directly. `apps/web/src/places.ts` has the same. */
export const PAGES = [
  '/playground',
  '/generations',
  '/generations/:generation_id',
  '/models',
  '/models/:model_key',
  '/usage',
  '/keys',
  '/webhooks',
  '/webhooks/:webhook_id',
  '/connections',
  '/account',
] as const;
/** Paths of earlier releases, and where their pages are now. */
const MOVED: Readonly<Record<string, string>> = {
  '/api-and-mcp': '/keys',
  '/sign-in': '/account',
  '/credits': '/usage',
  '/operator/work': '/operator/queue',
  '/operator/work/:generation_id': '/operator/queue/:generation_id',
  '/operator/books': '/operator/ledger',
};

/** Paths below which there are no pages. */
const NOT_PAGES = /^\/console\/(?:api|assets)(?:\/|$)/;

/** Redirects from an address of an earlier release to the page that replaced it. */
function leadTo(page: string): HttpHandler {
  return async (ctx) => {
    const { query } = ctx.state.target;
    const path = page.replace(/:(\w+)/, (_, name: string) => encodeURIComponent(ctx.params[name] ?? ''));
    redirectTo(ctx, CONSOLE_PATH + path + (query === '' ? '' : `?${query}`));
  };
}

/** The operations that the page calls, under `/console/api`. */
const CONSOLE_OPERATIONS = [
  ...OVERVIEW_OPERATIONS,
  ...MODEL_OPERATIONS,
  ...GENERATION_OPERATIONS,
  ...KEY_OPERATIONS,
  ...WEBHOOK_OPERATIONS,
  ...SESSION_OPERATIONS,
  ...SIGN_IN_OPERATIONS,
];

/** The account page, and the operations that it calls. */
export function consolePages(options: ConsoleOptions): HttpFront {
  return (shared) => {
    const parts = { ...options, ...shared };
    const files = new BuiltFiles(FOLDER);
    const rates = { GET: new RateLimit(PER_MINUTE.GET), POST: new RateLimit(PER_MINUTE.POST) };
    const showTo =
      (mayOpen: (person: Person) => boolean, status = 200): HttpHandler =>
      async (ctx) => {
        const signedIn = await options.sessions.find(ctx);
        if (!signedIn) return redirectTo(ctx, `/sign-in?return=${encodeURIComponent(addressOf(ctx))}`);
        if (!mayOpen(signedIn.person)) throw new ServiceError('ROUTE_NOT_FOUND');
        ctx.set(mediaPageHeaders(await objectsOrigin(options.context, options.publicUrl())));
        await files.send(ctx, 'index.html', 'no-store', status);
      };
    const operators = options.hasOperatorArea ? OPERATOR_OPERATIONS.map(guarded) : [];
    const operations = [...CONSOLE_OPERATIONS, ...operators].map((operation): HttpRoute => ({
      method: operation.method,
      path: `/api${operation.path}`,
      serve: serveConsole(operation, parts, rates),
    }));
    const everybody = showTo(() => true);
    // The console says so itself, with the ways to its pages.
    const notFound = pageRoute(
      'GET',
      '',
      showTo(() => true, 404),
    );
    const others: HttpRoute = {
      method: 'any',
      path: '/{*path}',
      serve: async (ctx) => {
        const isOfPage = ctx.method === 'GET' && !NOT_PAGES.test(ctx.path) && (await options.sessions.find(ctx));
        if (!isOfPage) throw new ServiceError('ROUTE_NOT_FOUND');
        await notFound.serve(ctx);
      },
    };
    const pages = [
      ...PAGES.map((path) => pageRoute('GET', path, everybody)),
      ...Object.entries(MOVED).map(([from, to]) => pageRoute('GET', from, leadTo(to))),
      ...(options.hasOperatorArea ? OPERATOR_PAGES : []).map((path) => pageRoute('GET', path, showTo(isOperator))),
    ];
    const assets: HttpRoute = {
      method: 'GET',
      path: '/assets/:file',
      serve: (ctx) => files.send(ctx, `assets/${ctx.params['file'] ?? ''}`, 'hashed'),
    };
    return [
      createRouter([pageRoute('GET', CONSOLE_PATH, everybody)]),
      createRouter([...pages, assets, ...operations, others], CONSOLE_PATH),
    ];
  };
}

const MAX_BODY_BYTES = 16 * 1024;
const EMPTY: BodySchema = { type: 'object', additionalProperties: false, properties: {} };
/** The requests that one person may send to this process per minute: reads, and changes. */
const PER_MINUTE = { GET: 300, POST: 60 } as const;
type ConsoleRates = Readonly<Record<ConsoleOperation['method'], RateLimit>>;

/**
 * The checks of a request of the page, in order, and then its operation. A client that waits for 100 Continue is asked
 * for its body once they have passed. The session is then looked up again, since it may have ended while the body
 * arrived. A credential of the API counts for nothing here.
 */
function serveConsole(operation: ConsoleOperation, parts: ConsoleParts, rates: ConsoleRates): HttpHandler {
  const { method, body: taken = { schema: EMPTY } } = operation;
  return async (ctx) => {
    const { req, state } = ctx;
    state.renderError = withoutChallenge;
    if (method === 'POST') requireSameOrigin(ctx, parts.publicUrl());
    const admit = async (): Promise<SignedIn> => {
      const found = await parts.sessions.require(ctx);
      const { accountId, personId } = found.person;
      state.caller = { accountId, credentialId: personId };
      return found;
    };
    let signedIn = await admit();
    const { personId } = signedIn.person;
    await rates[method].require(personId, 'These were too many requests; wait a moment and try again.');
    operation.admit?.(parts, signedIn);
    let sent: Json = {};
    if (method === 'POST') {
      sent = await readBody(req, { required: true, maxBytes: MAX_BODY_BYTES, timeoutMs: parts.bodyTimeoutMs });
      signedIn = await admit();
      operation.admit?.(parts, signedIn);
    }
    const body = checkBody<object>(parts.context, taken.schema, sent, taken.wording);
    const answer = await operation.answer(parts, { ctx, signedIn, body });
    // Changes have a line in the log.
    state.hasCreated = method === 'POST';
    await (isStreamed(answer) ? sendStream(ctx, answer) : sendAnswer(ctx, 200, { data: answer }));
  };
}

function isStreamed(answer: object): answer is StreamedAnswer {
  return 'stream' in answer && typeof answer.stream === 'function';
}

/** The files that the build writes for the console. */
const FOLDER = fileURLToPath(new URL('../../../web/', import.meta.url));

const LIFE_MS = 60_000;

/**
 * The origin of signed addresses, which the page may load pictures from and send files to. Undefined where it is that of
 * the page itself, and while the object store has not been reached.
 */
async function objectsOrigin(
  { objects, clock }: Pick<Ports, 'objects' | 'clock'>,
  ownUrl: string,
): Promise<string | undefined> {
  try {
    const { url } = await objects.signGet({
      key: 'console/origin',
      mediaType: 'image/png',
      filename: 'origin.png',
      expiresAt: clock.now() + LIFE_MS,
    });
    const { origin } = new URL(url);
    return /^https?:\/\//.test(origin) && origin !== new URL(ownUrl).origin ? origin : undefined;
  } catch (error) {
    if (error instanceof StoreUnavailable) return undefined;
    throw error;
  }
}
