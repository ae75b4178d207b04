import type { ProviderCall, ProviderReport, SubmitAnswer } from '../../../core/ports/provider.js';
import type { HttpAnswer } from '../../http/http-answer.js';
import { isObject, memberOf } from '../shared/json-members.js';
import { RecentReferences } from '../shared/recent-references.js';
import { fileBytes, MAX_FILE_REDIRECTS } from '../shared/result-files.js';
import { knownCode, refusalInSuccess, serverErrorOf } from './error-answer.js';
import type { OpenAiInstance } from './openai-instance.js';
import { refusedTask, sendTask, type Task } from './task.js';
import { hasFailed, isAbout, isJobId, isOpen, jobOf, reportOf, type VideoJob } from './video-job.js';

const MEBIBYTE = 1024 * 1024;
/** An answer may repeat its input, which is not kept: eight references of 20 MiB in base64, and what is around them. */
const MAX_ANSWER_BYTES = Math.ceil((8 * 20 * 4) / 3 + 1) * MEBIBYTE;
const POLL_AFTER_MS = { least: 100, most: 60_000 };

/** Jobs of the Videos API. A job's id at the server is its reference. */
export class VideoJobs {
  /** Jobs that the server has stopped and deleted for us; to other processes it reports them as unknown. */
  private readonly deleted = new RecentReferences(10_000);

  constructor(private readonly instance: OpenAiInstance) {}

  async submit(task: Task): Promise<SubmitAnswer> {
    const sent = await sendTask(task, this.instance, {});
    if (sent.outcome === 'refused') return sent.refusal;
    const body = await sent.answer.requiredShortJson(MAX_ANSWER_BYTES);
    const job = jobOf(body);
    if (job !== undefined) return { accepted: true, reference: job.id };
    const { settings, submission } = task;
    const refused = refusalInSuccess(body, { sent: submission, isFinal: settings.server_errors === 'final' });
    if (refused !== undefined) return refusedTask(refused, submission, this.instance);
    const id = memberOf(body, 'id');
    if (isJobId(id)) return { accepted: true, reference: id };
    throw sent.answer.error('bad-answer', 'The answer to a task has no id that can be used.');
  }

  async poll(reference: string, call: ProviderCall): Promise<ProviderReport> {
    const answer = await this.ask('GET', reference, call);
    const job = await this.jobIn(answer, reference);
    if (job === undefined)
      return this.deleted.has(reference) ? { state: 'cancelled', outputs: [] } : { state: 'unknown' };
    const report = reportOf(job);
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
      maxRedirects: MAX_FILE_REDIRECTS,
      limits: { maxBodyBytes: maxOutputBytes, totalTimeoutMs: LONGEST_DOWNLOAD_MS },
    });
    return fileBytes(answer, { hasKey: Object.keys(connection.credentials).length > 0 });
  }

  /** A finished job is left alone, as a deletion takes its video away. */
  async cancel(reference: string, call: ProviderCall): Promise<void> {
    const job = await this.jobIn(await this.ask('GET', reference, call), reference);
    if (job === undefined || !isOpen(job)) return;
    const answer = await this.ask('DELETE', reference, call);
    answer.discard();
    if (answer.isOk) this.deleted.add(reference);
    // 409: the server is still stopping it; 404: it was deleted in the meantime.
    else if (answer.status !== 409 && answer.status !== 404)
      throw answer.error('bad-answer', `The answer to a deletion has the status ${answer.status}.`);
  }

  private logFailure(reference: string, { status, error }: VideoJob): void {
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
    return client.request({ method, url: this.urlOf(reference), headers, signal });
  }

  /**
   * The job, or undefined where the server states that it has none. Some answer a failed job with the status of an error,
   * and the job.
   */
  private async jobIn(answer: HttpAnswer, reference: string): Promise<VideoJob | undefined> {
    const { status, isOk } = answer;
    const body = await answer.requiredShortJson(MAX_ANSWER_BYTES);
    const job = jobOf(body);
    if (job !== undefined && isAbout(job, reference) && (isOk || hasFailed(job))) return job;
    if ((status === 404 || status === 410) && statesNoJob(body)) return undefined;
    throw answer.error('bad-answer', `The answer about a job has the status ${status}, and no such job.`);
  }

  /** A reference that cannot be an id of this API is unknown to the server, too. */
  private urlOf(reference: string, ...rest: readonly string[]): string {
    return this.instance.connection.urlOf('videos', reference, ...rest);
  }
}

/**
 * Whether an answer of 404 is the API's own about a job: in OpenAI's form, or in that of the servers which follow it. A route
 * that does not exist, and a gateway in front of the server, answer in other words.
 */
function statesNoJob(body: unknown): boolean {
  const [error, detail] = [memberOf(body, 'error'), memberOf(body, 'detail')];
  const text = [isObject(error) ? memberOf(error, 'message') : error, detail].find((one) => typeof one === 'string');
  if (text === undefined) return isObject(error);
  return !/^(?:Not Found|404.*)$|invalid url|unknown_url|no route|route not|page not found/i.test(text);
}

const LONGEST_DOWNLOAD_MS = 6 * 60 * 60 * 1_000;

/** The additional members that OpenAI sends. */
function pollAfter(answer: HttpAnswer): { readonly pollAfterMs?: number } {
  const header = answer.header('openai-poll-after-ms') ?? '';
  const waitMs = /^\d{1,6}$/.test(header) ? Number(header) : 0;
  return waitMs < POLL_AFTER_MS.least ? {} : { pollAfterMs: Math.min(waitMs, POLL_AFTER_MS.most) };
}
