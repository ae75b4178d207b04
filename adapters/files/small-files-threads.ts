import { Worker } from 'node:worker_threads';
import type { SmallFileJob, SmallFileResult, SmallFiles } from './small-files.js';

interface Waiting {
  readonly resolve: (result: Exclude<SmallFileResult, { readonly code: string }>) => void;
  readonly reject: (error: Error) => void;
}

/** The jobs that one thread has when another one is started. */
const BUSY_JOBS = 16;
/** As many as Node has for files. */
const MAX_THREADS = 4;

/**
 * Reads and writes small files on threads of their own. To write one takes nine system calls. Through a file handle each of them
 * wakes a thread and then the event loop; here one message does all. Nor do files wait for pictures, which are decoded on the
 * threads that Node uses for files. Jobs of one turn of the event loop are sent together. A thread is started when it is needed,
 * and does not keep the process alive while it has nothing to do.
 */
export class SmallFilesThreads implements SmallFiles {
  readonly #threads: SmallFilesThread[] = [];

  /** How many threads run. */
  get size(): number {
    return this.#threads.length;
  }

  async write(incoming: string, target: string, bytes: Uint8Array): Promise<void> {
    await this.#thread().do({ kind: 'write', incoming, target, bytes });
  }

  async read(path: string, maxBytes: number): Promise<Uint8Array | 'missing' | 'larger'> {
    return this.#thread().do({ kind: 'read', path, maxBytes }) as Promise<Uint8Array | 'missing' | 'larger'>;
  }

  async remove(path: string): Promise<void> {
    await this.#thread().do({ kind: 'remove', path });
  }

  /** The first that is not busy, so that few run while there is little to do; or else the one with the least to do. */
  #thread(): SmallFilesThread {
    const idle = this.#threads.find((thread) => thread.jobs < BUSY_JOBS);
    if (idle !== undefined) return idle;
    if (this.#threads.length < MAX_THREADS) return this.#start();
    return this.#threads.reduce((least, thread) => (thread.jobs < least.jobs ? thread : least));
  }

  #start(): SmallFilesThread {
    const started = new SmallFilesThread(() => this.#threads.splice(this.#threads.indexOf(started), 1));
    this.#threads.push(started);
    return started;
  }
}

class SmallFilesThread {
  readonly #worker = new Worker(new URL('./small-files-thread.js', import.meta.url));
  readonly #sent: Waiting[] = [];
  #unsent: { readonly job: SmallFileJob; readonly waiting: Waiting }[] = [];

  /** Calls `ended` when the thread has ended, which it does by a failure only. */
  constructor(ended: () => void) {
    let failure: unknown;
    this.#worker.on('message', (results: readonly SmallFileResult[]) => this.#receive(results));
    this.#worker.on('error', (error) => (failure = error));
    this.#worker.once('exit', () => {
      ended();
      const lost = Object.assign(new Error('The thread of the object folder has failed.', { cause: failure }), {
        code: 'thread failed',
      });
      for (const { reject } of [...this.#sent.splice(0), ...this.#unsent.splice(0).map(({ waiting }) => waiting)])
        reject(lost);
    });
    this.#worker.unref();
  }

  get jobs(): number {
    return this.#sent.length + this.#unsent.length;
  }

  /** Rejects with an error that has the system's code. */
  do(job: SmallFileJob): Promise<Exclude<SmallFileResult, { readonly code: string }>> {
    return new Promise((resolve, reject) => {
      if (this.jobs === 0) this.#worker.ref();
      if (this.#unsent.length === 0) setImmediate(() => this.#send());
      this.#unsent.push({ job, waiting: { resolve, reject } });
    });
  }

  #send(): void {
    const unsent = this.#unsent;
    this.#unsent = [];
    if (unsent.length === 0) return;
    for (const { waiting } of unsent) this.#sent.push(waiting);
    const jobs = unsent.map(({ job }) => job);
    const written = jobs.flatMap((job) => (job.kind === 'write' ? [job.bytes.buffer as ArrayBuffer] : []));
    this.#worker.postMessage(jobs, written);
  }

  #receive(results: readonly SmallFileResult[]): void {
    const answered = this.#sent.splice(0, results.length);
    if (this.jobs === 0) this.#worker.unref();
    for (const [index, { resolve, reject }] of answered.entries()) {
      const result = results[index] as SmallFileResult;
      if (typeof result === 'object' && 'code' in result)
        reject(Object.assign(new Error(`A small file failed: ${result.code}.`), { code: result.code }));
      else resolve(result);
    }
  }
}
