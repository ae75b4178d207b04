import { ServiceError } from '../../../core/errors.js';
import { isOperator } from '../../../core/people/operators.js';
import type { Person } from '../../../core/people/person.js';
import { sendText } from '../host/send.js';
import { createRouter, type HttpFront, type HttpHandler, type HttpRoute } from '../host/server.js';
import { addressOf, mediaPageHeaders, pageRoutes, redirectTo } from '../pages/page.js';
import type { ConsoleOptions } from './console-operation.js';
import { guarded } from './operator/guarded.js';
import { OPERATOR_OPERATIONS, OPERATOR_PAGES } from './operator/routes.js';
import { CONSOLE_OPERATIONS } from './routes.js';
import { createConsoleRates, objectsOrigin, PageFiles, serveConsole } from './serve-console.js';

/** Where the account page is. */
export const CONSOLE_PATH = '/console';
/** The page's own addresses, so that each section can be opened by itself. The first is shown at once. */
export const SECTIONS = ['api-and-mcp', 'playground', 'generations', 'usage', 'webhooks', 'sign-in'] as const;
/** Addresses of single things within a section. */
const DETAILS = ['/generations/:generation_id', '/webhooks/:webhook_id'] as const;

/** The account page, and what it asks of its server. */
export function consolePages(options: ConsoleOptions): HttpFront {
  return (shared) => {
    const parts = { ...options, ...shared };
    const files = new PageFiles();
    const rates = createConsoleRates();
    const showTo =
      (mayOpen: (person: Person) => boolean): HttpHandler =>
      async (ctx) => {
        const signedIn = await options.sessions.find(ctx);
        if (!signedIn) return redirectTo(ctx, `/sign-in?return=${encodeURIComponent(addressOf(ctx))}`);
        if (!mayOpen(signedIn.person)) throw new ServiceError('ROUTE_NOT_FOUND');
        ctx.set(mediaPageHeaders({ objects: await objectsOrigin(options.context, options.publicUrl()) }));
        await sendText(ctx, 200, { mediaType: 'text/html; charset=utf-8', text: await files.page() });
      };
    const page = pageRoutes(options.publicUrl);
    const operators = options.hasOperatorArea ? OPERATOR_OPERATIONS.map(guarded) : [];
    const operations = [...CONSOLE_OPERATIONS, ...operators].map((operation): HttpRoute => ({
      method: operation.method,
      path: `/api${operation.path}`,
      serve: serveConsole(operation, parts, rates),
    }));
    const everybody = showTo(() => true);
    const sections = [
      ...[...SECTIONS.map((section) => `/${section}`), ...DETAILS].map((path) => page('GET', path, everybody)),
      // What usage was called before.
      page('GET', '/credits', async (ctx) => redirectTo(ctx, `${CONSOLE_PATH}/usage`)),
      ...(options.hasOperatorArea ? OPERATOR_PAGES : []).map((path) => page('GET', path, showTo(isOperator))),
    ];
    return [
      createRouter([page('GET', CONSOLE_PATH, async (ctx) => redirectTo(ctx, `${CONSOLE_PATH}/${SECTIONS[0]}`))]),
      createRouter([...sections, files.assetRoute, ...operations], CONSOLE_PATH),
    ];
  };
}
