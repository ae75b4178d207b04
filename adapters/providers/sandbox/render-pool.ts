import { availableParallelism } from 'node:os';
import type { RenderJob, RenderOutcome } from './render-job.js';
import { RenderWorker } from './render-worker.js';

export interface RenderTicket {
  /** Called when a thread is free, so that a waiting job holds no bytes. */
  prepare(): Promise<RenderJob>;
  readonly signal: AbortSignal;
  onProgress(share: number): void;
}

/**
 * A few rendering threads, started when first needed. Jobs wait in the order they came; how many may wait is the
 * caller's to bound.
 */
export class RenderPool {
  readonly #limit: number;
  readonly #idle: RenderWorker[] = [];
  readonly #waiting = new Set<() => void>();
  readonly #running = new Set<Promise<unknown>>();
  #busy = 0;

  constructor(threads: number = Math.max(1, Math.min(4, availableParallelism() - 1))) {
    this.#limit = threads;
  }

  /** Rejects only when `prepare` does. */
  async run(ticket: RenderTicket): Promise<RenderOutcome> {
    if (!(await this.#takeTurn(ticket.signal))) return { state: 'aborted' };
    try {
      const running = this.#render(ticket);
      this.#running.add(running);
      return await running.finally(() => this.#running.delete(running));
    } finally {
      this.#passTurn();
    }
  }

  /** Waits for what is running, which its owner has aborted, and ends the threads. */
  async close(): Promise<void> {
    await Promise.allSettled(this.#running);
    await Promise.all(this.#idle.splice(0).map((worker) => worker.stop()));
  }

  async #render(ticket: RenderTicket): Promise<RenderOutcome> {
    const job = await ticket.prepare();
    // The image library must be loaded here before any thread loads it, or its native code is unloaded with the thread.
    await import('sharp');
    let worker = this.#idle.pop();
    while (worker?.isDead === true) worker = this.#idle.pop();
    worker ??= new RenderWorker();
    const outcome = await worker.run(job, ticket.signal, (share) => ticket.onProgress(share));
    if (!worker.isDead) this.#idle.push(worker);
    return outcome;
  }

  /** Answers false if the job was aborted while it waited. */
  #takeTurn(signal: AbortSignal): Promise<boolean> {
    if (signal.aborted) return Promise.resolve(false);
    if (this.#busy < this.#limit) {
      this.#busy += 1;
      return Promise.resolve(true);
    }
    return new Promise((resolve) => {
      const turn = (): void => {
        signal.removeEventListener('abort', giveUp);
        resolve(true);
      };
      const giveUp = (): void => {
        this.#waiting.delete(turn);
        resolve(false);
      };
      this.#waiting.add(turn);
      signal.addEventListener('abort', giveUp, { once: true });
    });
  }

  /** The turn is handed directly to the next waiting job, so that no later job can take it as well. */
  #passTurn(): void {
    const [next] = this.#waiting;
    if (next === undefined) {
      this.#busy -= 1;
      return;
    }
    this.#waiting.delete(next);
    next();
  }
}
