import type { Logger } from 'pino';
import { type Audience, AUDIENCES } from '../../core/access/credential.js';
import type { Context } from '../../core/context.js';
import type { OutsideProvider } from '../../core/ports/outside.js';
import type { RestLimits } from '../config/rest-limits.js';
import { consolePages } from '../http/console/console-front.js';
import { consoleApi } from '../http/developer/console-api.js';
import type { CredentialRates } from '../http/host/authenticate.js';
import type { HttpFront } from '../http/host/server.js';
import type { ClientDocumentFetch } from '../http/oauth/authorization-server.js';
import { oauth } from '../http/oauth/oauth-front.js';
import { BrowserSessions, SignInRates } from '../http/pages/browser-sessions.js';
import { pageAssets } from '../http/pages/page.js';
import { signIn } from '../http/sign-in/sign-in-front.js';

export interface PeopleFrontsOptions {
  /** Whether people can sign in; true when absent. */
  readonly hasSignIn?: boolean;
  /** Whether operators can work in a browser; false when absent. */
  readonly hasOperatorArea?: boolean;
  /** Whether they can connect programs; true when absent. */
  readonly hasOAuth?: boolean;
  /** Whether programs may register themselves; true when absent. */
  readonly hasRegistration?: boolean;
  readonly outsideProvider?: OutsideProvider | undefined;
  readonly clientDocuments?: ClientDocumentFetch | undefined;
}

/** Whether people can connect programs, which then have tokens. */
export function givesTokens({ hasSignIn = true, hasOAuth = true }: PeopleFrontsOptions): boolean {
  return hasSignIn && hasOAuth;
}

/** Whether people have an account page. */
export function hasConsole({ hasSignIn = true }: PeopleFrontsOptions): boolean {
  return hasSignIn;
}

interface Parts extends PeopleFrontsOptions {
  readonly context: Context;
  readonly publicUrl: () => string;
  /** Whether there is an MCP server, for which tokens are given out then. */
  readonly hasMcp: boolean;
  readonly limits: RestLimits;
  /** Those of the API, which the account page acts within too. */
  readonly rates: CredentialRates;
  readonly logger: Logger;
}

/** The fronts for people in browsers, and for the programs that they connect. */
export function peopleFronts({
  context,
  publicUrl,
  hasMcp,
  limits: { bodyTimeoutMs },
  rates: apiRates,
  logger,
  hasSignIn = true,
  hasOperatorArea = false,
  hasOAuth = true,
  hasRegistration = true,
  outsideProvider,
  clientDocuments,
}: Parts): readonly HttpFront[] {
  if (!hasSignIn) return [];
  const sessions = new BrowserSessions(context, publicUrl);
  const audiences: readonly Audience[] = hasMcp ? AUDIENCES : ['rest'];
  const shared = { context, sessions, publicUrl, bodyTimeoutMs };
  const rates = new SignInRates();
  return [
    pageAssets(),
    signIn({ ...shared, rates, outsideProvider }),
    consoleApi({ ...shared, rates: apiRates }),
    consolePages({ ...shared, signInRates: rates, hasOAuth, hasMcp, hasOperatorArea, outsideProvider }),
    ...(hasOAuth
      ? [oauth({ ...shared, audiences, logger, hasRegistration, fetchClientDocument: clientDocuments })]
      : []),
  ];
}
