import { Authenticator } from '../core/access/authenticate.js';
import type { Logger } from 'pino';
import type { Config } from './config/config.js';
import { firstStart, type Demo } from './first-start.js';
import { createLogger, logTo } from './logging.js';
import { createRestServer } from './rest/server.js';
import { configuredUrl, openProgram, type Program } from './wiring.js';
import { Worker } from './worker/worker.js';

export interface Served {
  readonly url: string;
  /** What the first start of a data folder made. */
  readonly demo: Demo | null;
  /** Finishes requests, hands leases back, and lets the data folder go. */
  stop(): Promise<void>;
}

/** Starts the whole service in this process. Throws one sentence when it cannot. */
export async function startService(config: Config, logger: Logger = createLogger(config.log)): Promise<Served> {
  let url = configuredUrl(config);
  const program = await openProgram(config, 'server', { log: logTo(logger), publicUrl: () => url });
  const authenticator = new Authenticator(program.context);
  const rest = createRestServer({
    context: program.context,
    authenticator,
    logger,
    limits: config.rest.limits,
    signedObjects: program.objects.signedObjects,
    readiness: () => isReady(program),
  });
  try {
    const { port } = await rest.listen(config.rest.host, config.rest.port);
    url = configuredUrl(config, port);
    // Only once nothing stands in the way any more: the key it makes is shown once.
    const demo = await firstStart(program.context);
    const worker = config.worker.enabled ? new Worker(program.context, { ...config.worker, workerId: `${process.pid}-${program.context.ids.uuid()}` }) : undefined;
    await worker?.start();
    logger.info({ address: url, dataFolder: config.dataFolder, worker: config.worker.enabled }, 'serving');
    return { url, demo, stop: () => stop(rest, worker, program, config, logger).finally(() => authenticator.close()) };
  } catch (error) {
    await rest.close(0);
    await program.close();
    throw error;
  }
}

async function stop(rest: ReturnType<typeof createRestServer>, worker: Worker | undefined, program: Program, config: Config, logger: Logger): Promise<void> {
  logger.info('stopping');
  await Promise.all([rest.close(config.worker.stopGraceMs), worker?.stop()]);
  await program.close();
  logger.info('stopped');
}

/** Whether the store answers, and still writes. The id is nobody's. */
async function isReady({ context, stores }: Program): Promise<boolean> {
  if (!stores.isWritable()) return false;
  try {
    await context.accounts.read('00000000-0000-7000-8000-000000000000');
    return true;
  } catch {
    return false;
  }
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
