import { throwIfAborted } from '../../../core/cancellation.js';
import type { JsonObject } from '../../../core/json.js';
import type {
  Provider,
  ProviderCall,
  ProviderCheck,
  ProviderCapabilities,
  ProviderReport,
  RecoverAnswer,
  Submission,
  SubmitAnswer,
} from '../../../core/ports/provider.js';
import { RecentReferences } from '../shared/recent-references.js';
import { failure } from '../shared/sentences.js';
import { checkServers } from './check-servers.js';
import { comfyUiCapabilities } from './comfyui-capabilities.js';
import type { ComfyUiServer } from './comfyui-server.js';
import type { ComfyUiInstance } from './instance.js';
import type { ExecutionError, Job } from './job.js';
import { leftFiles } from './left-files.js';
import type { Plan } from './plan.js';
import { planOf } from './read-workflow.js';
import { deliverableFiles, failureNameOf, reportOf } from './report.js';
import { submitTask } from './submit-task.js';
import { readReference, referenceOf } from './task-reference.js';
import { nameOfNode } from './workflow.js';

interface TaskAt {
  readonly server: ComfyUiServer;
  readonly token: string;
}

/**
 * Runs workflows on ComfyUI servers. A task's id is its token, so any process can ask for it, and each server is asked
 * where it is not known which one has it. A server does not take a token only once: submitting it again runs it again.
 */
export class ComfyUiProvider implements Provider {
  readonly #options: ComfyUiInstance;
  /**
   * Tasks that this process has asked a server to stop. One that waited is forgotten by the server at once, and then reads
   * like one that was never there.
   */
  readonly #cancelled = new RecentReferences(5_000);

  constructor(options: ComfyUiInstance) {
    this.#options = options;
  }

  capabilities(settings: JsonObject): ProviderCapabilities {
    const { workflowFolder, settleMs } = this.#options;
    return comfyUiCapabilities(settings, workflowFolder, settleMs);
  }

  async submit(submission: Submission, call: ProviderCall): Promise<SubmitAnswer> {
    throwIfAborted(call.signal);
    return submitTask(this.#options, submission, call);
  }

  async poll(reference: string, settings: JsonObject, call: ProviderCall): Promise<ProviderReport> {
    const at = this.#find(reference);
    if (at === undefined) return { state: 'unknown' };
    const job = await this.#job(at, settings, call);
    if (job.state === 'unknown' && this.#cancelled.has(reference)) return { state: 'cancelled', outputs: [] };
    const { token } = at;
    const { progress } = this.#options;
    if (job.state !== 'queued' && job.state !== 'running') progress.forget(token);
    if (job.state === 'failed') return this.#failed(job.error, this.#plan(settings), token);
    return reportOf(job, token, progress.of(token));
  }

  async output(
    reference: string,
    index: number,
    settings: JsonObject,
    call: ProviderCall,
  ): Promise<AsyncIterable<Uint8Array>> {
    const at = this.#find(reference);
    const job = at && (await this.#job(at, settings, call));
    const file = at && deliverableFiles(at.token, job !== undefined && 'files' in job ? job.files : [])[index];
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

  async recover(token: string, settings: JsonObject, call: ProviderCall): Promise<RecoverAnswer> {
    const { servers } = this.#options;
    const asked = await Promise.allSettled(
      servers.map(async (server) => ({ server, job: await this.#job({ server, token }, settings, call) })),
    );
    for (const answer of asked)
      if (answer.status === 'fulfilled' && answer.value.job.state !== 'unknown')
        return { found: true, reference: referenceOf({ token, server: answer.value.server.address }) };
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

  #find(reference: string): TaskAt | undefined {
    const read = readReference(reference);
    const server = this.#options.servers.find(({ address }) => address === read?.server);
    return read === undefined || server === undefined ? undefined : { token: read.token, server };
  }

  /** The server's record of a task, or the remains of a task that it has forgotten. */
  async #job({ server, token }: TaskAt, settings: JsonObject, call: ProviderCall): Promise<Job> {
    const job = await server.job(token, call);
    const files = job.state === 'unknown' ? await leftFiles(server, this.#plan(settings), token, call) : undefined;
    return files === undefined ? job : { state: 'completed', files };
  }

  /** The reason is for the operator. */
  #failed(error: ExecutionError, plan: Plan, task: string): ProviderReport {
    const { instance: provider, log } = this.#options;
    const node = plan.workflow.get(error.node ?? '');
    const about = { code: error.exceptionType ?? null, at: node === undefined ? null : nameOfNode(node) };
    log.warn('task failed at the provider', { provider, task, status: 'failed', ...about });
    return { state: 'failed', failure: failure(failureNameOf(error, plan)) };
  }

  #plan(settings: JsonObject): Plan {
    return planOf(settings, this.#options.workflowFolder);
  }
}
