import type { JobQueue } from './job-queue.js';
import { NpmLibrary } from './npm-library.js';

export const BULLMQ = new NpmLibrary('BullMQ', { bullmq: '6.7.0', ioredis: '5.11.1' });

/** As much of the library as is used here. */
interface BullMq {
  readonly Queue: new (
    name: string,
    options: Connected,
  ) => {
    waitUntilReady(): Promise<unknown>;
    add(name: string, data: unknown): Promise<unknown>;
    close(): Promise<void>;
  };
  readonly Worker: new (
    name: string,
    handler: Handler,
    options: Connected & { readonly concurrency: number },
  ) => {
    waitUntilReady(): Promise<unknown>;
    on(event: 'completed', listener: () => void): unknown;
    on(event: 'error', listener: (error: Error) => void): unknown;
    close(): Promise<void>;
  };
}

type Handler = (job: { readonly data: { readonly id: string } }) => Promise<void>;

interface Connected {
  readonly connection: { readonly host: string; readonly port: number; readonly maxRetriesPerRequest: null };
}

const NAME = 'bench';

/** A queue with the defaults of its documentation: finished jobs are kept, and no job is retried. */
export async function openBullMq({
  port,
  concurrency,
}: {
  readonly port: number;
  readonly concurrency: number;
}): Promise<JobQueue> {
  const { Queue, Worker } = BULLMQ.load() as BullMq;
  const connection = { host: '127.0.0.1', port, maxRetriesPerRequest: null };
  const queue = new Queue(NAME, { connection });
  await queue.waitUntilReady();
  let worker: InstanceType<BullMq['Worker']> | undefined;
  return {
    add: async (id) => void (await queue.add('job', { id })),
    async work({ started, ended }) {
      worker = new Worker(NAME, async ({ data }) => started(data.id), { connection, concurrency });
      worker.on('error', (error) => console.error(error));
      worker.on('completed', ended);
      await worker.waitUntilReady();
    },
    async close() {
      await worker?.close();
      await queue.close();
    },
  };
}
