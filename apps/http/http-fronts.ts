import { tmpdir } from 'node:os';
import type { SignedObjectGate } from '../../adapters/signed-object-gate.js';
import { type Audience, AUDIENCES } from '../../core/access/credential.js';
import type { OutsideProvider } from '../../core/ports/outside.js';
import type { Config } from '../config/config.js';
import { HTTP_FRONTS, type Parts, type Provide } from '../wiring/parts.js';
import { CONSOLE_PATH, consolePages } from './console/console-front.js';
import type { ConsoleOptions } from './console/console-operation.js';
import { consoleApi } from './developer/console-api.js';
import { developerApi } from './developer/developer-api.js';
import { createCredentialRates, type CredentialLimits } from './host/authenticate.js';
import type { HttpLimits } from './host/http-context.js';
import { probes, startPage } from './host/pages.js';
import { createHttpHost, type HttpHostOptions } from './host/server.js';
import { mcp, type McpOptions } from './mcp/mcp-front.js';
import { signedObjects } from './objects/signed-objects.js';
import type { ClientDocumentFetch } from './oauth/authorization-server.js';
import { openAiApi, type OpenAiOptions } from './openai/openai-front.js';
import type { SpoolOptions } from './openai/spool.js';
import { resourceMetadataUrl } from './oauth/metadata.js';
import { oauth } from './oauth/oauth-front.js';
import { BrowserSessions, SignInRates } from './pages/browser-sessions.js';
import { pageAssets } from './pages/page.js';
import { signIn } from './sign-in/sign-in-front.js';
import { thumbnails } from './thumbnails/thumbnails.js';

/** The limits in the section `rest`: those of the HTTP host, and the request rates of a credential. */
export type RestLimits = HttpLimits & CredentialLimits;

/** The limits set by a configuration. */
export function restLimits({ rateLimits, ...limits }: Config['rest']): RestLimits {
  const { createsPerMinute: writesPerMinute, ...rates } = rateLimits;
  return { ...limits, ...rates, writesPerMinute };
}

export interface HttpOptions extends Pick<HttpHostOptions, 'trustedProxies' | 'lingerMs' | 'observer'> {
  readonly limits: RestLimits;
  /** Serves `/objects/…`, for an object store without its own server. */
  readonly signedObjects?: SignedObjectGate | undefined;
  /** The MCP server; there is none when absent. */
  readonly mcp?: Pick<McpOptions, 'confirmAboveCredits' | 'allowedOrigins'> | undefined;
  /** Whether the OpenAI-compatible API is served; true when absent. */
  readonly hasOpenAi?: boolean;
  /** How long its requests wait; as long as documented when absent. */
  readonly openAiWaits?: OpenAiOptions['waitTimes'];
  /** Where that keeps the files of forms; at most 2 GiB in the folder for temporary files when absent. */
  readonly spool?: SpoolOptions | undefined;
  /** How people sign in and connect programs; what is absent has its default. */
  readonly people?: PeopleOptions | undefined;
}

export interface PeopleOptions {
  /** Whether people can sign in; true when absent. */
  readonly hasSignIn?: boolean;
  /** Whether operators can work in a browser; false when absent. */
  readonly hasOperatorArea?: boolean;
  /** Whether people can connect programs, which then have tokens; true when absent. */
  readonly hasOAuth?: boolean;
  /** Whether programs may register themselves; true when absent. */
  readonly hasRegistration?: boolean;
  readonly outsideProvider?: OutsideProvider | undefined;
  readonly clientDocuments?: ClientDocumentFetch | undefined;
}

const DEFAULT_SPOOL: SpoolOptions = { folder: tmpdir(), maxBytes: 2 * 1024 ** 3 };

/** Binds the HTTP server with the fronts that the configuration turns on. Nothing listens before `listen`. */
export function provideHttp(
  provide: Provide,
  isBound: (name: keyof Parts) => boolean,
  {
    signedObjects: gate,
    mcp: mcpOptions,
    hasOpenAi = true,
    openAiWaits: waitTimes,
    spool = DEFAULT_SPOOL,
    people = {},
    ...host
  }: HttpOptions,
): void {
  const { hasSignIn = true, hasOAuth = true } = people;
  const { bodyTimeoutMs, requestTimeoutMs } = host.limits;
  const metadataOf = (publicUrl: () => string, audience: Audience) =>
    hasSignIn && hasOAuth ? { resourceMetadata: () => resourceMetadataUrl(publicUrl(), audience) } : {};
  const api = ['context', 'authenticator', 'rates', 'publicUrl', 'requireStores', 'logger'] as const;
  provide('rates', [], () => createCredentialRates(host.limits));
  provide('developerApi', api, (parts) =>
    developerApi({ ...parts, bodyTimeoutMs, ...metadataOf(parts.publicUrl, 'rest') }),
  );
  if (hasOpenAi)
    provide('openAiApi', api, (parts) =>
      openAiApi({
        ...parts,
        bodyTimeoutMs,
        requestTimeoutMs,
        spool,
        waitTimes,
        ...metadataOf(parts.publicUrl, 'rest'),
      }),
    );
  if (mcpOptions !== undefined)
    provide('mcp', api, (parts) =>
      mcp({ ...parts, ...mcpOptions, bodyTimeoutMs, ...metadataOf(parts.publicUrl, 'mcp') }),
    );
  provide('startPage', ['publicUrl'], ({ publicUrl }) => startPage(hasSignIn ? CONSOLE_PATH : '/docs', publicUrl));
  if (hasSignIn) providePeople(provide, { ...people, bodyTimeoutMs, hasOpenAi, hasMcp: mcpOptions !== undefined });
  if (gate !== undefined) provide('signedObjects', [], () => signedObjects(gate));
  provide('thumbnails', ['context'], (parts) => thumbnails(parts));
  provide('probes', ['readiness'], ({ readiness }) => probes(readiness));
  const fronts = HTTP_FRONTS.filter(isBound);
  provide('http', ['context', 'logger', ...fronts], ({ context: { ids, clock }, logger, ...bound }) => {
    const made: Partial<Pick<Parts, (typeof fronts)[number]>> = bound;
    return createHttpHost(
      { ids, clock, logger, ...host },
      fronts.flatMap((name) => made[name] ?? []),
    );
  });
}

/** The fronts for people in browsers, and for the programs that they connect. */
function providePeople(
  provide: Provide,
  {
    hasMcp,
    hasOpenAi,
    bodyTimeoutMs,
    hasOAuth = true,
    hasOperatorArea = false,
    hasRegistration = true,
    outsideProvider,
    clientDocuments: fetchClientDocument,
  }: PeopleOptions & Pick<ConsoleOptions, 'hasMcp' | 'hasOpenAi' | 'bodyTimeoutMs'>,
): void {
  const audiences: readonly Audience[] = hasMcp ? AUDIENCES : ['rest'];
  const page = ['context', 'publicUrl', 'sessions'] as const;
  provide('sessions', ['context', 'publicUrl'], ({ context, publicUrl }) => new BrowserSessions(context, publicUrl));
  provide('signInRates', [], () => new SignInRates());
  provide('pageAssets', [], () => pageAssets());
  provide('signIn', [...page, 'signInRates'], ({ signInRates: rates, ...parts }) =>
    signIn({ ...parts, rates, bodyTimeoutMs, outsideProvider }),
  );
  provide('consoleApi', [...page, 'rates'], (parts) => consoleApi({ ...parts, bodyTimeoutMs }));
  provide('consolePages', [...page, 'signInRates'], (parts) =>
    consolePages({ ...parts, bodyTimeoutMs, hasOAuth, hasMcp, hasOpenAi, hasOperatorArea, outsideProvider }),
  );
  if (hasOAuth)
    provide('oauth', [...page, 'logger'], (parts) =>
      oauth({ ...parts, bodyTimeoutMs, audiences, hasRegistration, fetchClientDocument }),
    );
}
