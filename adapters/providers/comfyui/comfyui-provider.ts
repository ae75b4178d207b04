import { throwIfAborted } from '../../../core/abort-signal.js';
import type { JsonObject } from '../../../core/json.js';
import type {
  Provider,
  ProviderCall,
  ProviderCheck,
  ProviderPromises,
  ProviderReport,
  RecoverAnswer,
  Submission,
  SubmitAnswer,
} from '../../../core/ports/provider.js';
import { CancelledTasks } from './cancelled-tasks.js';
import { checkServers } from './check-servers.js';
import type { ComfyUiServer } from './comfyui-server.js';
import type { ComfyUiInstance } from './instance.js';
import type { Job } from './job.js';
import { planOf } from './read-workflow.js';
import { deliverableFiles, reportOf } from './report.js';
import { submitTask } from './submit-task.js';
import { readReference, referenceOf } from './task-reference.js';

/**
 * Runs workflows on ComfyUI servers. A task's id is its token, so any process can ask for it, and each server is asked
 * where it is not known which one has it. A server does not take a token only once: submitting it again runs it again.
 */
export class ComfyUiProvider implements Provider {
  readonly #options: ComfyUiInstance;
  readonly #cancelled = new CancelledTasks();

  constructor(options: ComfyUiInstance) {
    this.#options = options;
  }

  promises(): ProviderPromises {
    return {
      answersWithOutputs: false,
      isAskedBy: 'token',
      takesTokenOnce: false,
      settleMs: this.#options.settleMs,
      cancels: 'running',
      isPaid: false,
    };
  }

  async submit(submission: Submission, call: ProviderCall): Promise<SubmitAnswer> {
    throwIfAborted(call.signal);
    return submitTask(this.#options, submission, call);
  }

  async poll(reference: string, settings: JsonObject, call: ProviderCall): Promise<ProviderReport> {
    const at = this.#find(reference);
    if (at === undefined) return { state: 'unknown' };
    const { token, server } = at;
    const job = await server.job(token, call);
    if (job.state === 'unknown' && this.#cancelled.has(reference)) return { state: 'cancelled', outputs: [] };
    this.#note(job, token);
    return reportOf(job, this.#plan(settings), token, this.#options.progress.of(token));
  }

  async output(
    reference: string,
    index: number,
    settings: JsonObject,
    call: ProviderCall,
  ): Promise<AsyncIterable<Uint8Array>> {
    const at = this.#find(reference);
    const job = await at?.server.job(at.token, call);
    const files = job !== undefined && 'files' in job ? job.files : [];
    const file = at && deliverableFiles(this.#plan(settings), at.token, files)[index];
    if (at === undefined || file === undefined) throw new Error('The task has no such output.');
    return at.server.file(file, call);
  }

  async cancel(reference: string, _settings: JsonObject, call: ProviderCall): Promise<void> {
    const at = this.#find(reference);
    if (at === undefined) return;
    const { token, server } = at;
    // In this order: a task that begins in between is stopped.
    await server.dequeue(token, call);
    if (await server.isNewEnough(call)) await server.interrupt(token, call);
    this.#cancelled.add(reference);
  }

  async recover(token: string, _settings: JsonObject, call: ProviderCall): Promise<RecoverAnswer> {
    const { servers } = this.#options;
    const asked = await Promise.allSettled(servers.map((server) => server.job(token, call)));
    for (const [index, answer] of asked.entries()) {
      const server = servers[index];
      if (server !== undefined && answer.status === 'fulfilled' && answer.value.state !== 'unknown')
        return { found: true, reference: referenceOf({ token, server: server.address }) };
    }
    // A server that does not answer may have it.
    for (const answer of asked) if (answer.status === 'rejected') throw answer.reason;
    return { found: false };
  }

  check(settings: readonly JsonObject[], call: ProviderCall): Promise<ProviderCheck> {
    return checkServers(this.#options, settings, call);
  }

  async close(): Promise<void> {
    this.#options.progress.close();
    await Promise.all(this.#options.servers.map((server) => server.close()));
  }

  #find(reference: string): { readonly token: string; readonly server: ComfyUiServer } | undefined {
    const read = readReference(reference);
    const server = this.#options.servers.find(({ address }) => address === read?.server);
    return read === undefined || server === undefined ? undefined : { token: read.token, server };
  }

  #plan(settings: JsonObject) {
    return planOf(settings, this.#options.workflowFolder);
  }

  /** A task that has ended makes no more progress. What broke is for the operator. */
  #note(job: Job, token: string): void {
    if (job.state === 'queued' || job.state === 'running') return;
    this.#options.progress.forget(token);
    if (job.state !== 'failed') return;
    const { instance, log } = this.#options;
    const { node = null, nodeType = null, exceptionType: code = null } = job.error;
    log.warn('task failed at the provider', {
      provider: instance,
      task: token,
      status: 'failed',
      code,
      node,
      nodeType,
    });
  }
}
