import type { ProviderFailure, ProviderReport } from '../../../core/ports/provider.js';
import type { Rendered } from './render-job.js';

type Result = { readonly outputs: readonly Rendered[] } | { readonly failure: ProviderFailure };

/** One task as the sandbox remembers it. Times come from the caller's clock, in milliseconds. */
export class SandboxTask {
  readonly #abort = new AbortController();
  #result: Result | undefined;
  #isCancelled = false;
  #progress = 0;
  readonly #unread = new Set<number>();

  constructor(
    readonly reference: string,
    readonly startedAt: number,
    readonly terms: {
      /** The task does not finish before this; `Infinity`: never by itself. */
      readonly readyAt: number;
      readonly ignoresCancel: boolean;
    },
  ) {}

  get signal(): AbortSignal {
    return this.#abort.signal;
  }

  advance(progress: number): void {
    this.#progress = Math.max(this.#progress, Math.min(1, progress));
  }

  /** The first result counts. */
  finish(result: Result): void {
    if (this.#isCancelled || this.#result !== undefined) return;
    this.#result = result;
    this.#progress = 1;
    if ('outputs' in result) result.outputs.forEach((_, index) => this.#unread.add(index));
  }

  /** A task that has ended stays as it is. */
  cancel(now: number): void {
    if (this.terms.ignoresCancel || this.isOver(now)) return;
    this.stop();
  }

  /** Ends it regardless of its terms. */
  stop(): void {
    this.#isCancelled = true;
    this.#result = undefined;
    this.#unread.clear();
    this.#abort.abort();
  }

  isOver(now: number): boolean {
    return this.#isCancelled || (this.#result !== undefined && now >= this.terms.readyAt);
  }

  report(now: number): ProviderReport {
    if (this.#isCancelled) return { state: 'cancelled', outputs: [] };
    if (this.#result === undefined || now < this.terms.readyAt)
      return { state: 'running', progress: this.#progressAt(now) };
    if ('failure' in this.#result) return { state: 'failed', failure: this.#result.failure };
    return { state: 'succeeded', outputs: this.#result.outputs.map(({ kind, mediaType }) => ({ kind, mediaType })) };
  }

  /** Progress of the slower of the two: the painting and the delay that was asked for. */
  #progressAt(now: number): number {
    const delayMs = this.terms.readyAt - this.startedAt;
    const elapsed = delayMs <= 0 ? 1 : Math.min(1, Math.max(0, now - this.startedAt) / delayMs);
    return Math.min(this.#progress, elapsed);
  }

  read(index: number, now: number): Uint8Array {
    const output =
      this.isOver(now) && this.#result !== undefined && 'outputs' in this.#result
        ? this.#result.outputs[index]
        : undefined;
    if (output === undefined) throw new Error(`The sandbox task has no output ${index}.`);
    this.#unread.delete(index);
    return output.bytes;
  }

  /** Whether there is something to keep, though it may not be due yet. */
  get hasResult(): boolean {
    return this.#result !== undefined;
  }

  get isRead(): boolean {
    return this.#unread.size === 0;
  }

  get byteSize(): number {
    if (this.#result === undefined || 'failure' in this.#result) return 0;
    return this.#result.outputs.reduce((sum, output) => sum + output.bytes.byteLength, 0);
  }
}
