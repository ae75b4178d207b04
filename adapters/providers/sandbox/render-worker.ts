import { Worker } from 'node:worker_threads';
import type { RenderJob, RenderMessage, RenderOutcome, RenderRequest } from './render-job.js';

const LOST: RenderOutcome = {
  state: 'failed',
  failure: { code: 'INTERNAL_ERROR', message: 'The sandbox stopped during rendering.', mayRetry: true },
};

/** One rendering thread. It keeps the process alive only while it has a job. */
export class RenderWorker {
  readonly #worker: Worker;
  #isDead = false;
  #settle: ((outcome: RenderOutcome) => void) | undefined;
  #onProgress: ((share: number) => void) | undefined;

  constructor() {
    this.#worker = new Worker(new URL('./render-thread.js', import.meta.url));
    this.#worker.unref();
    this.#worker.on('message', (message: RenderMessage) => {
      if ('outcome' in message) this.#settle?.(message.outcome);
      else this.#onProgress?.(message.progress);
    });
    this.#worker.on('error', () => this.#die());
    this.#worker.on('exit', () => this.#die());
  }

  get isDead(): boolean {
    return this.#isDead;
  }

  /** Renders one job; the next may be given once this has answered. A thread that dies answers with a failure. */
  async run(job: RenderJob, signal: AbortSignal, onProgress: (share: number) => void): Promise<RenderOutcome> {
    if (this.#isDead) return LOST;
    const abort = new Int32Array(new SharedArrayBuffer(4));
    const stop = (): void => void Atomics.store(abort, 0, 1);
    if (signal.aborted) stop();
    signal.addEventListener('abort', stop, { once: true });
    this.#worker.ref();
    try {
      return await new Promise<RenderOutcome>((resolve) => {
        this.#settle = resolve;
        this.#onProgress = onProgress;
        // The pixels of the references are transferred; they are no longer needed here.
        this.#worker.postMessage(
          { job, abort } satisfies RenderRequest,
          job.references.flatMap(({ pixels, mask }) =>
            [pixels, ...(mask === undefined ? [] : [mask])].map(({ buffer }) => buffer as ArrayBuffer),
          ),
        );
      });
    } finally {
      signal.removeEventListener('abort', stop);
      this.#settle = undefined;
      this.#onProgress = undefined;
      this.#worker.unref();
    }
  }

  async stop(): Promise<void> {
    await this.#worker.terminate();
  }

  #die(): void {
    this.#isDead = true;
    this.#settle?.(LOST);
  }
}
