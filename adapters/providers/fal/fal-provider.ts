import type { JsonObject } from '../../../core/json.js';
import type {
  Provider,
  ProviderCall,
  ProviderCheck,
  ProviderCapabilities,
  ProviderReport,
  Submission,
  SubmitAnswer,
} from '../../../core/ports/provider.js';
import type { ProviderOpening } from '../../driver.js';
import { Base64File, jsonRequest } from '../../http/http-request.js';
import { type SubmissionRefusal, submit } from '../../http/submission-outcome.js';
import { type Connection, openConnection } from '../shared/connection.js';
import { withPolicy } from '../shared/policy-codes.js';
import { refusedBy } from '../shared/refused-in-success.js';
import { listedHosts, resultBytes, type ResultFiles } from '../shared/result-files.js';
import { refusal } from '../shared/sentences.js';
import { type Splits, withSplits } from '../shared/split-references.js';
import { taskInput } from '../shared/task-input.js';
import { certainRefusal, logRefusal, refusalByStatus } from '../shared/submission-refusal.js';
import { WholeReferences } from '../shared/whole-references.js';
import { billedCost } from './billed-units.js';
import { checkQueue } from './check-queue.js';
import { falCapabilities } from './fal-capabilities.js';
import { appOf, readSettings, settingsOf } from './fal-settings.js';
import { type FalOptions, platformHeaders } from './platform-headers.js';
import { QueuedRequests } from './queued-requests.js';
import { CANCELLED, type FailedRequest, requestFailure } from './request-failure.js';
import { isRequestPath, readSubmitted, requestPath } from './request-path.js';
import { type EndedReport, resultReport, resultsIn } from './request-results.js';
import { statedRefusal } from './submission-refusal.js';

/** The limit for an answer to a submission, beside the input that it may repeat. */
const MAX_ACCEPTANCE_BYTES = 1024 * 1024;

/** Throws one sentence for options that cannot work. */
export function openFal({
  options,
  instance,
  log,
  memory,
}: Pick<ProviderOpening, 'options' | 'instance' | 'log' | 'memory'>) {
  const known = options as unknown as FalOptions;
  const hosts = listedHosts(known.output_hosts, `providers.${instance}.output_hosts`);
  return new FalProvider({ connection: openConnection({ options, instance, scheme: 'Key' }), hosts }, known, {
    instance,
    log,
    memory,
  });
}

/** Runs each task as one request in fal's queue. The path of the request is the reference. */
export class FalProvider implements Provider {
  private readonly connection: Connection;
  private readonly requests: QueuedRequests;

  constructor(
    private readonly files: ResultFiles,
    private readonly options: FalOptions,
    private readonly about: Pick<ProviderOpening, 'instance' | 'log' | 'memory'>,
  ) {
    this.connection = files.connection;
    this.requests = new QueuedRequests(this.connection);
  }

  capabilities(settings: JsonObject): ProviderCapabilities {
    return falCapabilities(settings, this.options);
  }

  submit(submission: Submission, call: ProviderCall): Promise<SubmitAnswer> {
    const { memory } = this.about;
    return withSplits({ memory, signal: call.signal }, (splits) => this.submitWith(splits, submission, call));
  }

  private async submitWith(splits: Splits, submission: Submission, { signal }: ProviderCall): Promise<SubmitAnswer> {
    const read = readSettings(submission.settings);
    if ('fault' in read) return refusal('settings wrong');
    const { settings } = read;
    const whole = new WholeReferences(submission.references, this.about);
    const task = { ...submission, references: whole.references };
    const mapping = taskInput(settings, task, async (file) => new Base64File(file, 'data-url'), splits);
    const mapped = await whole.sent(mapping, signal);
    if ('accepted' in mapped) return mapped;
    if ('refused' in mapped) return mapped.refused;
    const { headers, body } = jsonRequest(mapped.input);
    const sending = submit(
      this.connection.client,
      {
        method: 'POST',
        url: this.connection.urlOf(...settings.endpoint.split('/')),
        headers: {
          ...this.connection.credentials,
          accept: 'application/json',
          ...headers,
          ...platformHeaders(this.options, submission.timeLeftMs),
        },
        body,
        signal,
      },
      withPolicy(submission),
    );
    const sent = await whole.sent(sending, signal);
    if ('accepted' in sent) return sent;
    if (sent.outcome === 'refused') return this.refused(sent, submission);
    const { answer } = sent;
    const answered = await answer.requiredShortJson(MAX_ACCEPTANCE_BYTES + body.byteSize);
    const submitted = readSubmitted(answered);
    if (submitted !== undefined)
      return { accepted: true, reference: requestPath(submitted, appOf(settings.endpoint), this.connection.base) };
    const statedStatus = statedRefusal(answered, answer.status, submission);
    if (statedStatus !== undefined) return this.refused(refusedBy(statedStatus, answered), submission);
    throw answer.error('bad-answer', 'The answer to the submission names no request.');
  }

  async poll(reference: string, given: JsonObject, call: ProviderCall): Promise<ProviderReport> {
    const settings = settingsOf(given);
    if (!isRequestPath(reference)) return { state: 'unknown' };
    const { status, unknownStatus, cost: time } = await this.requests.status(reference, call);
    if (status === 'missing') return { state: 'unknown' };
    if (status === 'open') return { state: 'running', ...(unknownStatus === undefined ? {} : { unknownStatus }) };
    const result = await this.requests.result(reference, call);
    const report = 'answer' in result ? resultReport(result.answer, settings, this.files) : failedReport(result.failed);
    if (report.state === 'failed') {
      const { status: code, type } = 'failed' in result ? result.failed : { status: 200, type: undefined };
      this.noteFailure(reference, code, type);
    }
    const cost = { ...time, ...billedCost(result.header, settings.unit_cost) };
    return Object.keys(cost).length === 0 ? report : { ...report, cost };
  }

  async output(
    reference: string,
    index: number,
    given: JsonObject,
    call: ProviderCall,
  ): Promise<AsyncIterable<Uint8Array>> {
    const settings = settingsOf(given);
    const result = isRequestPath(reference) ? await this.requests.result(reference, call) : undefined;
    const answer = result !== undefined && 'answer' in result ? result.answer : undefined;
    const found = resultsIn(answer, settings, this.files)[index];
    if (found === undefined) throw new Error('The request has no such output.');
    if ('address' in found) return resultBytes(this.files, found.address, call);
    return this.requests.encodedResult(reference, { pointer: found.pointer, at: settings.output.at }, call);
  }

  async cancel(reference: string, _settings: JsonObject, call: ProviderCall): Promise<void> {
    if (isRequestPath(reference)) await this.requests.cancel(reference, call);
  }

  async recover(): Promise<'unsupported'> {
    return 'unsupported';
  }

  check(settings: readonly JsonObject[], call: ProviderCall): Promise<ProviderCheck> {
    return checkQueue(this.connection, settings, call);
  }

  close(): Promise<void> {
    return this.connection.close();
  }

  private refused(sent: SubmissionRefusal, submission: Submission): SubmitAnswer {
    logRefusal(this.about, sent);
    return certainRefusal(sent, submission, refusalByStatus(sent.status));
  }

  private noteFailure(reference: string, status: number, code: string | undefined): void {
    const { log, instance } = this.about;
    const task = reference.slice(reference.lastIndexOf('/') + 1);
    log.warn('task failed at the provider', { provider: instance, task, status, code });
  }
}

function failedReport(failed: FailedRequest): EndedReport {
  if (failed.type === CANCELLED) return { state: 'cancelled', outputs: [] };
  return { state: 'failed', failure: requestFailure(failed) };
}
