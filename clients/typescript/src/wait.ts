import { ApiError, EventsUnsupported, WaitTimeout } from './errors.js';
import { generationEvents } from './events.js';
import type { GenerationTask } from './generated/api.js';
import { anySignal, pause } from './pause.js';
import { PATIENT_TRIES } from './retry.js';
import type { Transport } from './transport.js';

const MIN_POLL_MS = 50;
const MAX_POLL_MS = 60_000;
/** The longest delay of a timer; a longer wait is unlimited. */
const MAX_TIMER_MS = 2 ** 31 - 1;
/** How long the service may delay a response, in seconds; less than proxies and the request's own limit allow. */
const HELD_SECONDS = 25;
/** A response that arrived sooner than this was not delayed. */
const HELD_MS = 1_000;
const CANCEL_TIMEOUT_MS = 15_000;

export interface WaitOptions {
  /** Ends the wait when it fires; its reason is thrown. */
  readonly signal?: AbortSignal | undefined;
  /** The generation's fate when `signal` fires: it is cancelled, or continues. `leave` if absent. */
  readonly onAbort?: 'cancel' | 'leave';
  /**
   * The total time to wait, in milliseconds; unlimited if absent. After it, `WaitTimeout` is thrown, and the
   * generation continues.
   */
  readonly timeoutMs?: number;
  /** Called with the initial task, and after each change of its status. */
  readonly onStatus?: (task: GenerationTask) => void;
  /** Called with the progress of a running generation, from 0 to 1, if its provider reports it. */
  readonly onProgress?: (progress: number) => void;
  /** Called after every event and response, with the task and the number of tries. */
  readonly onAnswer?: (task: GenerationTask, tries: number) => void;
  /** Called when the service did not respond and the request is repeated. */
  readonly onRetry?: (() => void) | undefined;
}

export function hasEnded(task: GenerationTask): boolean {
  return task.poll_after_ms === undefined || ['succeeded', 'failed', 'cancelled'].includes(task.status);
}

/**
 * Waits until the generation has ended, and returns its outcome. It follows the events; if the service, or a proxy in
 * front of it, does not stream them, the service is polled.
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

/** Returns early if there are no events. */
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

/**
 * Services that can delay a response until the end are asked to do so; others are polled at the interval they
 * specify.
 */
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

/** Requests a cancel after the caller has stopped waiting, and waits for the response for a limited time only. */
export async function askToCancel(transport: Transport, { generation_id }: GenerationTask): Promise<void> {
  const signal = AbortSignal.timeout(CANCEL_TIMEOUT_MS);
  await transport.post(`/generations/${generation_id}/cancel`, undefined, { signal }).catch(() => undefined);
}
