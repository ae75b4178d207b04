import type { Call, Identity, Machine, Money } from '../../../core/context.js';
import { ServiceError } from '../../../core/errors.js';
import { callerOfPerson, lookAtSession, requireNotSuspended } from '../../../core/people/sessions.js';
import { type Access, CredentialWatch } from '../host/authenticate.js';
import { createRouter, type HttpFront, type HttpHandler, type HttpRoute } from '../host/server.js';
import type { BrowserSessions } from '../pages/browser-sessions.js';
import { requireSameOrigin, withoutChallenge } from '../pages/page.js';
import { type Api, BASE, type ProtectedRoute, serveProtected } from './operation.js';
import { ROUTES } from './routes.js';

/** The base path of the API's endpoints for the account page, with an App of its account. */
const CONSOLE_BASE = '/console/api/apps/:app_id';

export interface ConsoleApiOptions extends Pick<Api, 'context' | 'rates' | 'bodyTimeoutMs'> {
  readonly sessions: BrowserSessions;
  readonly publicUrl: () => string;
}

/**
 * The endpoints of the API for the account page: the same operations, called by the person of the session instead of a
 * credential. They count against the same rates, under the person's id.
 */
export function consoleApi(options: ConsoleApiOptions): HttpFront {
  const access = sessionAccess(options.context, options.sessions);
  return (shared) => {
    const api: Api = { ...options, ...shared, access, basePath: BASE };
    const routes = ROUTES.filter((route): route is ProtectedRoute => route.scope !== undefined).map(
      (route): HttpRoute => ({
        method: route.method,
        path: route.path,
        serve: fromPage(route, serveProtected(route, api), options.publicUrl),
      }),
    );
    return [createRouter(routes, CONSOLE_BASE)];
  };
}

/** Only pages of this server may send requests that change something or have a body; each write is logged. */
function fromPage({ method, rate }: ProtectedRoute, serve: HttpHandler, publicUrl: () => string): HttpHandler {
  return async (ctx) => {
    ctx.state.renderError = withoutChallenge;
    if (method !== 'GET') requireSameOrigin(ctx, publicUrl());
    await serve(ctx);
    ctx.state.hasCreated = rate === 'writes';
  };
}

/** Access through a person's session, for the App in the path. */
function sessionAccess(context: Money & Identity & Machine & Call, sessions: BrowserSessions): Access {
  const watch = new CredentialWatch(
    {
      authenticate: async (secret) => {
        const person = await lookAtSession(context, secret);
        if (person === undefined) throw new ServiceError('SESSION_REQUIRED');
        await requireNotSuspended(context, person);
      },
    },
    context.clock,
    'rest',
  );
  return {
    authenticate: async (ctx) => {
      const { person } = await sessions.require(ctx);
      ctx.state.caller = { accountId: person.accountId, credentialId: person.personId };
      return callerOfPerson(context, person, ctx.params['app_id'] ?? '');
    },
    follow: (ctx, onRefused) => watch.follow(sessions.secretOf(ctx) ?? '', onRefused),
  };
}
