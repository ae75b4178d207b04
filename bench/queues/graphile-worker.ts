import type { JobQueue } from './job-queue.js';
import { NpmLibrary } from './npm-library.js';

/** The newest version for every Node that we support, and the driver that it uses. */
export const GRAPHILE_WORKER = new NpmLibrary('graphile-worker', { 'graphile-worker': '0.17.3', 'pg': '8.23.1' });

/** As much of the library as is used here. */
interface GraphileWorker {
  readonly Logger: new (factory: () => (level: string, message: string) => void) => unknown;
  readonly makeWorkerUtils: (options: Preset) => Promise<{
    migrate(): Promise<void>;
    addJob(name: string, payload: unknown): Promise<unknown>;
    withPgClient<T>(act: (client: PgClient) => Promise<T>): Promise<T>;
    release(): Promise<void>;
  }>;
  readonly run: (
    options: Preset & {
      readonly taskList: Readonly<Record<string, (payload: { readonly id: string }) => Promise<void>>>;
      readonly parsedCronItems: readonly [];
      readonly noHandleSignals: true;
    },
  ) => Promise<{
    readonly events: { on(event: 'job:complete', listener: () => void): unknown };
    stop(): Promise<void>;
  }>;
}

interface PgClient {
  query(text: string): Promise<{ readonly rows: readonly { readonly open: boolean }[] }>;
}

interface Preset {
  readonly preset: { readonly worker: Readonly<Record<string, unknown>> };
}

const NAME = 'job';
/** As its documentation advises: with fewer connections, jobs wait for one. */
const CONNECTIONS_BESIDE_JOBS = 2;
const QUIET = new Set(['info', 'debug']);

/** A queue with the defaults of its documentation: jobs that have ended are removed, each by a statement of its own. */
export async function openGraphileWorker({
  url,
  concurrency,
}: {
  readonly url: string;
  readonly concurrency: number;
}): Promise<JobQueue> {
  const { Logger, makeWorkerUtils, run } = GRAPHILE_WORKER.load() as GraphileWorker;
  // It would print a line for each job.
  const logger = new Logger(() => (level, message) => {
    if (!QUIET.has(level)) console.error(message);
  });
  const worker = { connectionString: url, logger };
  const utils = await makeWorkerUtils({ preset: { worker } });
  await utils.migrate();
  let runner: Awaited<ReturnType<GraphileWorker['run']>> | undefined;
  return {
    add: async (id) => void (await utils.addJob(NAME, { id })),
    async work({ started, ended }) {
      const maxPoolSize = concurrency + CONNECTIONS_BESIDE_JOBS;
      runner = await run({
        preset: { worker: { ...worker, concurrentJobs: concurrency, maxPoolSize } },
        taskList: {
          [NAME]: ({ id }) => {
            started(id);
            return Promise.resolve();
          },
        },
        parsedCronItems: [],
        noHandleSignals: true,
      });
      runner.events.on('job:complete', ended);
    },
    /** It tells the end of a job before the statement that removes it is answered. */
    async stored() {
      const isOpen = async (): Promise<boolean> => {
        const { rows } = await utils.withPgClient((client) =>
          client.query('SELECT EXISTS (SELECT FROM graphile_worker.jobs) AS open'),
        );
        return rows[0]?.open ?? false;
      };
      while (await isOpen());
    },
    async close() {
      await runner?.stop();
      await utils.release();
    },
  };
}
