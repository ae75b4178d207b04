import type { Container } from 'inversify';
import { Authenticator } from '../../core/access/authenticate.js';
import { type Config, runsWorker } from '../config/config.js';
import { type PeopleOptions, provideHttp, restLimits } from '../http/http-fronts.js';
import { createInternalServer } from '../http/internal/internal-server.js';
import type { Metrics } from '../metrics/metrics.js';
import { Worker } from '../worker/worker.js';
import { type Program, spoolFolder } from './open-program.js';
import { givenParts, type Parts, partsModule } from './parts.js';

export interface ServerOptions extends Pick<Parts, 'logger' | 'publicUrl'> {
  readonly metrics: Metrics | undefined;
  /** Called with the id of each API key or token that a front accepts. */
  readonly onCredentialUse?: (credentialId: string) => void;
}

/**
 * Binds every part of a server with this configuration over its program, and loads what only some configurations need.
 * A part is made when it is resolved; then nothing listens or works yet.
 */
export async function bindServer(
  program: Program,
  config: Config,
  { logger, publicUrl, metrics, onCredentialUse }: ServerOptions,
): Promise<Container> {
  const { role, rest, openai, mcp: mcpOptions, grpc, internal } = config;
  const { container, signedObjects: gate } = program;
  const isFront = role !== 'worker';
  const people = isFront ? await openPeople(program, config, publicUrl) : undefined;
  // The gRPC library takes long to load, so it is loaded only where it is used.
  const loadedGrpc = isFront && grpc.port !== undefined ? await loadGrpc() : undefined;
  const bindParts = partsModule((provide, isBound) => {
    if (isFront) {
      provide('authenticator', ['context'], ({ context }) => {
        const authenticator = new Authenticator(context, onCredentialUse);
        program.keep({ close: async () => authenticator.close() });
        return authenticator;
      });
      provideHttp(provide, isBound, {
        limits: restLimits(rest),
        trustedProxies: rest.trustedProxies,
        signedObjects: gate,
        hasOpenAi: openai.enabled,
        spool: { folder: spoolFolder(config), maxBytes: openai.spoolBytes },
        mcp: mcpOptions.enabled ? mcpOptions : undefined,
        people,
        ...(metrics ? { observer: metrics.http } : {}),
      });
    }
    if (loadedGrpc) {
      const needs = ['context', 'logger', 'publicUrl', 'readiness', 'requireStores'] as const;
      provide('grpc', needs, ({ readiness: isReady, ...parts }) => {
        const hasTokens = config.signIn.enabled && config.oauth.enabled;
        const tokens = hasTokens
          ? new loadedGrpc.TokenCallers(new Authenticator(parts.context), restLimits(rest))
          : undefined;
        return loadedGrpc.openGrpc(grpc, { ...parts, isReady, observer: metrics?.grpc, tokens });
      });
    }
    if (internal.port !== undefined && metrics !== undefined)
      provide('internal', ['readiness', 'context'], ({ readiness, context }) => {
        metrics.openGenerations.watch(context);
        return createInternalServer({ readiness, metrics });
      });
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
  container.load(givenParts({ logger, publicUrl }), bindParts);
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
async function openPeople(
  program: Program,
  { signIn: people, oauth: apps }: Config,
  publicUrl: () => string,
): Promise<PeopleOptions> {
  return {
    hasSignIn: people.enabled,
    hasOperatorArea: people.operatorArea,
    hasOAuth: apps.enabled,
    hasRegistration: apps.registration,
    outsideProvider: await openOutsideProvider(program, people, publicUrl),
    clientDocuments: apps.clientDocuments.length === 0 ? undefined : await openClientDocuments(program, apps),
  };
}

async function openOutsideProvider(
  program: Program,
  {
    providerIssuer: issuer,
    providerClientId: clientId,
    providerClientSecret: clientSecret,
    providerName,
  }: Config['signIn'],
  publicUrl: () => string,
) {
  // Its parts are configured all or none.
  if (issuer === undefined || clientId === undefined || clientSecret === undefined) return undefined;
  const { OpenIdProvider } = await import('../../adapters/openid/openid-provider.js');
  const redirectUri = () => `${publicUrl()}/sign-in/provider/callback`;
  const { log } = program.context;
  return program.keep(new OpenIdProvider({ issuer, clientId, clientSecret, name: providerName, redirectUri, log }));
}

async function openClientDocuments(program: Program, { clientDocuments }: Config['oauth']) {
  const { ClientDocuments } = await import('../http/oauth/client-documents.js');
  return program.keep(new ClientDocuments(clientDocuments));
}
