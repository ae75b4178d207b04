import { SystemClock } from '../../adapters/system/system-clock.js';
import { Authenticator } from '../../core/access/authenticate.js';
import type { Logger } from 'pino';
import { runsWorker, type Config } from '../config/config.js';
import { firstStart, type Demo } from './first-start.js';
import type { CallObserver } from '../grpc/calls/call-observer.js';
import type { OpenGrpc } from '../grpc/open-grpc.js';
import { createInternalServer, type InternalServer } from '../http/internal/internal-server.js';
import { createLogger, logTo } from '../logging/logging.js';
import { Metrics } from '../metrics/metrics.js';
import { Outages } from '../outages/outages.js';
import { onHangUp, reload } from './reload.js';
import type { HttpHost } from '../http/host/server.js';
import { placeOf } from '../stores/open-database.js';
import { createHttpFronts } from '../wiring/http-fronts.js';
import { PeopleOutgoing } from '../wiring/people-outgoing.js';
import { stopParts } from './stop-parts.js';
import { StopRequest, type Signals, type StopSignal } from './stop-request.js';
import { configuredUrl, hostAndPort, openProgram, type Program } from '../wiring/open-program.js';
import { Worker } from '../worker/worker.js';

export interface Served {
  /** Where requests are taken; null for a worker, which takes none. */
  readonly url: string | null;
  /** `host:port` that requests come in at, which a proxy may have another URL for; null for a worker. */
  readonly listening: string | null;
  /** What the first start over an empty database made. */
  readonly demo: Demo | null;
  /** Reads the catalog again, and the file of callers. What is faulty stays as it was, and the log has why. */
  reload(): Promise<void>;
  /** Finishes requests, hands leases back, and closes the stores. */
  stop(): Promise<void>;
}

/** How long a stopped process may take to exit by itself. */
const LEFT_BEHIND_MS = 1_000;

/** Starts the parts of the configured role in this process. Throws one sentence when it cannot. */
export async function startService(config: Config, logger: Logger = createLogger(config.log)): Promise<Served> {
  let url = configuredUrl(config);
  const metrics = config.internal && new Metrics();
  const outages = new Outages({ logger, clock: new SystemClock({ keepsProcessAlive: false }) });
  const quiet = outages.quiet(logTo(logger));
  const log = metrics?.warnings.counted(quiet) ?? quiet;
  const program = await openProgram(config, 'server', { log, publicUrl: () => url, metrics, outages });
  let front: Front | undefined;
  let grpc: OpenGrpc | undefined;
  let internal: InternalServer | undefined;
  try {
    if (config.role !== 'worker') front = await createFront(program, { config, logger, metrics, publicUrl: () => url });
    const at = await front?.rest.listen(config.rest.host, config.rest.port);
    if (at !== undefined) url = configuredUrl(config, at.port);
    const listening = at === undefined ? null : hostAndPort(at);
    grpc = await listenForServices(program, config, { logger, observer: metrics?.grpc });
    internal = await openInternal(program, config, metrics);
    // Only once nothing else can fail: the key it creates is shown once.
    const demo = config.role === 'all' ? await firstStart(program.context, { hasSignIn: config.signIn.enabled }) : null;
    const worker = runsWorker(config) ? createWorker(program, config, metrics) : undefined;
    await worker?.start();
    const addresses = {
      ...(listening === null ? {} : { address: url, listening }),
      ...(internal ? { internal: hostAndPort(internal) } : {}),
    };
    logger.info({ role: config.role, ...addresses, ...whereData(config), worker: worker !== undefined }, 'serving');
    const reloaded = {
      catalogFile: config.catalog,
      readCatalogAgain: () => program.readCatalogAgain(),
      readCallersAgain: () => grpc?.readCallersAgain(),
      logger,
    };
    return {
      url: front ? url : null,
      listening,
      demo,
      reload: () => reload(reloaded),
      stop: () => stopParts({ front, grpc, internal, worker, program, outages, config, logger }),
    };
  } catch (error) {
    await Promise.all([front?.close(0), grpc?.close(0), internal?.close(0)]);
    await program.close();
    throw error;
  }
}

/** The log has names in camelCase. */
function whereData(config: Config): Readonly<Record<string, string>> {
  const { facts } = placeOf(config);
  return Object.fromEntries(
    Object.entries(facts).map(([name, value]) => [
      name.replaceAll(/_([a-z])/g, (_, letter: string) => letter.toUpperCase()),
      value,
    ]),
  );
}

interface Front {
  readonly rest: HttpHost;
  close(graceMs: number): Promise<void>;
}

async function createFront(
  program: Program,
  {
    config,
    logger,
    metrics,
    publicUrl,
  }: {
    readonly config: Config;
    readonly logger: Logger;
    readonly metrics: Metrics | undefined;
    readonly publicUrl: () => string;
  },
): Promise<Front> {
  const { context, signedObjects } = program;
  const authenticator = new Authenticator(context);
  const outgoing = await PeopleOutgoing.open(config, { publicUrl, log: context.log });
  const rest = createHttpFronts({
    context,
    authenticator,
    logger,
    limits: config.rest.limits,
    trustedProxies: config.rest.trustedProxies,
    publicUrl,
    people: outgoing.options,
    mcp: config.mcp,
    ...(signedObjects ? { signedObjects } : {}),
    readiness: () => program.isReady(),
    requireStores: (wouldAsk) => program.requireStores(wouldAsk),
    ...(metrics ? { observer: metrics.http } : {}),
  });
  return {
    rest,
    close: async (graceMs) => {
      await rest.close(graceMs).finally(() => authenticator.close());
      await outgoing.close();
    },
  };
}

/** Only once the front listens, so that a process that takes no requests yet is not reported as ready. */
async function openInternal(
  program: Program,
  { internal }: Config,
  metrics: Metrics | undefined,
): Promise<InternalServer | undefined> {
  if (internal === undefined || metrics === undefined) return undefined;
  metrics.process.start();
  return createInternalServer({ ...internal, readiness: () => program.isReady(), metrics });
}

function createWorker(program: Program, config: Config, metrics: Metrics | undefined): Worker {
  const { context } = program;
  const worker = new Worker(context, {
    ...config.worker,
    tidy: () => program.tidy(),
    workerId: `${process.pid}-${context.ids.uuid()}`,
    ...(metrics ? { onPassed: (...pass) => metrics.recovery.passed(...pass) } : {}),
  });
  metrics?.worker.watch(() => worker.counts);
  metrics?.gates.watch(context);
  return worker;
}

/** The gRPC front, where it is configured and this process takes requests. */
async function listenForServices(
  program: Program,
  { grpc, role, signIn, oauth, rest: { limits } }: Config,
  { logger, observer }: { readonly logger: Logger; readonly observer: CallObserver | undefined },
): Promise<OpenGrpc | undefined> {
  if (grpc === undefined || role === 'worker') return undefined;
  const [{ openGrpc }, { TokenCallers }] = await Promise.all([
    import('../grpc/open-grpc.js'),
    import('../grpc/callers/token-callers.js'),
  ]);
  const { context } = program;
  const givesTokens = signIn.enabled && oauth.enabled;
  const server = openGrpc(grpc, {
    context,
    logger,
    observer,
    isReady: () => program.isReady(),
    requireStores: () => program.requireStores(),
    tokens: givesTokens ? new TokenCallers(new Authenticator(context), limits) : undefined,
  });
  const port = await server.listen(grpc.host, grpc.port);
  const isOpen = grpc.callersFile === undefined;
  logger.info({ listening: `${grpc.host}:${port}`, isOpen }, 'serving gRPC');
  if (isOpen) logger.warn('any local process may call gRPC');
  return server;
}

/** What a service needs of the process it runs in. */
export interface ServiceHost {
  readonly logger: Logger;
  readonly signals: Signals;
  /** What is left open may keep the process for this many milliseconds at most. */
  leaveBehind(afterMs: number): void;
}

/**
 * Serves until the process is asked to stop, then stops gracefully; asked twice, it exits immediately. SIGHUP makes it
 * reload its catalog. It handles signals until the process ends: one that arrives after the stop belongs to the same
 * request.
 */
export async function serve(
  config: Config,
  host: ServiceHost,
  onServing: (served: Served) => void | Promise<void> = () => undefined,
): Promise<'stopped' | 'left'> {
  // Asked for before anything is served: it may be asked to stop as soon as it is ready.
  let served: Served | undefined;
  let isReloadAsked = false;
  let leave: () => void = () => undefined;
  const left = new Promise<'left'>((resolve) => {
    leave = () => {
      resolve('left');
    };
  });
  const stopAsked = new Promise<void>((resolve) => {
    stopOnSignals(host.signals, { asked: resolve, askedAgain: leave });
    // The start has read the catalog first, and may take minutes: it is read again then.
    const reloadSoon = (): void => {
      if (served === undefined) isReloadAsked = true;
      else void served.reload();
    };
    onHangUp(host.signals, { asked: reloadSoon, hungUp: resolve });
  });
  const serveAndStop = async (): Promise<'stopped'> => {
    served = await startService(config, host.logger);
    if (isReloadAsked) void served.reload();
    await onServing(served);
    await stopAsked;
    await served.stop();
    return 'stopped';
  };
  let end: 'stopped' | 'left' | undefined;
  try {
    end = await Promise.race([serveAndStop(), left]);
    return end;
  } finally {
    // Work that outlasted the grace period, or what a failure left open, may still keep the process alive; it was abandoned,
    // and others recover it.
    host.leaveBehind(end === 'left' ? 0 : LEFT_BEHIND_MS);
  }
}

function stopOnSignals(
  signals: Signals,
  { asked, askedAgain }: { readonly asked: () => void; readonly askedAgain: () => void },
): void {
  const request = new StopRequest(() => performance.now());
  const onSignal = (signal: NodeJS.Signals): void => {
    const count = request.take(signal as StopSignal);
    if (count === 'second') askedAgain();
    if (count === 'first') asked();
  };
  signals.on('SIGINT', onSignal);
  signals.on('SIGTERM', onSignal);
}
