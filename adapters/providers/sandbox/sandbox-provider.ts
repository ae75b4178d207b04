import { throwIfAborted } from '../../../core/cancellation.js';
import type { JsonObject } from '../../../core/json.js';
import { MemoryBudget } from '../../../core/memory-budget.js';
import type { Clock } from '../../../core/ports/machine.js';
import type {
  Provider,
  ProviderCall,
  ProviderFailure,
  ProviderCapabilities,
  ProviderReport,
  Submission,
  SubmitAnswer,
} from '../../../core/ports/provider.js';
import { TaskRefused } from '../shared/task-refused.js';
import { ReferenceRefused } from './decode-reference.js';
import { type Plan, PlanInvalid, readPlan } from './plan.js';
import type { RenderOutcome } from './render-job.js';
import { RenderPool } from './render-pool.js';
import { toRenderJob } from './render-submission.js';
import { sandboxCapabilities } from './sandbox-capabilities.js';
import { SandboxTask } from './sandbox-task.js';
import { SubmissionCounter } from './submission-counter.js';
import { TASK_CACHE_LIMITS, TaskCache, type TaskCacheLimits } from './task-cache.js';
import { constantOutputs, misbehave, plannedFailure } from './test-outputs.js';

export interface SandboxOptions {
  readonly clock: Clock;
  /** Rendering threads at most; one less than the cores, 1 to 4, when absent. */
  readonly threads?: number;
  /**
   * The memory budget for fetching and decoding reference files, shared with other decoders; one of 192 MiB when
   * absent.
   */
  readonly memory?: MemoryBudget;
  /** How much is remembered and for how long; what is absent is as in `TASK_CACHE_LIMITS`. */
  readonly limits?: Partial<TaskCacheLimits>;
}

/**
 * Renders pictures and videos in this process, with no network and no model, and behaves like a remote service: tasks
 * are accepted immediately, run by a few threads, and forgotten a while after their end or when the process ends. The
 * same input gives the same bytes. `provider_settings` is `{ painter: image | video | noop | test }`. No call waits for
 * anything, so aborting has an effect only before a call begins.
 */
export class SandboxProvider implements Provider {
  readonly #clock: Clock;
  readonly #pool: RenderPool;
  readonly #memory: MemoryBudget;
  readonly #tasks: TaskCache;
  /**
   * A loss concerns the connection between two processes and ends no attempt, so the losses of one attempt are counted
   * here.
   */
  readonly #submissions = new SubmissionCounter();

  constructor(options: SandboxOptions) {
    this.#clock = options.clock;
    this.#pool = new RenderPool(options.threads);
    this.#memory = options.memory ?? new MemoryBudget(192 * 1024 * 1024);
    this.#tasks = new TaskCache({ ...TASK_CACHE_LIMITS, ...options.limits });
  }

  /** Bytes of finished outputs held in memory; never above the limit. */
  get heldBytes(): number {
    return this.#tasks.byteSize;
  }

  capabilities(settings: JsonObject): ProviderCapabilities {
    return sandboxCapabilities(settings);
  }

  async submit(submission: Submission, call?: ProviderCall): Promise<SubmitAnswer> {
    throwIfAborted(call?.signal);
    const now = this.#clock.now();
    this.#tasks.sweep(now);
    const reference = referenceOf(submission.token);
    if (this.#tasks.find(reference) !== undefined) return { accepted: true, reference };
    const plan = tryPlan(submission);
    if ('failure' in plan) return { accepted: false, failure: plan.failure };
    if (this.#tasks.isFull) {
      return {
        accepted: false,
        failure: unavailable('The sandbox has reached its limit of open tasks.'),
        because: 'capacity',
      };
    }
    if (plan.painter === 'test') return this.#submitTest(submission, plan, reference, now);
    const task = new SandboxTask(reference, now, { readyAt: now, ignoresCancel: false });
    this.#tasks.add(task, now);
    if (plan.painter === 'noop') this.#finish(task, { state: 'done', outputs: constantOutputs(plan.count) });
    else void this.#render(task, submission, plan);
    return { accepted: true, reference };
  }

  async poll(reference: string): Promise<ProviderReport> {
    const now = this.#clock.now();
    this.#tasks.sweep(now);
    return this.#tasks.find(reference)?.report(now) ?? { state: 'unknown' };
  }

  async output(reference: string, index: number): Promise<AsyncIterable<Uint8Array>> {
    const now = this.#clock.now();
    const task = this.#tasks.find(reference);
    if (task === undefined) throw new Error('The sandbox has no such task.');
    const bytes = task.read(index, now);
    this.#tasks.settle(task, now);
    return chunksOf(bytes);
  }

  async cancel(reference: string): Promise<void> {
    const now = this.#clock.now();
    const task = this.#tasks.find(reference);
    if (task === undefined) return;
    task.cancel(now);
    this.#tasks.settle(task, now);
  }

  async recover(
    token: string,
  ): Promise<{ readonly found: true; readonly reference: string } | { readonly found: false }> {
    this.#tasks.sweep(this.#clock.now());
    const reference = referenceOf(token);
    return this.#tasks.find(reference) === undefined ? { found: false } : { found: true, reference };
  }

  /** Stops every task, waits for the threads and forgets everything. */
  async close(): Promise<void> {
    for (const task of this.#tasks.open()) task.stop();
    await this.#pool.close();
    this.#tasks.clear();
  }

  #submitTest(
    submission: Submission,
    plan: Extract<Plan, { painter: 'test' }>,
    reference: string,
    now: number,
  ): SubmitAnswer {
    const { behaviour } = plan;
    const failure = plannedFailure(behaviour, submission.attempt);
    if (behaviour.name === 'refuse' && failure !== undefined) return { accepted: false, failure };
    if (
      behaviour.name === 'unknown_acceptance_lost' &&
      this.#submissionOf(submission) <= Math.max(1, behaviour.retryableAttempts)
    ) {
      throw new Error('The connection was lost before the sandbox took the task.');
    }
    const readyAt = behaviour.name === 'hang' ? Infinity : now + behaviour.delayMs;
    const task = new SandboxTask(reference, now, {
      readyAt,
      ignoresCancel: behaviour.name === 'late_success_after_cancel',
    });
    this.#tasks.add(task, now);
    if (failure !== undefined) this.#finish(task, { state: 'failed', failure });
    else if (behaviour.name !== 'hang') void this.#render(task, submission, plan);
    if (behaviour.name === 'unknown_acceptance')
      throw new Error('The connection was lost after the sandbox took the task.');
    return { accepted: true, reference };
  }

  /**
   * Which submission of the generation this is, as far as this process can tell: at least one was made for each attempt
   * before.
   */
  #submissionOf({ attempt, token }: Submission): number {
    return attempt - 1 + this.#submissions.next(token);
  }

  /** Never rejects: any error becomes the task's failure. */
  async #render(task: SandboxTask, submission: Submission, plan: Exclude<Plan, { painter: 'noop' }>): Promise<void> {
    try {
      const outcome = await this.#pool.run({
        prepare: () => toRenderJob(submission, plan, this.#memory, task.signal),
        signal: task.signal,
        onProgress: (share) => task.advance(share),
      });
      this.#finish(task, plan.painter === 'test' ? misbehave(plan.behaviour, outcome) : outcome);
    } catch (error) {
      const failure =
        error instanceof ReferenceRefused || error instanceof TaskRefused
          ? ({ code: 'INPUT_INVALID', message: error.message, mayRetry: false } as const)
          : unavailable('A reference file could not be fetched.');
      this.#finish(task, { state: 'failed', failure });
    }
  }

  #finish(task: SandboxTask, outcome: RenderOutcome): void {
    if (outcome.state === 'done') task.finish({ outputs: outcome.outputs });
    if (outcome.state === 'failed') task.finish({ failure: outcome.failure });
    this.#tasks.settle(task, this.#clock.now());
  }
}

/** A task is named by its token, so the same token names the same task in every process. */
function referenceOf(token: string): string {
  return `sandbox:${token}`;
}

function unavailable(message: string): ProviderFailure {
  return { code: 'PROVIDER_UNAVAILABLE', message, mayRetry: true };
}

function tryPlan(submission: Submission): Plan | { readonly failure: ProviderFailure } {
  try {
    return readPlan(submission.settings, submission.parameters);
  } catch (error) {
    if (!(error instanceof PlanInvalid)) throw error;
    return {
      failure: {
        code: error.at === 'settings' ? 'MODEL_UNAVAILABLE' : 'INPUT_INVALID',
        message: error.message,
        mayRetry: false,
      },
    };
  }
}

const CHUNK_BYTES = 256 * 1024;

async function* chunksOf(bytes: Uint8Array): AsyncGenerator<Uint8Array> {
  for (let at = 0; at < bytes.byteLength; at += CHUNK_BYTES) yield bytes.subarray(at, at + CHUNK_BYTES);
}
