import {
  hasEnded,
  PATIENT_TRIES,
  WaitTimeout,
  type Darkroom,
  type GenerationTask,
} from '../../../clients/typescript/src/index.js';
import { Failure } from '../exit.js';
import type { Progress } from './progress.js';

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

/** Waits until the generation has ended, and answers how it did. */
export async function followGeneration(
  client: Darkroom,
  accepted: GenerationTask,
  { progress, cancelOn, leaveOn, onCancelling = () => undefined, timeoutMs }: FollowOptions,
): Promise<GenerationTask> {
  const startedAt = performance.now();
  let task = accepted;
  const onRetry = () => {
    progress.note('the server does not answer; trying again');
  };
  const onAnswer = (seen: GenerationTask, tries: number) => {
    if (seen.status !== task.status) progress.step(seen.status);
    else if (tries > 1) progress.note(seen.status);
    task = seen;
  };
  const wait = (signal: AbortSignal): Promise<GenerationTask> => {
    const left = timeoutMs === undefined ? {} : { timeoutMs: Math.max(0, timeoutMs - (performance.now() - startedAt)) };
    return client.wait(task, { signal, onRetry, onAnswer, ...left }).catch(overdue);
  };
  progress.step(task.status);
  try {
    return await wait(AbortSignal.any([leaveOn, cancelOn]));
  } catch (error) {
    leaveOn.throwIfAborted();
    if (!cancelOn.aborted || hasEnded(task)) throw error;
  }
  onCancelling('asked');
  progress.note('cancelling');
  const options = { maxTries: PATIENT_TRIES, signal: leaveOn, onRetry };
  const path = `/generations/${task.generation_id}/cancel`;
  task = (await client.transport.post<GenerationTask>(path, undefined, options)).data;
  onCancelling('taken');
  return wait(leaveOn);
}

function overdue(error: unknown): never {
  if (!(error instanceof WaitTimeout)) throw error;
  throw new Failure(`It was still ${error.task.status} when the waiting time was over.`);
}
