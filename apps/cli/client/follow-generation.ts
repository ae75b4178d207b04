import {
  type Darkroom,
  type GenerationTask,
  hasEnded,
  PATIENT_TRIES,
  WaitTimeout,
} from '../../../clients/typescript/src/index.js';
import type { Signals } from '../../service/serve.js';
import { EXIT, Failure } from '../exit.js';
import { facts } from '../terminal.js';
import type { Progress } from './progress.js';

export interface FollowOptions {
  readonly progress: Progress;
  /** Requests a cancel when it fires; the wait for the final state continues. */
  readonly cancelOn: AbortSignal;
  /** Ends the waiting when it fires: its reason is thrown. */
  readonly leaveOn: AbortSignal;
  /** Called when the cancel has been sent, and when the server has accepted it. */
  readonly onCancelling?: (step: 'asked' | 'taken') => void;
  /** How long to wait in all; without end when absent. */
  readonly timeoutMs?: number;
}

/** Waits until the generation has ended, and returns its outcome. */
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

/**
 * Ctrl-C while something runs on the server: the first one asks for an orderly end, through `signal`; the second one
 * ends the waiting immediately, through `leaving`.
 */
export class Interruption {
  /** Makes the last sentence of a command when a second Ctrl-C ends it. When absent, nothing is printed. */
  lastSentence: (() => string) | undefined;
  private readonly asked = new AbortController();
  private readonly left = new AbortController();
  private readonly onSignal = () => {
    if (this.asked.signal.aborted) this.left.abort(this.departure());
    else this.asked.abort(new Interrupted());
  };

  constructor(private readonly signals: Signals) {
    signals.on('SIGINT', this.onSignal);
  }

  get signal(): AbortSignal {
    return this.asked.signal;
  }

  /** Its reason is the failure that the command ends with. */
  get leaving(): AbortSignal {
    return this.left.signal;
  }

  /** Gives Ctrl-C its usual meaning back. */
  release(): void {
    this.signals.off('SIGINT', this.onSignal);
  }

  private departure(): Failure {
    const sentence = this.lastSentence?.();
    return new Failure(`Interrupted. ${sentence ?? ''}`, EXIT.cancelled, 'shown', undefined, sentence === undefined);
  }
}

/** Ctrl-C was pressed before there was anything to cancel. */
export class Interrupted extends Error {}

/** What a generation reserves or has cost. */
export function ownCreditsText({ completed_at, reserved_credits, charged_credits }: GenerationTask): string {
  return completed_at === undefined ? `${reserved_credits} reserved` : `${charged_credits} charged`;
}

/** A generation as a person reads it. */
export function taskText(task: GenerationTask): string {
  const outputs = task.outputs.map(({ media_type, width, height, duration_ms, url }, index) => {
    const size = width === undefined ? '' : ` ${width}x${height}`;
    const length = duration_ms === undefined ? '' : ` ${duration_ms} ms`;
    return [`output ${index + 1}`, `${media_type}${size}${length} ${url}`] as const;
  });
  return facts({
    'generation': task.generation_id,
    'status': task.status,
    'model': task.model_key,
    'created': task.created_at,
    'completed': task.completed_at,
    'credits': ownCreditsText(task),
    'error': task.error && `${task.error.message} (${task.error.code})`,
    'trace id': task.client_trace_id,
    ...Object.fromEntries(outputs),
  });
}
