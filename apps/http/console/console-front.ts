import { createRouter, type HttpHandler, type HttpRoute } from '../host/routing.js';
import { sendText } from '../host/send.js';
import type { HttpFront } from '../host/server.js';
import { pageRoutes } from '../pages/page-route.js';
import { PAGE_HEADERS, redirectTo } from '../pages/send-page.js';
import type { ConsoleOptions } from './console-operation.js';
import { PageFiles } from './page-files.js';
import { CONSOLE_OPERATIONS } from './routes.js';
import { createConsoleRates, serveConsole } from './serve-console.js';

/** Where the account page is. */
export const CONSOLE_PATH = '/console';
/** The page's own addresses, so that each section can be opened by itself. */
export const SECTIONS = ['api-and-mcp', 'credits', 'sign-in'] as const;

/** The account page, and what it asks of its server. */
export function consolePages(options: ConsoleOptions): HttpFront {
  return ({ addresses }) => {
    const parts = { ...options, addresses };
    const files = new PageFiles();
    const rates = createConsoleRates();
    const show: HttpHandler = async (ctx) => {
      if (!(await options.sessions.find(ctx)))
        return redirectTo(ctx, `/sign-in?return=${encodeURIComponent(ctx.state.target.path)}`);
      ctx.set(PAGE_HEADERS);
      await sendText(ctx, 200, { mediaType: 'text/html; charset=utf-8', text: await files.page() });
    };
    const page = pageRoutes(options.publicUrl);
    const operations = CONSOLE_OPERATIONS.map((operation): HttpRoute => ({
      method: operation.method,
      path: `/api${operation.path}`,
      serve: serveConsole(operation, parts, rates),
    }));
    const sections = SECTIONS.map((section) => page('GET', `/${section}`, show));
    return [
      createRouter([page('GET', CONSOLE_PATH, async (ctx) => redirectTo(ctx, `${CONSOLE_PATH}/${SECTIONS[0]}`))]),
      createRouter([...sections, files.assetRoute, ...operations], CONSOLE_PATH),
    ];
  };
}
