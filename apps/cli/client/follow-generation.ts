import { setTimeout as sleep } from 'node:timers/promises';
import { Failure } from '../exit.js';
import type { Progress } from './progress.js';
import type { RestClient } from './rest-client.js';
import type { Task } from './service-types.js';

const MIN_POLL_MS = 50;
const MAX_POLL_MS = 60_000;

export interface FollowOptions {
  readonly progress: Progress;
  /** Asks for a cancel when it fires; the final state is waited for all the same. */
  readonly cancelOn: AbortSignal;
  /** How long to wait in all; without end when absent. */
  readonly timeoutMs?: number;
}

export function isTerminal(task: Task): boolean {
  return task.poll_after_ms === undefined || ['succeeded', 'failed', 'cancelled'].includes(task.status);
}

/** Polls as often as the server asks for until the generation has ended, and answers how it did. */
export async function followGeneration(client: RestClient, accepted: Task, { progress, cancelOn, timeoutMs }: FollowOptions): Promise<Task> {
  const deadline = timeoutMs === undefined ? Infinity : performance.now() + timeoutMs;
  let task = accepted;
  let cancelRequested = false;
  progress.step(task.status);
  while (!isTerminal(task)) {
    if (cancelOn.aborted && !cancelRequested) {
      cancelRequested = true;
      progress.note('cancelling');
      task = (await client.post<Task>(`/generations/${task.generation_id}/cancel`, undefined)).data;
      continue;
    }
    const left = deadline - performance.now();
    if (left <= 0) {
      const { generation_id, status } = task;
      throw new Failure(`Generation ${generation_id} is still ${status}; see darkroom status ${generation_id}.`, undefined, { generation_id });
    }
    await pause(Math.min(left, task.poll_after_ms ?? MIN_POLL_MS), cancelRequested ? undefined : cancelOn);
    if (cancelOn.aborted && !cancelRequested) continue;
    const { data } = await client.get<Task>(`/generations/${task.generation_id}`);
    if (data.status !== task.status) progress.step(data.status);
    task = data;
  }
  return task;
}

/** Ends early, without an error, when the signal fires. */
async function pause(ms: number, signal?: AbortSignal): Promise<void> {
  const bounded = Math.min(MAX_POLL_MS, Math.max(MIN_POLL_MS, ms));
  await sleep(bounded, undefined, signal === undefined ? {} : { signal }).catch(() => undefined);
}
