import { ApiError, EventsUnsupported, WaitTimeout } from './errors.js';
import { generationEvents } from './events.js';
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
  /** Called with 0 to 1, how much of a running generation is done, if its provider says so. */
  readonly onProgress?: (progress: number) => void;
  /** Called after every event and answer, with the task and how often it was asked for. */
  readonly onAnswer?: (task: GenerationTask, tries: number) => void;
  /** Called when the service did not answer and is asked again. */
  readonly onRetry?: (() => void) | undefined;
}

export function hasEnded(task: GenerationTask): boolean {
  return task.poll_after_ms === undefined || ['succeeded', 'failed', 'cancelled'].includes(task.status);
}

/**
 * Waits until the generation has ended, and answers how it did. It follows the events; where the service, or a proxy
 * before it, does not stream them, it is polled.
 */
export async function waitFor(
  transport: Transport,
  accepted: GenerationTask,
  options: WaitOptions = {},
): Promise<GenerationTask> {
  const { signal, onAbort = 'leave', timeoutMs } = options;
  const timeout =
    timeoutMs === undefined || timeoutMs > MAX_TIMER_MS ? undefined : AbortSignal.timeout(Math.ceil(timeoutMs));
  const seen: Seen = { task: accepted };
  options.onStatus?.(accepted);
  try {
    const stop = anySignal(signal, timeout);
    await byEvents(transport, seen, { ...options, signal: stop });
    await byPolling(transport, seen, { ...options, signal: stop });
    return seen.task;
  } catch (error) {
    if (signal?.aborted && onAbort === 'cancel') await askToCancel(transport, seen.task);
    signal?.throwIfAborted();
    if (timeout?.aborted) throw new WaitTimeout(seen.task);
    throw error;
  }
}

interface Seen {
  task: GenerationTask;
}

/** Leaves early where there are no events. */
async function byEvents(
  transport: Transport,
  seen: Seen,
  { signal, onStatus, onProgress, onAnswer, onRetry }: WaitOptions,
): Promise<void> {
  if (hasEnded(seen.task)) return;
  let isAfterRetry = false;
  const retried = () => {
    isAfterRetry = true;
    onRetry?.();
  };
  try {
    const events = generationEvents(transport, seen.task.generation_id, { signal, onRetry: retried });
    for await (const { task, type, progress } of events) {
      const { status } = seen.task;
      seen.task = task;
      onAnswer?.(task, isAfterRetry ? 2 : 1);
      isAfterRetry = false;
      if (task.status !== status) onStatus?.(task);
      if (type === 'progress' && progress !== undefined) onProgress?.(progress);
    }
  } catch (error) {
    const isAbsent = error instanceof ApiError && error.code === 'ROUTE_NOT_FOUND';
    if (!isAbsent && !(error instanceof EventsUnsupported)) throw error;
  }
}

/** Services that can hold an answer back until the end are asked to; others are asked as often as they say. */
async function byPolling(
  transport: Transport,
  seen: Seen,
  { signal, onStatus, onAnswer, onRetry }: WaitOptions,
): Promise<void> {
  const path = `/generations/${seen.task.generation_id}`;
  // Whether the next request may be sent at once: the first one, and those after an answer that was held back.
  let isHeld = true;
  while (!hasEnded(seen.task)) {
    const { task } = seen;
    if (!isHeld) await pause(Math.min(MAX_POLL_MS, Math.max(MIN_POLL_MS, task.poll_after_ms ?? 0)), signal);
    const sentAt = Date.now();
    const { data, headers, tries } = await transport.get<GenerationTask>(path, {
      maxTries: PATIENT_TRIES,
      signal,
      headers: { prefer: `wait=${HELD_SECONDS}` },
      onRetry,
    });
    isHeld = headers.get('preference-applied') !== null && Date.now() - sentAt >= HELD_MS;
    seen.task = data;
    onAnswer?.(data, tries);
    if (data.status !== task.status) onStatus?.(data);
  }
}

/** Once an answer was wanted no more: whether it was heard is not waited for any longer than this. */
export async function askToCancel(transport: Transport, { generation_id }: GenerationTask): Promise<void> {
  const signal = AbortSignal.timeout(CANCEL_TIMEOUT_MS);
  await transport.post(`/generations/${generation_id}/cancel`, undefined, { signal }).catch(() => undefined);
}
