import { closeSync, openSync } from 'node:fs';
import type { Logger } from 'pino';
import { CatalogInvalid } from '../../adapters/catalog-file/file-catalog.js';
import { SystemClock } from '../../adapters/system/system-clock.js';
import type { Config } from '../config/config.js';
import { hostAndPort, isUnspecified } from '../config/network-address.js';
import type { OpenGrpc } from '../grpc/open-grpc.js';
import type { HttpHost } from '../http/host/server.js';
import type { InternalServer } from '../http/internal/internal-server.js';
import { createLogger, logTo } from '../logging/logging.js';
import { Metrics } from '../metrics/metrics.js';
import { Outages } from '../outages/outages.js';
import { placeOf } from '../stores/open-database.js';
import { bindServer } from '../wiring/modules.js';
import { configuredUrl, openProgram, type Program } from '../wiring/open-program.js';
import { resolveParts, ROOTS, type Roots } from '../wiring/parts.js';
import type { Worker } from '../worker/worker.js';
import { FirstKeyFile, firstKeyPath } from './first-key-file.js';
import { type Demo, demoApp, firstStart } from './first-start.js';
import { ServedUrlFile } from './served-url-file.js';

/** The process that a service runs in. */
export interface ServiceHost {
  readonly logger: Logger;
  readonly signals: Signals;
  /** Anything left open may keep the process alive for at most this many milliseconds. */
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
  // Signals are handled before anything is served: the process may be asked to stop as soon as it is ready.
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
    // A start reads the catalog first and may then take minutes: the catalog is reloaded once it ends.
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

/** How long a stopped process may take to exit by itself. */
const LEFT_BEHIND_MS = 1_000;

export interface Served {
  /** The address for clients; null for a worker, which accepts no requests. */
  readonly url: string | null;
  /** `host:port` that the process listens on, for which a proxy may have another URL; null for a worker. */
  readonly listening: string | null;
  /** The account that the first start over an empty database created. */
  readonly demo: Demo | null;
  /** The App of the demo account of an earlier start, for which another key can be made; null without one. */
  readonly demoAppId: string | null;
  /** Whether this installation created the key. The check does not mark the key as used. */
  knowsKey(secret: string): Promise<boolean>;
  /**
   * Deletes the file with the key of the first start as soon as the key was used. Returns whether the file is there with
   * an unused key. Call it once the file of this start, if there is one, is written.
   */
  watchFirstKey(): Promise<boolean>;
  /** Reloads the catalog and the file of callers. The log reports a faulty file, and the last good one stays in use. */
  reload(): Promise<void>;
  /** Finishes requests, hands leases back, and closes the stores. */
  stop(): Promise<void>;
}

/** Starts the parts of the configured role in this process. Throws one sentence when it cannot. */
export async function startService(config: Config, logger: Logger = createLogger(config.log)): Promise<Served> {
  let url = configuredUrl(config);
  const metrics = config.internal.port === undefined ? undefined : new Metrics();
  const outages = new Outages({ logger, clock: new SystemClock({ keepsProcessAlive: false }) });
  const quiet = outages.quiet(logTo(logger));
  const log = metrics?.warnings.counted(quiet) ?? quiet;
  const publicUrl = () => url;
  const program = await openProgram(config, 'server', { log, publicUrl, metrics, outages });
  const { context } = program;
  const firstKey = new FirstKeyFile({
    path: firstKeyPath(config),
    context,
    clock: new SystemClock({ keepsProcessAlive: false }),
    logger,
  });
  program.keep({ close: async () => firstKey.close() });
  const urlFile = program.keep(new ServedUrlFile(config));
  const roots: Roots = {};
  try {
    const onCredentialUse = (credentialId: string): void => firstKey.used(credentialId);
    const container = await bindServer(program, config, { logger, publicUrl, metrics, onCredentialUse });
    // Every part is made before anything listens.
    for (const name of ROOTS) Object.assign(roots, resolveParts(container, [name]));
    const { http, grpc, internal, worker } = roots;
    const at = await http?.listen(config.rest.host, config.rest.port);
    if (at !== undefined) url = configuredUrl(config, at.port);
    const listening = at === undefined ? null : hostAndPort(at);
    await listenForServices(grpc, config, logger);
    metrics?.process.start();
    // Only once the front listens: a process that accepts no requests yet is not reported as ready.
    const internalAt = await internal?.listen(config.internal.host, config.internal.port ?? 0);
    // Only once nothing else can fail: the key that it creates is shown once.
    const demo = config.role === 'all' ? await firstStart(context, { hasSignIn: config.signIn.enabled }) : null;
    const demoAppId = config.role === 'all' && demo === null ? await demoApp(context) : null;
    await worker?.start();
    if (http) urlFile.write(url);
    const addresses = {
      ...(listening === null ? {} : { address: url, listening }),
      ...(internalAt ? { internal: hostAndPort(internalAt) } : {}),
    };
    logger.info({ role: config.role, ...addresses, ...whereData(config), worker: worker !== undefined }, 'serving');
    if (http && config.rest.publicUrl === undefined && isUnspecified(config.rest.host))
      logger.warn(
        { address: url },
        'outputs get addresses that only this machine can open: set rest.public_url or DARKROOM_REST_PUBLIC_URL',
      );
    const reloaded = {
      catalogFile: config.catalog,
      readCatalogAgain: () => program.readCatalogAgain(),
      readCallersAgain: () => grpc?.readCallersAgain(),
      logger,
    };
    return {
      url: http ? url : null,
      listening,
      demo,
      demoAppId,
      knowsKey: async (secret) =>
        (await context.credentials.findKey({ digest: context.digests.keyed(secret) })) !== null,
      watchFirstKey: () => firstKey.watch(),
      reload: () => reload(reloaded),
      stop: () => stopParts({ ...roots, program, outages, config, logger }),
    };
  } catch (error) {
    await Promise.all([roots.http?.close(0), roots.grpc?.close(0), roots.internal?.close(0)]);
    await program.close();
    throw error;
  }
}

async function listenForServices(grpc: Roots['grpc'], { grpc: options }: Config, logger: Logger): Promise<void> {
  if (grpc === undefined) return;
  const port = await grpc.listen(options.host, options.port ?? 0);
  const isOpen = options.callersFile === undefined;
  logger.info({ listening: `${options.host}:${port}`, isOpen }, 'serving gRPC');
  if (isOpen) logger.warn('any local process may call gRPC');
}

/** Names in the log are in camelCase. */
function whereData(config: Config): Readonly<Record<string, string>> {
  const { facts } = placeOf(config);
  return Object.fromEntries(
    Object.entries(facts).map(([name, value]) => [
      name.replaceAll(/_([a-z])/g, (_, letter: string) => letter.toUpperCase()),
      value,
    ]),
  );
}

/** How long a scrape in progress may delay a stopped process. */
const INTERNAL_GRACE_MS = 1_000;

/** The parts of a service that stop. */
interface Parts {
  readonly http?: Pick<HttpHost, 'close'>;
  readonly grpc?: Pick<OpenGrpc, 'close'>;
  readonly internal?: Pick<InternalServer, 'stopping' | 'close'>;
  readonly worker?: Pick<Worker, 'stop'>;
  readonly program: Pick<Program, 'close'>;
  readonly outages: Pick<Outages, 'close'>;
  readonly config: Pick<Config, 'worker'>;
  readonly logger: Pick<Logger, 'info'>;
}

/** Stops all parts, even if one of them throws, and then throws the first error. */
export async function stopParts({ internal, outages, logger, ...parts }: Parts): Promise<void> {
  logger.info('stopping');
  internal?.stopping();
  try {
    await stopProgram(parts);
  } finally {
    outages.close();
    // Probes are answered until the end.
    await internal?.close(INTERNAL_GRACE_MS);
  }
  logger.info('stopped');
}

async function stopProgram({
  http,
  grpc,
  worker,
  program,
  config: {
    worker: { stopGraceMs },
  },
}: Omit<Parts, 'internal' | 'outages' | 'logger'>): Promise<void> {
  const stopped = await Promise.allSettled([worker?.stop(), http?.close(stopGraceMs), grpc?.close(stopGraceMs)]);
  // Runs that outlive their grace continue until the process ends. Until then no other server may treat them as dead.
  const [work] = stopped;
  const hasEnded = work.status === 'fulfilled' && work.value !== false;
  await program.close({ keepsLock: !hasEnded });
  for (const one of stopped) if (one.status === 'rejected') throw one.reason;
}

export interface Reloaded {
  /** The file that `readCatalogAgain` reads. */
  readonly catalogFile: string;
  readCatalogAgain(): Promise<number>;
  /** Logs its result by itself. */
  readCallersAgain(): void;
  readonly logger: Logger;
}

/**
 * Reloads what may change while the process runs. A faulty file is reported, one line per fault, and the last good one
 * stays in use.
 */
export async function reload(reloaded: Reloaded): Promise<void> {
  const { catalogFile, logger } = reloaded;
  try {
    logger.info({ catalog: catalogFile, models: await reloaded.readCatalogAgain() }, 'catalog read');
  } catch (error) {
    const faults = error instanceof CatalogInvalid ? error.faults : [String(error)];
    for (const fault of faults) logger.error({ fault }, 'catalog not reloaded');
  }
  reloaded.readCallersAgain();
}

export type StopSignal = 'SIGINT' | 'SIGTERM';

/** The source of signals: the process itself, or a substitute in tests. */
export interface Signals {
  on(signal: NodeJS.Signals, listener: (signal: NodeJS.Signals) => void): unknown;
  off(signal: NodeJS.Signals, listener: (signal: NodeJS.Signals) => void): unknown;
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

/**
 * How far apart the signals of one request to stop may come, in milliseconds: a terminal sends Ctrl-C, and a supervisor
 * SIGTERM, to the whole process group, and npm, which is in it, forwards the signal to us.
 */
const SAME_REQUEST_MS = 500;

/**
 * Distinguishes the signals of one request to stop from those of the next. Ctrl-C and a later SIGTERM of a supervisor are
 * two requests.
 */
export class StopRequest {
  /** The time of the last request by each signal: a repeat of the signal soon after belongs to it. */
  private readonly cameAt = new Map<StopSignal, number>();
  private isAsked = false;

  /** `now` in milliseconds, of a clock that only goes forward. */
  constructor(private readonly now: () => number) {}

  /** Whether a signal is the first request, a later one, or part of a request that was counted. */
  take(signal: StopSignal): 'first' | 'second' | 'same' {
    const now = this.now();
    const cameAt = this.cameAt.get(signal);
    // Measured from the first signal of a request, so that quick repeats count in the end.
    if (cameAt !== undefined && now - cameAt <= SAME_REQUEST_MS) return 'same';
    this.cameAt.set(signal, now);
    if (this.isAsked) return 'second';
    this.isAsked = true;
    return 'first';
  }
}

/**
 * Calls `asked` at every SIGHUP, but `hungUp` if it means that the terminal of this process was closed: then a service
 * ends, as it does by default.
 */
function onHangUp(
  signals: Signals,
  { asked, hungUp }: { readonly asked: () => void; readonly hungUp: () => void },
): void {
  const hadTerminal = hasTerminal();
  signals.on('SIGHUP', () => {
    if (hadTerminal && !hasTerminal()) hungUp();
    else asked();
  });
}

function hasTerminal(): boolean {
  try {
    closeSync(openSync('/dev/tty', 'r'));
    return true;
  } catch {
    return false;
  }
}
