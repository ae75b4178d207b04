import type { JsonObject } from '../../../core/json.js';
import type { Log } from '../../../core/log.js';
import type { MemoryBudget } from '../../../core/memory-budget.js';
import type {
  Provider,
  ProviderCall,
  ProviderCheck,
  ProviderCapabilities,
  ProviderReference,
  ProviderReport,
  RecoverAnswer,
  Submission,
  SubmitAnswer,
} from '../../../core/ports/provider.js';
import type { HttpAnswer } from '../../http/http-answer.js';
import { type SubmissionRefusal, submit } from '../../http/submission-outcome.js';
import type { Connection } from '../shared/connection.js';
import { memberOf } from '../shared/json-members.js';
import { splitMasked, submitMasked, type TaskFiles } from '../shared/masked-reference.js';
import { withPolicy } from '../shared/policy-codes.js';
import { refusedBy, statusInSuccess } from '../shared/refused-in-success.js';
import { refusal } from '../shared/sentences.js';
import { requestOrRefusal } from '../shared/task-refused.js';
import { logRefusal } from '../shared/submission-refusal.js';
import { WholeReferences } from '../shared/whole-references.js';
import { checkServer } from './sdcpp-check.js';
import { JOB_ID, MAX_ANSWER_BYTES, pictureOf, reportOf, unexpected } from './sdcpp-job.js';
import { sdcppCapabilities } from './sdcpp-capabilities.js';
import { refusalOf } from './sdcpp-refusal.js';
import { requestOf } from './sdcpp-request.js';
import { readSettings, type SdcppSettings } from './sdcpp-settings.js';

/** The limit for an answer to a submission, beside the input that it may repeat. */
const MAX_ACCEPTANCE_BYTES = 1024 * 1024;
/** An output is read as fast as the object store takes it. */
const OUTPUT_TIMEOUT_MS = 30 * 60_000;

/** One configured instance. */
export interface SdcppInstance {
  readonly connection: Connection;
  /** The name, for the log. */
  readonly instance: string;
  readonly log: Log;
  /** For decoding references, shared by the process. */
  readonly memory: MemoryBudget;
}

interface Task {
  readonly submission: Submission;
  readonly settings: SdcppSettings;
  readonly whole: WholeReferences;
  readonly call: ProviderCall;
}

/**
 * Tasks are jobs of sd-server, the server of stable-diffusion.cpp, by its native routes: one job after another, in its
 * memory alone. A reference is the id of a job. A job is not found by anything else, and a running one is not stopped.
 */
export class SdcppProvider implements Provider {
  constructor(private readonly server: SdcppInstance) {}

  capabilities(settings: JsonObject): ProviderCapabilities {
    return sdcppCapabilities(settings);
  }

  async submit(submission: Submission, call: ProviderCall): Promise<SubmitAnswer> {
    const settings = readSettings(submission.settings);
    if ('fault' in settings || submission.operation !== 'image_generation') return refusal('settings wrong');
    const whole = new WholeReferences(submission.references, this.server);
    // Before anything is decoded: a task that is refused needs no mask.
    const fault = requestOrRefusal(() => requestOf(submission, settings));
    if ('refused' in fault) return fault.refused;
    const splitting = { memory: this.server.memory, signal: call.signal };
    const isMaskable = settings.references === 'init_image';
    const split = (reference: ProviderReference) => splitMasked(reference, 'white', splitting);
    const task = { submission, settings, whole, call };
    return submitMasked(whole, isMaskable ? split : undefined, call, (files) => this.send(task, files));
  }

  private async send({ submission, settings, whole, call: { signal } }: Task, files: TaskFiles): Promise<SubmitAnswer> {
    const made = requestOrRefusal(() => requestOf(submission, settings, files));
    if ('refused' in made) return made.refused;
    const { request } = made;
    const { client, credentials } = this.server.connection;
    const headers = { ...credentials, ...request.headers };
    const sent = submit(
      client,
      { method: 'POST', url: this.urlOf('img_gen'), headers, body: request.body, signal },
      withPolicy(submission),
    );
    const outcome = await whole.sent(sent, signal);
    if ('accepted' in outcome) return outcome;
    if (outcome.outcome === 'refused') return this.refused(outcome, submission);
    const { answer } = outcome;
    const answered = await answer.requiredShortJson(MAX_ACCEPTANCE_BYTES + request.body.byteSize);
    const id = memberOf(answered, 'id');
    if (typeof id === 'string' && JOB_ID.test(id)) return { accepted: true, reference: id };
    const statedStatus = statusInSuccess(answered, answer.status, submission);
    if (statedStatus !== undefined) return this.refused(refusedBy(statedStatus, answered), submission);
    // Without the id of a job it is unknown what was taken.
    throw unexpected(answer);
  }

  async poll(reference: string, _settings: JsonObject, { signal }: ProviderCall): Promise<ProviderReport> {
    const report = await reportOf(await this.get(signal, 'jobs', reference), reference);
    if (report.state === 'failed')
      this.server.log.warn('task failed at the provider', { provider: this.server.instance, task: reference });
    return report;
  }

  async output(
    reference: string,
    index: number,
    _settings: JsonObject,
    { signal }: ProviderCall,
  ): Promise<AsyncIterable<Uint8Array>> {
    return pictureOf(await this.get(signal, 'jobs', reference), { reference, index });
  }

  /** The server responds with 409 for a running job, which continues; other jobs are as `poll` finds them. */
  async cancel(reference: string, _settings: JsonObject, { signal }: ProviderCall): Promise<void> {
    const { client, credentials: headers } = this.server.connection;
    const answer = await client.request({
      method: 'POST',
      url: this.urlOf('jobs', reference, 'cancel'),
      headers,
      signal,
    });
    if (![200, 404, 409, 410].includes(answer.status)) throw unexpected(answer);
    answer.discard();
  }

  async recover(): Promise<RecoverAnswer> {
    return 'unsupported';
  }

  async check(settings: readonly JsonObject[], { signal }: ProviderCall): Promise<ProviderCheck> {
    return checkServer(this.server.connection, () => this.get(signal, 'capabilities'), settings);
  }

  close(): Promise<void> {
    return this.server.connection.close();
  }

  private refused(refused: SubmissionRefusal, submission: Submission): SubmitAnswer {
    logRefusal(this.server, refused);
    return refusalOf(refused, submission);
  }

  private get(signal: ProviderCall['signal'], ...route: readonly string[]): Promise<HttpAnswer> {
    const { client, credentials: headers } = this.server.connection;
    const limits = { maxBodyBytes: MAX_ANSWER_BYTES, totalTimeoutMs: OUTPUT_TIMEOUT_MS };
    return client.request({ method: 'GET', url: this.urlOf(...route), headers, signal, limits });
  }

  private urlOf(...route: readonly string[]): string {
    return this.server.connection.urlOf('sdcpp', 'v1', ...route);
  }
}
