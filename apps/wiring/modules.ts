import type { Container } from 'inversify';
import 'reflect-metadata';
import { givenModule, type Provide, provideModule } from '../../adapters/provide.js';
import type { SignedObjectGate } from '../../adapters/signed-object-gate.js';
import { Authenticator } from '../../core/access/authenticate.js';
import { type Audience, AUDIENCES } from '../../core/access/credential.js';
import type { OutsideProvider } from '../../core/ports/outside.js';
import { type Config, runsWorker } from '../config/config.js';
import { type RestLimits, restLimits } from '../config/rest-limits.js';
import { CONSOLE_PATH, consolePages } from '../http/console/console-front.js';
import { consoleApi } from '../http/developer/console-api.js';
import { developerApi } from '../http/developer/developer-api.js';
import { createCredentialRates } from '../http/host/authenticate.js';
import { probes, startPage } from '../http/host/pages.js';
import { createHttpHost, type HttpHostOptions } from '../http/host/server.js';
import { createInternalServer } from '../http/internal/internal-server.js';
import { mcp } from '../http/mcp/mcp-front.js';
import { signedObjects } from '../http/objects/signed-objects.js';
import type { ClientDocumentFetch } from '../http/oauth/authorization-server.js';
import { resourceMetadataUrl } from '../http/oauth/metadata.js';
import { oauth } from '../http/oauth/oauth-front.js';
import { BrowserSessions, SignInRates } from '../http/pages/browser-sessions.js';
import { pageAssets } from '../http/pages/page.js';
import { signIn } from '../http/sign-in/sign-in-front.js';
import type { Metrics } from '../metrics/metrics.js';
import { Worker } from '../worker/worker.js';
import type { Program } from './open-program.js';
import { HTTP_FRONTS, type Parts } from './parts.js';

export interface ServerOptions extends Pick<Parts, 'logger' | 'publicUrl'> {
  readonly metrics: Metrics | undefined;
}

/**
 * Binds every part of a server with this configuration over its program, and loads what only some configurations need.
 * A part is made when it is resolved; then nothing listens or works yet.
 */
export async function bindServer(
  program: Program,
  config: Config,
  { logger, publicUrl, metrics }: ServerOptions,
): Promise<Container> {
  const { role, rest, mcp: mcpOptions, grpc, internal } = config;
  const { container, signedObjects: gate } = program;
  const isFront = role !== 'worker';
  const people = isFront ? await openPeople(program, config, publicUrl) : undefined;
  // The gRPC library takes long to load, so it is loaded only where it is used.
  const loadedGrpc = isFront && grpc.port !== undefined ? await loadGrpc() : undefined;
  const bindParts = provideModule<Parts>((provide, isBound) => {
    if (isFront) {
      provide('authenticator', ['context'], ({ context }) => {
        const authenticator = new Authenticator(context);
        program.keep({ close: async () => authenticator.close() });
        return authenticator;
      });
      provideHttp(provide, isBound, {
        limits: restLimits(rest),
        trustedProxies: rest.trustedProxies,
        signedObjects: gate,
        mcp: mcpOptions.enabled ? mcpOptions : undefined,
        people,
        ...(metrics ? { observer: metrics.http } : {}),
      });
    }
    if (loadedGrpc) {
      const needs = ['context', 'logger', 'readiness', 'requireStores'] as const;
      provide('grpc', needs, ({ readiness: isReady, ...parts }) => {
        const hasTokens = config.signIn.enabled && config.oauth.enabled;
        const tokens = hasTokens
          ? new loadedGrpc.TokenCallers(new Authenticator(parts.context), restLimits(rest))
          : undefined;
        return loadedGrpc.openGrpc(grpc, { ...parts, isReady, observer: metrics?.grpc, tokens });
      });
    }
    if (internal.port !== undefined && metrics !== undefined)
      provide('internal', ['readiness'], ({ readiness }) => createInternalServer({ readiness, metrics }));
    if (runsWorker(config))
      provide('worker', ['context'], ({ context }) => {
        const worker = new Worker(context, {
          ...config.worker,
          tidy: () => program.tidy(),
          workerId: `${process.pid}-${context.ids.uuid()}`,
          ...(metrics ? { onPassed: (...pass) => metrics.recovery.passed(...pass) } : {}),
        });
        metrics?.worker.watch(() => worker.counts);
        metrics?.gates.watch(context);
        return worker;
      });
  });
  container.load(givenModule<Parts>({ logger, publicUrl }), bindParts);
  return container;
}

async function loadGrpc() {
  const [{ openGrpc }, { TokenCallers }] = await Promise.all([
    import('../grpc/open-grpc.js'),
    import('../grpc/token-callers.js'),
  ]);
  return { openGrpc, TokenCallers };
}

/** Options of the fronts for people, with the clients of other servers. Each client is loaded only if it is configured. */
async function openPeople(program: Program, { signIn: people, oauth: apps }: Config, publicUrl: () => string) {
  const { providerIssuer: issuer, providerClientId: clientId, providerClientSecret: clientSecret } = people;
  const options: { outsideProvider?: OutsideProvider; clientDocuments?: ClientDocumentFetch } = {};
  // The parts of a provider are configured all or none.
  if (issuer !== undefined && clientId !== undefined && clientSecret !== undefined) {
    const { OpenIdProvider } = await import('../../adapters/openid/openid-provider.js');
    const redirectUri = () => `${publicUrl()}/sign-in/provider/callback`;
    const { log } = program.context;
    options.outsideProvider = program.keep(
      new OpenIdProvider({ issuer, clientId, clientSecret, name: people.providerName, redirectUri, log }),
    );
  }
  if (apps.clientDocuments.length > 0) {
    const { ClientDocuments } = await import('../http/oauth/client-documents.js');
    options.clientDocuments = program.keep(new ClientDocuments(apps.clientDocuments));
  }
  return {
    ...options,
    hasSignIn: people.enabled,
    hasOperatorArea: people.operatorArea,
    hasOAuth: apps.enabled,
    hasRegistration: apps.registration,
  };
}

export interface HttpOptions extends Pick<HttpHostOptions, 'trustedProxies' | 'lingerMs' | 'observer'> {
  readonly limits: RestLimits;
  /** Serves `/objects/…`, for an object store without its own server. */
  readonly signedObjects?: SignedObjectGate | undefined;
  /** The MCP server; there is none when absent. */
  readonly mcp?: { readonly confirmAboveCredits: number } | undefined;
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

/** Binds the HTTP server with the fronts that the configuration turns on. Nothing listens before `listen`. */
export function provideHttp(
  provide: Provide<Parts>,
  isBound: (name: keyof Parts) => boolean,
  { signedObjects: gate, mcp: mcpOptions, people = {}, ...host }: HttpOptions,
): void {
  const { hasSignIn = true, hasOAuth = true } = people;
  const { bodyTimeoutMs } = host.limits;
  const metadataOf = (publicUrl: () => string, audience: Audience) =>
    hasSignIn && hasOAuth ? { resourceMetadata: () => resourceMetadataUrl(publicUrl(), audience) } : {};
  const api = ['context', 'authenticator', 'rates', 'publicUrl', 'requireStores', 'logger'] as const;
  provide('rates', [], () => createCredentialRates(host.limits));
  provide('developerApi', api, (parts) =>
    developerApi({ ...parts, bodyTimeoutMs, ...metadataOf(parts.publicUrl, 'rest') }),
  );
  if (mcpOptions !== undefined)
    provide('mcp', api, (parts) =>
      mcp({ ...parts, ...mcpOptions, bodyTimeoutMs, ...metadataOf(parts.publicUrl, 'mcp') }),
    );
  provide('startPage', [], () => startPage(hasSignIn ? CONSOLE_PATH : '/docs'));
  if (hasSignIn) providePeople(provide, { ...people, bodyTimeoutMs, hasMcp: mcpOptions !== undefined });
  if (gate !== undefined) provide('signedObjects', [], () => signedObjects(gate));
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
  provide: Provide<Parts>,
  {
    hasMcp,
    bodyTimeoutMs,
    hasOAuth = true,
    hasOperatorArea = false,
    hasRegistration = true,
    outsideProvider,
    clientDocuments: fetchClientDocument,
  }: PeopleOptions & { readonly hasMcp: boolean; readonly bodyTimeoutMs: number },
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
    consolePages({ ...parts, bodyTimeoutMs, hasOAuth, hasMcp, hasOperatorArea, outsideProvider }),
  );
  if (hasOAuth)
    provide('oauth', [...page, 'logger'], (parts) =>
      oauth({ ...parts, bodyTimeoutMs, audiences, hasRegistration, fetchClientDocument }),
    );
}
