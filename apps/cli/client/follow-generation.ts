import { setTimeout as sleep } from 'node:timers/promises';
import { Failure } from '../exit.js';
import type { Progress } from './progress.js';
import type { CallOptions, RestClient } from './rest-client.js';
import { PATIENT_TRIES } from './retry.js';
import type { Task } from './service-types.js';

const MIN_POLL_MS = 50;
const MAX_POLL_MS = 60_000;
/** Timers count no further; a longer wait is unbounded. */
const MAX_TIMER_MS = 2 ** 31 - 1;

export interface FollowOptions {
  readonly progress: Progress;
  /** Asks for a cancel when it fires; the final state is waited for all the same. */
  readonly cancelOn: AbortSignal;
  /** Ends the waiting when it fires: its reason is thrown. */
  readonly leaveOn: AbortSignal;
  /** Told that the cancel is on its way, and that the server has taken it. */
  readonly onCancelling?: (step: 'asked' | 'taken') => void;
  /** How long to wait in all; without end when absent. */
  readonly timeoutMs?: number;
}

export function isTerminal(task: Task): boolean {
  return task.poll_after_ms === undefined || ['succeeded', 'failed', 'cancelled'].includes(task.status);
}

/** Polls as often as the server asks for until the generation has ended, and answers how it did. */
export async function followGeneration(
  client: RestClient,
  accepted: Task,
  { progress, cancelOn, leaveOn, onCancelling = () => undefined, timeoutMs }: FollowOptions,
): Promise<Task> {
  const timeout =
    timeoutMs === undefined || timeoutMs > MAX_TIMER_MS ? [] : [AbortSignal.timeout(Math.ceil(timeoutMs))];
  const path = `/generations/${accepted.generation_id}`;
  const patient: CallOptions = {
    maxTries: PATIENT_TRIES,
    onRetry: () => {
      progress.note('the server does not answer; trying again');
    },
  };
  let task = accepted;
  let cancelRequested = false;
  progress.step(task.status);
  while (!isTerminal(task)) {
    leaveOn.throwIfAborted();
    if (cancelOn.aborted && !cancelRequested) {
      cancelRequested = true;
      onCancelling('asked');
      progress.note('cancelling');
      task = (await client.post<Task>(`${path}/cancel`, undefined, { ...patient, signal: leaveOn })).data;
      onCancelling('taken');
      continue;
    }
    if (timeout.some(({ aborted }) => aborted))
      throw new Failure(`It was still ${task.status} when the waiting time was over.`);
    const stop = AbortSignal.any(cancelRequested ? [leaveOn, ...timeout] : [leaveOn, cancelOn, ...timeout]);
    try {
      await sleep(Math.min(MAX_POLL_MS, Math.max(MIN_POLL_MS, task.poll_after_ms ?? 0)), undefined, { signal: stop });
      const { data, tries } = await client.get<Task>(path, { ...patient, signal: stop });
      if (data.status !== task.status) progress.step(data.status);
      else if (tries > 1) progress.note(data.status);
      task = data;
    } catch (error) {
      // What stopped the waiting is seen to above.
      if (!stop.aborted) throw error;
    }
  }
  return task;
}
