import { WaitTimeout } from './errors.js';
import type { GenerationTask } from './generated/api.js';
import { anySignal, pause } from './pause.js';
import { PATIENT_TRIES } from './retry.js';
import type { Transport } from './transport.js';

const MIN_POLL_MS = 50;
const MAX_POLL_MS = 60_000;
/** Timers count no further; a longer wait is unbounded. */
const MAX_TIMER_MS = 2 ** 31 - 1;
/** How long the service may hold an answer back, in seconds; less than proxies and the request's own limit allow. */
const HELD_SECONDS = 25;
/** An answer that came sooner than this was not held back. */
const HELD_MS = 1_000;
const CANCEL_TIMEOUT_MS = 15_000;

export interface WaitOptions {
  /** Ends the waiting when it fires; its reason is thrown. */
  readonly signal?: AbortSignal | undefined;
  /** What becomes of the generation when `signal` fires: it is asked to cancel, or goes on. `leave` when absent. */
  readonly onAbort?: 'cancel' | 'leave';
  /** How long to wait in all, in milliseconds; without end when absent. `WaitTimeout` is thrown, the generation goes on. */
  readonly timeoutMs?: number;
  /** Called with the task as it is at first, and after each change of its status. */
  readonly onStatus?: (task: GenerationTask) => void;
  /** Called after every answer, with the task and how often it was asked for. */
  readonly onAnswer?: (task: GenerationTask, tries: number) => void;
  /** Called when the service did not answer and is asked again. */
  readonly onRetry?: (() => void) | undefined;
}

export function hasEnded(task: GenerationTask): boolean {
  return task.poll_after_ms === undefined || ['succeeded', 'failed', 'cancelled'].includes(task.status);
}

/**
 * Waits until the generation has ended, and answers how it did. Services that can hold an answer back until then are
 * asked to (`Prefer: wait`); others are polled as often as they ask for.
 */
export async function waitFor(
  transport: Transport,
  accepted: GenerationTask,
  { signal, onAbort = 'leave', timeoutMs, onStatus, onAnswer, onRetry }: WaitOptions = {},
): Promise<GenerationTask> {
  const timeout =
    timeoutMs === undefined || timeoutMs > MAX_TIMER_MS ? undefined : AbortSignal.timeout(Math.ceil(timeoutMs));
  const stop = anySignal(signal, timeout);
  const path = `/generations/${accepted.generation_id}`;
  let task = accepted;
  // Whether the next request may be sent at once: the first one, and those after an answer that was held back.
  let isHeld = true;
  onStatus?.(task);
  while (!hasEnded(task)) {
    try {
      stop.throwIfAborted();
      if (!isHeld) await pause(Math.min(MAX_POLL_MS, Math.max(MIN_POLL_MS, task.poll_after_ms ?? 0)), stop);
      const sentAt = Date.now();
      const { data, headers, tries } = await transport.get<GenerationTask>(path, {
        maxTries: PATIENT_TRIES,
        signal: stop,
        headers: { prefer: `wait=${HELD_SECONDS}` },
        onRetry,
      });
      isHeld = headers.get('preference-applied') !== null && Date.now() - sentAt >= HELD_MS;
      onAnswer?.(data, tries);
      if (data.status !== task.status) onStatus?.(data);
      task = data;
    } catch (error) {
      if (signal?.aborted && onAbort === 'cancel') await askToCancel(transport, task);
      signal?.throwIfAborted();
      if (timeout?.aborted) throw new WaitTimeout(task);
      throw error;
    }
  }
  return task;
}

/** Once an answer was wanted no more: whether it was heard is not waited for any longer than this. */
export async function askToCancel(transport: Transport, { generation_id }: GenerationTask): Promise<void> {
  const signal = AbortSignal.timeout(CANCEL_TIMEOUT_MS);
  await transport.post(`/generations/${generation_id}/cancel`, undefined, { signal }).catch(() => undefined);
}
