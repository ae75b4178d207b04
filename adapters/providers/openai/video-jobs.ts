import type { ProviderCall, ProviderReport, SubmitAnswer } from '../../../core/ports/provider.js';
import type { HttpAnswer } from '../../http/http-answer.js';
import { RecentReferences } from './recent-references.js';
import type { OpenAiInstance } from './openai-instance.js';
import { sendTask, type Task } from './task.js';
import { knownCode, serverErrorOf } from './error-answer.js';
import { isJobId, isOpen, jobOf, reportOf } from './video-job.js';

const MAX_JSON_BYTES = 1024 * 1024;
const POLL_AFTER_MS = { least: 100, most: 60_000 };

/** Jobs of the Videos API. A job's id at the server is its reference. */
export class VideoJobs {
  /** Jobs that the server has stopped and forgotten for us: it knows them no more, and other processes hear just that. */
  private readonly deleted = new RecentReferences(10_000);

  constructor(private readonly instance: OpenAiInstance) {}

  async submit(task: Task): Promise<SubmitAnswer> {
    const sent = await sendTask(task, this.instance, { maxBodyBytes: MAX_JSON_BYTES });
    if (sent.outcome === 'refused') return sent.refusal;
    const id = ((await sent.answer.json()) as { readonly id?: unknown } | null)?.id;
    if (!isJobId(id)) throw sent.answer.error('bad-answer', 'The answer to a task has no id that can be used.');
    return { accepted: true, reference: id };
  }

  async poll(reference: string, call: ProviderCall): Promise<ProviderReport> {
    const answer = await this.ask('GET', reference, call);
    const job = await this.jobIn(answer, reference);
    if (job === undefined)
      return this.deleted.has(reference) ? { state: 'cancelled', outputs: [] } : { state: 'unknown' };
    const report = reportOf(job);
    if (report === undefined) throw answer.error('bad-answer', 'The answer has a job with an unknown status.');
    if (report.state === 'failed') this.logFailure(reference, job);
    return report.state === 'running' ? { ...report, ...pollAfter(answer) } : report;
  }

  async output(reference: string, index: number, call: ProviderCall): Promise<AsyncIterable<Uint8Array>> {
    if (index !== 0) throw new Error('A job has one video.');
    const { connection, maxOutputBytes } = this.instance;
    const answer = await connection.client.request({
      method: 'GET',
      url: this.urlOf(reference, 'content'),
      headers: connection.credentials,
      signal: call.signal,
      limits: { maxBodyBytes: maxOutputBytes, totalTimeoutMs: LONGEST_DOWNLOAD_MS },
    });
    const isText = /^\s*(?:text\/|application\/json)/i.test(answer.header('content-type') ?? '');
    if (answer.isOk && !isText) return answer.body();
    answer.discard();
    throw answer.error('bad-answer', `The answer for a video has the status ${answer.status}, or is none.`);
  }

  /** A finished job is left alone, as a deletion takes its video away. */
  async cancel(reference: string, call: ProviderCall): Promise<void> {
    const job = await this.jobIn(await this.ask('GET', reference, call), reference);
    if (job === undefined || !isOpen(job)) return;
    const answer = await this.ask('DELETE', reference, call);
    answer.discard();
    if (answer.isOk) this.deleted.add(reference);
    // 409: the server is still stopping it; 404: it has gone meanwhile.
    else if (answer.status !== 409 && answer.status !== 404)
      throw answer.error('bad-answer', `The answer to a deletion has the status ${answer.status}.`);
  }

  private logFailure(reference: string, { status, error }: Readonly<Record<string, unknown>>): void {
    const { name, log } = this.instance;
    const code = knownCode(serverErrorOf({ error }));
    log.warn('task failed at the provider', {
      provider: name,
      task: reference,
      status,
      ...(code === undefined ? {} : { code }),
    });
  }

  private ask(method: 'GET' | 'DELETE', reference: string, { signal }: ProviderCall): Promise<HttpAnswer> {
    const { client, credentials } = this.instance.connection;
    const headers = { ...credentials, accept: 'application/json' };
    const limits = { maxBodyBytes: MAX_JSON_BYTES };
    return client.request({ method, url: this.urlOf(reference), headers, signal, limits });
  }

  /**
   * The job, or undefined where the server says, in JSON, that it has none. Some answer a failed job with the status of an
   * error, and the job.
   */
  private async jobIn(answer: HttpAnswer, reference: string): Promise<Readonly<Record<string, unknown>> | undefined> {
    const { status, isOk } = answer;
    const job = jobOf(await answer.json());
    if (job !== undefined && job['id'] === reference && (isOk || job['status'] === 'failed')) return job;
    if (status === 404 || status === 410) return undefined;
    throw answer.error('bad-answer', `The answer about a job has the status ${status}, and no such job.`);
  }

  /** A reference that cannot be an id of this API is unknown to the server, too. */
  private urlOf(reference: string, ...rest: readonly string[]): string {
    return this.instance.connection.urlOf('videos', reference, ...rest);
  }
}

const LONGEST_DOWNLOAD_MS = 6 * 60 * 60 * 1_000;

/** What OpenAI sends along. */
function pollAfter(answer: HttpAnswer): { readonly pollAfterMs?: number } {
  const header = answer.header('openai-poll-after-ms') ?? '';
  const waitMs = /^\d{1,6}$/.test(header) ? Number(header) : 0;
  return waitMs < POLL_AFTER_MS.least ? {} : { pollAfterMs: Math.min(waitMs, POLL_AFTER_MS.most) };
}
