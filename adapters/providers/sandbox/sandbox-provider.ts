import { throwIfAborted } from '../../../core/cancellation.js';
import { MemoryBudget } from '../../../core/memory-budget.js';
import type { Clock } from '../../../core/ports/machine.js';
import type {
  Provider,
  ProviderCall,
  ProviderFailure,
  ProviderReport,
  Submission,
  SubmitAnswer,
} from '../../../core/ports/provider.js';
import { waitsOf } from '../shared/reference-bytes.js';
import { TaskRefused } from '../shared/task-refused.js';
import { decodeReferences } from './decode-reference.js';
import { type Plan, PlanInvalid, readPlan, sandboxCapabilities } from './plan.js';
import { RenderFailed, RenderThreads } from './render.js';
import { type Rendered, SandboxTask, TASK_CACHE_LIMITS, TaskCache } from './tasks.js';

export interface SandboxOptions {
  readonly clock: Clock;
  /** The most rendering threads; 1 when absent. */
  readonly threads?: number;
  /** The memory budget for reading and decoding reference files, shared with other decoders; 192 MiB when absent. */
  readonly memory?: MemoryBudget;
  /** Limits that differ from `TASK_CACHE_LIMITS`. */
  readonly limits?: Partial<typeof TASK_CACHE_LIMITS>;
}

/**
 * Renders pictures and videos in this process, without a network or a model, and behaves like a remote service: tasks are
 * accepted immediately, run in a few threads, and forgotten some time after their end or when the process ends. The same
 * input gives the same bytes. `provider_settings` is `{ painter: image | video | noop | test }`. No call waits for
 * anything, so aborting has an effect only before a call begins.
 */
export class SandboxProvider implements Provider {
  readonly capabilities = sandboxCapabilities;
  private readonly clock: Clock;
  /** Counts threads: a task holds one from the decoding of its references to its end, and waits in order of arrival. */
  private readonly slots: MemoryBudget;
  private readonly threads = new RenderThreads();
  private readonly memory: MemoryBudget;
  private readonly tasks: TaskCache;
  private readonly running = new Set<Promise<void>>();
  /** How often each of the last tokens was submitted to be lost. A loss ends no attempt, so it is counted here. */
  private readonly losses = new Map<string, number>();

  constructor({ clock, threads = 1, memory = new MemoryBudget(192 * 2 ** 20), limits }: SandboxOptions) {
    this.clock = clock;
    this.slots = new MemoryBudget(threads);
    this.memory = memory;
    this.tasks = new TaskCache({ ...TASK_CACHE_LIMITS, ...limits });
  }

  /** Bytes of finished outputs in memory; never above the limit. */
  get heldBytes(): number {
    return this.tasks.heldBytes;
  }

  async submit(submission: Submission, call?: ProviderCall): Promise<SubmitAnswer> {
    throwIfAborted(call?.signal);
    const now = this.clock.now();
    this.tasks.sweep(now);
    const reference = referenceOf(submission.token);
    if (this.tasks.find(reference) !== undefined) return { accepted: true, reference };
    const plan = tryPlan(submission);
    if ('failure' in plan) return { accepted: false, failure: plan.failure };
    if (this.tasks.isFull)
      return {
        accepted: false,
        failure: unavailable('The sandbox has reached its limit of open tasks.'),
        because: 'capacity',
      };
    const { name, delayMs } = plan.behaviour;
    const failure = plannedFailure(plan, submission.attempt);
    if (name === 'refuse' && failure !== undefined) return { accepted: false, failure };
    if (name === 'unknown_acceptance_lost' && this.isLost(submission, plan))
      throw new Error('The connection was lost before the sandbox took the task.');
    const task = new SandboxTask(reference, now, {
      readyAt: name === 'hang' ? Infinity : now + delayMs,
      ignoresCancel: name === 'late_success_after_cancel',
    });
    this.tasks.add(task, now);
    if (failure !== undefined) this.finish(task, { failure });
    else if (plan.painter === 'noop')
      this.finish(task, { outputs: Array.from({ length: plan.count }, () => CONSTANT) });
    else if (name !== 'hang') this.start(task, submission, plan);
    if (name === 'unknown_acceptance') throw new Error('The connection was lost after the sandbox took the task.');
    return { accepted: true, reference };
  }

  async poll(reference: string): Promise<ProviderReport> {
    const now = this.clock.now();
    this.tasks.sweep(now);
    return this.tasks.find(reference)?.report(now) ?? { state: 'unknown' };
  }

  async output(reference: string, index: number): Promise<AsyncIterable<Uint8Array>> {
    const now = this.clock.now();
    const task = this.tasks.find(reference);
    if (task === undefined) throw new Error('The sandbox has no such task.');
    const bytes = task.read(index, now);
    this.tasks.settle(task, now);
    return chunksOf(bytes);
  }

  async cancel(reference: string): Promise<void> {
    const now = this.clock.now();
    const task = this.tasks.find(reference);
    if (task === undefined) return;
    task.cancel(now);
    this.tasks.settle(task, now);
  }

  async recover(token: string): Promise<{ found: true; reference: string } | { found: false }> {
    this.tasks.sweep(this.clock.now());
    const reference = referenceOf(token);
    return this.tasks.find(reference) === undefined ? { found: false } : { found: true, reference };
  }

  /** Stops every task, waits for the threads and forgets everything. */
  async close(): Promise<void> {
    this.tasks.clear();
    await Promise.all(this.running);
    await this.threads.close();
  }

  private isLost({ attempt, token }: Submission, { behaviour }: Plan): boolean {
    const submissions = (this.losses.get(token) ?? 0) + 1;
    this.losses.delete(token);
    this.losses.set(token, submissions);
    if (this.losses.size > 1000) this.losses.delete(this.losses.keys().next().value!);
    // At least one submission was made for each earlier attempt, perhaps by another process.
    return attempt - 1 + submissions <= Math.max(1, behaviour.retryableAttempts);
  }

  private start(task: SandboxTask, submission: Submission, plan: Plan): void {
    const { signal } = task;
    const { prompt, negativePrompt = '' } = submission;
    const render = async (): Promise<Rendered[]> => {
      const references = await decodeReferences(submission.references, plan.size, this.memory, signal);
      return this.threads.render({ prompt, negativePrompt, plan, references }, signal, (share) => task.advance(share));
    };
    const running = this.slots
      .during(1, render, waitsOf(signal))
      .then(
        (outputs) => this.finish(task, { outputs: delivered(plan, outputs) }),
        (error: unknown) => this.finish(task, { failure: failureOf(error) }),
      )
      .finally(() => this.running.delete(running));
    this.running.add(running);
  }

  private finish(task: SandboxTask, result: Parameters<SandboxTask['finish']>[0]): void {
    task.finish(result);
    this.tasks.settle(task, this.clock.now());
  }
}

/** A task is named by its token, so that the same token names the same task in every process. */
function referenceOf(token: string): string {
  return `sandbox:${token}`;
}

function tryPlan(submission: Submission): Plan | { readonly failure: ProviderFailure } {
  try {
    return readPlan(submission.settings, submission.parameters);
  } catch (error) {
    if (!(error instanceof PlanInvalid)) throw error;
    return { failure: { code: error.code, message: error.message, mayRetry: false } };
  }
}

/** The failure requested from the test model for attempt number `attempt` (from 1). */
function plannedFailure({ behaviour }: Plan, attempt: number): ProviderFailure | undefined {
  const { name, errorCode: code, retryableAttempts } = behaviour;
  if (name !== 'fail' && name !== 'refuse') return undefined;
  if (retryableAttempts === 0) return { code, message: 'The test model was asked to fail.', mayRetry: false };
  if (attempt > retryableAttempts) return undefined;
  const message = `The test model was asked to fail; this was attempt ${attempt} of ${retryableAttempts}.`;
  return { code, message, mayRetry: true };
}

function failureOf(error: unknown): ProviderFailure {
  if (error instanceof TaskRefused) return { code: 'INPUT_INVALID', message: error.message, mayRetry: false };
  if (error instanceof RenderFailed) return { code: 'INTERNAL_ERROR', message: error.message, mayRetry: true };
  return unavailable('A reference file could not be fetched.');
}

function unavailable(message: string): ProviderFailure {
  return { code: 'PROVIDER_UNAVAILABLE', message, mayRetry: true };
}

/** An 8×8 PNG of one colour, the output of the model that paints nothing. */
export const CONSTANT_PNG: Uint8Array = Buffer.from(
  'iVBORw0KGgoAAAANSUhEUgAAAAgAAAAICAIAAABLbSncAAAACXBIWXMAAAPoAAAD6AG1e1JrAAAAEUlEQVQI12OwyluKFTEMLQkAbOhTQRpLvTMAAAAASUVORK5CYII=',
  'base64',
);
const CONSTANT: Rendered = { kind: 'image', mediaType: 'image/png', bytes: CONSTANT_PNG };
/** A PNG by its signature, whose other bytes cannot be decoded. */
const BROKEN_PNG = Buffer.from(`\x89PNG\r\n\x1a\n${'These bytes are not a picture. '.repeat(8)}`, 'latin1');

function delivered({ behaviour }: Plan, outputs: readonly Rendered[]): readonly Rendered[] {
  if (behaviour.name === 'partial') return outputs.slice(0, behaviour.deliver);
  if (behaviour.name === 'bad_output') return outputs.map((output) => ({ ...output, bytes: BROKEN_PNG }));
  return outputs;
}

const CHUNK_BYTES = 256 * 1024;

async function* chunksOf(bytes: Uint8Array): AsyncGenerator<Uint8Array> {
  for (let at = 0; at < bytes.byteLength; at += CHUNK_BYTES) yield bytes.subarray(at, at + CHUNK_BYTES);
}
