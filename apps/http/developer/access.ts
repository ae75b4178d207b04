import type { Caller } from '../../../core/access/credential.js';
import { authenticateRequest, type AuthenticatingParts } from '../host/authenticate-request.js';
import type { CredentialWatch } from '../host/credential-watch.js';
import { readCredential } from '../host/request-headers.js';
import type { RoutedContext } from '../host/routing.js';

/** How the requests of the endpoints say who sends them. */
export interface Access {
  /** Who sends the request. Throws what refuses it. */
  authenticate(ctx: RoutedContext): Promise<Caller>;
  /** Tells, until the returned function is called, when the sender would be refused now. */
  follow(ctx: RoutedContext, tell: () => void): () => void;
}

export interface CredentialAccessParts extends AuthenticatingParts {
  readonly credentialWatch: CredentialWatch;
  /** The address of the API's metadata as a protected resource; undefined where no tokens are given out. */
  readonly resourceMetadata: () => string | undefined;
}

/** By an API key or an access token. */
export function credentialAccess(parts: CredentialAccessParts): Access {
  return {
    authenticate: (ctx) => {
      const metadata = parts.resourceMetadata();
      if (metadata !== undefined) ctx.state.resourceMetadata = metadata;
      return authenticateRequest(ctx, parts, 'rest');
    },
    follow: ({ req }, tell) => parts.credentialWatch.follow(readCredential(req) ?? '', tell),
  };
}
