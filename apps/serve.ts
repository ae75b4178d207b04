import { Authenticator } from '../core/access/authenticate.js';
import type { Logger } from 'pino';
import type { Config } from './config/config.js';
import { firstStart, type Demo } from './first-start.js';
import { createLogger, logTo } from './logging.js';
import { createRestServer, type RestServer } from './rest/server.js';
import { configuredUrl, openProgram, type Program } from './wiring.js';
import { Worker } from './worker/worker.js';

export interface Served {
  /** Where requests are taken; null for a worker, which takes none. */
  readonly url: string | null;
  /** What the first start over an empty database made. */
  readonly demo: Demo | null;
  /** Finishes requests, hands leases back, and lets the stores go. */
  stop(): Promise<void>;
}

/** Starts what the configured role asks for in this process. Throws one sentence when it cannot. */
export async function startService(config: Config, logger: Logger = createLogger(config.log)): Promise<Served> {
  let url = configuredUrl(config);
  const program = await openProgram(config, 'server', { log: logTo(logger), publicUrl: () => url });
  const front = config.role === 'worker' ? undefined : createFront(program, config, logger);
  try {
    if (front !== undefined) url = configuredUrl(config, (await front.rest.listen(config.rest.host, config.rest.port)).port);
    // Only once nothing stands in the way any more: the key it makes is shown once.
    const demo = config.role === 'all' ? await firstStart(program.context) : null;
    const worker = works(config) ? new Worker(program.context, { ...config.worker, workerId: `${process.pid}-${program.context.ids.uuid()}` }) : undefined;
    await worker?.start();
    logger.info({ role: config.role, ...(front ? { address: url } : {}), ...whereData(config), worker: worker !== undefined }, 'serving');
    return { url: front ? url : null, demo, stop: () => stop({ front, worker, program, config, logger }) };
  } catch (error) {
    await front?.close(0);
    await program.close();
    throw error;
  }
}

function works({ role, worker }: Config): boolean {
  return role !== 'rest' && worker.enabled;
}

function whereData({ stores, dataFolder, mongo }: Config): Readonly<Record<string, string>> {
  return stores.database === 'mongo' ? { database: mongo.database } : { dataFolder };
}

interface Front {
  readonly rest: RestServer;
  close(graceMs: number): Promise<void>;
}

function createFront(program: Program, config: Config, logger: Logger): Front {
  const { context, signedObjects } = program;
  const authenticator = new Authenticator(context);
  const rest = createRestServer({
    context,
    authenticator,
    logger,
    limits: config.rest.limits,
    ...(signedObjects ? { signedObjects } : {}),
    readiness: () => program.isReady(),
  });
  return { rest, close: (graceMs) => rest.close(graceMs).finally(() => authenticator.close()) };
}

interface Parts {
  readonly front: Front | undefined;
  readonly worker: Worker | undefined;
  readonly program: Program;
  readonly config: Config;
  readonly logger: Logger;
}

async function stop({ front, worker, program, config, logger }: Parts): Promise<void> {
  logger.info('stopping');
  await Promise.all([front?.close(config.worker.stopGraceMs), worker?.stop()]);
  await program.close();
  logger.info('stopped');
}

/** Serves until the process is asked to stop, then stops in order; asked twice, it leaves at once. */
export async function serve(config: Config, onServing: (served: Served) => void | Promise<void> = () => undefined): Promise<void> {
  // Asked for before anything is served: whoever sees it ready may stop it right away.
  const stopAsked = stopSignal();
  const served = await startService(config);
  await onServing(served);
  await stopAsked;
  await served.stop();
}

function stopSignal(): Promise<void> {
  return new Promise((resolve) => {
    for (const signal of ['SIGINT', 'SIGTERM'] as const) {
      process.once(signal, () => {
        process.once(signal, () => process.exit(130));
        resolve();
      });
    }
  });
}
