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
import { requestOrRefusal, TaskRefused } from '../shared/task-refused.js';
import type { DecodedReference } from './decode-reference.js';
import { acceptanceDelayMs, type Plan, readPlan, sandboxCapabilities, settingsFault } from './plan.js';
import { RenderFailed, RenderThreads } from './render.js';
import { type Rendered, type SandboxTask, TASK_CACHE_LIMITS, TaskCache } from './tasks.js';

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
  readonly acceptanceDelayMs = acceptanceDelayMs;
  /** Counts threads: a task holds one from the decoding of its references to its end, and waits in order of arrival. */
  private readonly slots: MemoryBudget;
  private readonly threads = new RenderThreads();
  private readonly memory: MemoryBudget;
  private readonly tasks: TaskCache;
  private readonly running = new Set<Promise<void>>();
  /** How often each of the last tokens was submitted to be lost. A loss ends no attempt, so it is counted here. */
  private readonly losses = new Map<string, number>();

  constructor({ clock, threads = 1, memory = new MemoryBudget(192 * 2 ** 20), limits }: SandboxOptions) {
    this.slots = new MemoryBudget(threads);
    this.memory = memory;
    this.tasks = new TaskCache(clock, { ...TASK_CACHE_LIMITS, ...limits });
  }

  /** Bytes of finished outputs in memory; never above the limit. */
  get heldBytes(): number {
    return this.tasks.heldBytes;
  }

  async submit(submission: Submission, call?: ProviderCall): Promise<SubmitAnswer> {
    throwIfAborted(call?.signal);
    const reference = referenceOf(submission.token);
    if (this.tasks.find(reference) !== undefined) return { accepted: true, reference };
    const { settings, parameters } = submission;
    const fault = settingsFault(settings);
    if (fault !== undefined) return refusal({ code: 'MODEL_UNAVAILABLE', message: fault, mayRetry: false });
    const asked = requestOrRefusal(() => readPlan(settings, parameters));
    if ('refused' in asked) return asked.refused;
    const plan = asked.request;
    if (this.tasks.isFull)
      return { ...refusal(unavailable('The sandbox has reached its limit of open tasks.')), because: 'capacity' };
    const failure = plannedFailure(plan, submission.attempt);
    if (plan.behaviour === 'refuse' && failure !== undefined) return refusal(failure);
    if (plan.behaviour === 'unknown_acceptance_lost' && this.isLost(submission, plan))
      throw new Error('The connection was lost before the sandbox took the task.');
    const task = this.tasks.add(reference, plan);
    if (failure !== undefined) this.tasks.finish(task, { failure });
    else if (plan.painter === 'noop')
      this.tasks.finish(task, { outputs: Array.from({ length: plan.count }, () => CONSTANT) });
    else if (plan.behaviour !== 'hang') this.start(task, submission, plan);
    if (plan.behaviour === 'unknown_acceptance')
      throw new Error('The connection was lost after the sandbox took the task.');
    return { accepted: true, reference };
  }

  async poll(reference: string): Promise<ProviderReport> {
    return this.tasks.find(reference)?.report() ?? { state: 'unknown' };
  }

  async output(reference: string, index: number): Promise<AsyncIterable<Uint8Array>> {
    const task = this.tasks.find(reference);
    if (task === undefined) throw new Error('The sandbox has no such task.');
    return chunksOf(this.tasks.read(task, index));
  }

  async cancel(reference: string): Promise<void> {
    const task = this.tasks.find(reference);
    if (task !== undefined && task.terms.behaviour !== 'late_success_after_cancel') this.tasks.cancel(task);
  }

  async recover(token: string): Promise<{ found: true; reference: string } | { found: false }> {
    const reference = referenceOf(token);
    return this.tasks.find(reference) === undefined ? { found: false } : { found: true, reference };
  }

  /** Stops every task, waits for the threads and forgets everything. */
  async close(): Promise<void> {
    this.tasks.clear();
    await Promise.all(this.running);
    await this.threads.close();
  }

  private isLost({ attempt, token }: Submission, { retryableAttempts }: Plan): boolean {
    const submissions = (this.losses.get(token) ?? 0) + 1;
    this.losses.delete(token);
    this.losses.set(token, submissions);
    if (this.losses.size > 1000) this.losses.delete(this.losses.keys().next().value!);
    // At least one submission was made for each earlier attempt, perhaps by another process.
    return attempt - 1 + submissions <= Math.max(1, retryableAttempts);
  }

  private start(task: SandboxTask, submission: Submission, plan: Plan): void {
    const { signal } = task;
    const { prompt, negativePrompt = '' } = submission;
    const render = async (): Promise<Rendered[]> => {
      const references: DecodedReference[] = [];
      // One after another: each reserves memory.
      for (const reference of submission.references) {
        // The first reference loads the decoder, so that a start takes less time.
        const { decodeReference } = await import('./decode-reference.js');
        references.push(await decodeReference(reference, plan.size, this.memory, waitsOf(signal)));
      }
      const job = { prompt, negativePrompt, plan, references };
      return this.threads.render(job, signal, (share) => (task.progress = share));
    };
    const running = this.slots
      .during(1, render, waitsOf(signal))
      .then(
        (outputs) => this.tasks.finish(task, { outputs: delivered(plan, outputs) }),
        (error: unknown) => this.tasks.finish(task, { failure: failureOf(error) }),
      )
      .finally(() => this.running.delete(running));
    this.running.add(running);
  }
}

/** A task is named by its token, so that the same token names the same task in every process. */
function referenceOf(token: string): string {
  return `sandbox:${token}`;
}

/** The failure requested from the test model for attempt number `attempt` (from 1). */
function plannedFailure(
  { behaviour, errorCode: code, retryableAttempts }: Plan,
  attempt: number,
): ProviderFailure | undefined {
  if (behaviour !== 'fail' && behaviour !== 'refuse') return undefined;
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

function refusal(failure: ProviderFailure): SubmitAnswer & { readonly accepted: false } {
  return { accepted: false, failure };
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

function delivered({ behaviour, deliver }: Plan, outputs: readonly Rendered[]): readonly Rendered[] {
  if (behaviour === 'partial') return outputs.slice(0, deliver);
  if (behaviour === 'bad_output') return outputs.map((output) => ({ ...output, bytes: BROKEN_PNG }));
  return outputs;
}

const CHUNK_BYTES = 256 * 1024;

async function* chunksOf(bytes: Uint8Array): AsyncGenerator<Uint8Array> {
  for (let at = 0; at < bytes.byteLength; at += CHUNK_BYTES) yield bytes.subarray(at, at + CHUNK_BYTES);
}
