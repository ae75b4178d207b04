import type { Logger } from 'pino';
import type { Config } from '../config/config.js';
import type { OpenGrpc } from '../grpc/open-grpc.js';
import type { HttpHost } from '../http/host/server.js';
import type { InternalServer } from '../http/internal/internal-server.js';
import type { Outages } from '../outages/outages.js';
import type { Program } from '../wiring/open-program.js';
import type { Worker } from '../worker/worker.js';

/** How long a scrape in progress may delay a stopped process. */
const INTERNAL_GRACE_MS = 1_000;

/** What a service has to stop. */
interface Parts {
  readonly front: Pick<HttpHost, 'close'> | undefined;
  readonly grpc: Pick<OpenGrpc, 'close'> | undefined;
  readonly internal: Pick<InternalServer, 'stopping' | 'close'> | undefined;
  readonly worker: Pick<Worker, 'stop'> | undefined;
  readonly program: Pick<Program, 'close'>;
  readonly outages: Pick<Outages, 'close'>;
  readonly config: Pick<Config, 'worker'>;
  readonly logger: Pick<Logger, 'info'>;
}

/** Stops all parts, whatever one of them throws, and throws the first failure afterwards. */
export async function stopParts({
  front,
  grpc,
  internal,
  worker,
  program,
  outages,
  config,
  logger,
}: Parts): Promise<void> {
  logger.info('stopping');
  internal?.stopping();
  try {
    await stopProgram({ front, grpc, worker, program, config });
  } finally {
    outages.close();
    // Last of all: until then probes are answered.
    await internal?.close(INTERNAL_GRACE_MS);
  }
  logger.info('stopped');
}

async function stopProgram({
  front,
  grpc,
  worker,
  program,
  config,
}: Pick<Parts, 'front' | 'grpc' | 'worker' | 'program' | 'config'>): Promise<void> {
  const stopped = await Promise.allSettled([
    worker?.stop(),
    front?.close(config.worker.stopGraceMs),
    grpc?.close(config.worker.stopGraceMs),
  ]);
  // Runs that outlive their grace continue until the process ends. Until then no other server may treat them as dead.
  const [work] = stopped;
  const hasEnded = work.status === 'fulfilled' && work.value !== false;
  await program.close({ keepsLock: !hasEnded });
  for (const one of stopped) if (one.status === 'rejected') throw one.reason;
}
