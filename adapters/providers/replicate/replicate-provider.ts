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
import type { HttpAnswer } from '../../http/http-answer.js';
import { jsonRequest } from '../../http/http-request.js';
import { type SubmissionRefusal, submit } from '../../http/submission-outcome.js';
import { type Connection, openConnection } from '../shared/connection.js';
import { memberOf } from '../shared/json-members.js';
import { withPolicy } from '../shared/policy-codes.js';
import { refusedBy, statusInSuccess } from '../shared/refused-in-success.js';
import { dataUrlBytes, listedHosts, resultBytes, type ResultFiles } from '../shared/result-files.js';
import { refusal } from '../shared/sentences.js';
import { type Splits, withSplits } from '../shared/split-references.js';
import { logRefusal } from '../shared/submission-refusal.js';
import { WholeReferences } from '../shared/whole-references.js';
import { checkConnection } from './check-connection.js';
import { errorCode } from './prediction-failure.js';
import { predictionRequest, type PredictionRequest } from './prediction-request.js';
import { placeOfResults, type Prediction, readPrediction, reportOf, resultsOf } from './prediction.js';
import { replicateCapabilities } from './replicate-capabilities.js';
import { readSettings, settingsOf } from './replicate-settings.js';
import { refusalOf, waitInText } from './submission-refusal.js';
import { UploadRefused } from './upload-file.js';

const MEBIBYTE = 1024 * 1024;
/** A prediction repeats its input, in which small files are, and may have its results in it. They are not kept. */
const MAX_PREDICTION_BYTES = 1_536 * MEBIBYTE;
const MAX_ERROR_BYTES = 8 * MEBIBYTE;

/** Throws one sentence for options that cannot work. */
export function openReplicate({
  options,
  instance,
  log,
  memory,
}: Pick<ProviderOpening, 'options' | 'instance' | 'log' | 'memory'>) {
  const { output_hosts: hosts } = options as unknown as { readonly output_hosts: readonly string[] };
  const files = {
    hosts: listedHosts(hosts, `providers.${instance}.output_hosts`),
    connection: openConnection({ options, instance }),
  };
  return new ReplicateProvider(files, { instance, log, memory });
}

/** Runs each task as one prediction. Its id is the reference. */
export class ReplicateProvider implements Provider {
  private readonly connection: Connection;

  constructor(
    private readonly files: ResultFiles,
    private readonly about: Pick<ProviderOpening, 'instance' | 'log' | 'memory'>,
  ) {
    this.connection = files.connection;
  }

  capabilities(settings: JsonObject): ProviderCapabilities {
    return replicateCapabilities(settings);
  }

  submit(submission: Submission, call: ProviderCall): Promise<SubmitAnswer> {
    const { memory } = this.about;
    return withSplits({ memory, signal: call.signal }, (splits) => this.submitWith(splits, submission, call));
  }

  private async submitWith(splits: Splits, submission: Submission, call: ProviderCall): Promise<SubmitAnswer> {
    const whole = new WholeReferences(submission.references, this.about);
    const request = await this.requestFor(submission, { whole, splits }, call);
    if ('accepted' in request) return request;
    const sized = jsonRequest(request.body);
    const sending = submit(
      this.connection.client,
      {
        method: 'POST',
        url: this.connection.urlOf(...request.segments),
        headers: { ...this.headers, ...request.headers, ...sized.headers },
        body: sized.body,
        signal: call.signal,
      },
      withPolicy(submission),
    );
    const sent = await whole.sent(sending, call.signal);
    if ('accepted' in sent) return sent;
    if (sent.outcome === 'refused') return this.refused(sent, submission);
    const { answer } = sent;
    const body = await answer.requiredShortJson(MAX_PREDICTION_BYTES);
    const prediction = readPrediction(body);
    if (prediction !== undefined) return { accepted: true, reference: prediction.id };
    const statedStatus = statusInSuccess(body, answer.status, submission);
    if (statedStatus !== undefined) return this.refused(refusedBy(statedStatus, body), submission);
    throw answer.error('bad-answer', 'The answer to the submission is not a prediction.');
  }

  async poll(reference: string, given: JsonObject, call: ProviderCall): Promise<ProviderReport> {
    const settings = settingsOf(given);
    const prediction = await this.predictionOf(reference, call);
    if (prediction === undefined) return { state: 'unknown' };
    const report = reportOf(prediction, settings, this.files);
    if (report.state === 'failed')
      this.about.log.warn('task failed at the provider', {
        provider: this.about.instance,
        task: prediction.id,
        status: prediction.status,
        code: errorCode(prediction.error),
      });
    return report;
  }

  async output(
    reference: string,
    index: number,
    given: JsonObject,
    call: ProviderCall,
  ): Promise<AsyncIterable<Uint8Array>> {
    const settings = settingsOf(given);
    const prediction = await this.predictionOf(reference, call);
    const found = prediction === undefined ? undefined : resultsOf(prediction, settings, this.files)[index];
    if (prediction === undefined || found === undefined) throw new Error('The prediction has no such output.');
    if ('address' in found) return resultBytes(this.files, found.address, call);
    const answer = await this.ask(reference, call);
    if (answer.status === 200)
      return dataUrlBytes(answer, { pointer: found.pointer, at: placeOfResults(prediction, settings) });
    answer.discard();
    throw answer.error('bad-answer', `The answer for a result has status ${answer.status}.`);
  }

  async cancel(reference: string, _settings: JsonObject, { signal }: ProviderCall): Promise<void> {
    const url = this.connection.urlOf('predictions', reference, 'cancel');
    const answer = await this.connection.client.request({ method: 'POST', url, headers: this.headers, signal });
    answer.discard();
    // One that has ended, or is not known, is left as it is.
    if (!answer.isOk && ![404, 409, 410, 422].includes(answer.status))
      throw answer.error('bad-answer', `The answer to a cancel has status ${answer.status}.`);
  }

  async recover(): Promise<'unsupported'> {
    return 'unsupported';
  }

  check(settings: readonly JsonObject[], call: ProviderCall): Promise<ProviderCheck> {
    return checkConnection(this.connection, settings, call);
  }

  close(): Promise<void> {
    return this.connection.close();
  }

  private get headers(): Readonly<Record<string, string>> {
    return { ...this.connection.credentials, accept: 'application/json' };
  }

  /** The request to send, or the refusal of a task that cannot be sent. Files are uploaded before. */
  private async requestFor(
    submission: Submission,
    { whole, splits }: { readonly whole: WholeReferences; readonly splits: Splits },
    call: ProviderCall,
  ): Promise<PredictionRequest | SubmitAnswer> {
    const read = readSettings(submission.settings);
    if ('fault' in read) return refusal('settings wrong');
    try {
      const task = { ...submission, references: whole.references };
      const to = { connection: this.connection, settings: read.settings, splits };
      return await whole.sent(predictionRequest(to, task, call), call.signal);
    } catch (error) {
      if (error instanceof UploadRefused && !call.signal.aborted) return error.answer;
      throw error;
    }
  }

  private refused(sent: SubmissionRefusal, submission: Submission): SubmitAnswer {
    logRefusal(this.about, sent);
    return refusalOf(sent, submission);
  }

  private ask(reference: string, { signal }: ProviderCall): Promise<HttpAnswer> {
    return this.connection.client.request({
      method: 'GET',
      url: this.connection.urlOf('predictions', reference),
      headers: this.headers,
      signal,
      limits: { maxBodyBytes: MAX_PREDICTION_BYTES },
    });
  }

  /** Undefined if the API states that the prediction does not exist. */
  private async predictionOf(reference: string, call: ProviderCall): Promise<Prediction | undefined> {
    const answer = await this.ask(reference, call);
    const { status } = answer;
    if (status === 200) {
      const prediction = readPrediction(await answer.requiredShortJson(MAX_PREDICTION_BYTES));
      if (prediction?.id === reference) return prediction;
      throw answer.error('bad-answer', 'The answer to a poll is not the prediction that was asked for.');
    }
    const json = await answer.shortJson(MAX_ERROR_BYTES);
    const body = 'value' in json ? json.value : undefined;
    // In the form of this API; a gateway in front of it writes other members.
    if ((status === 404 || status === 410) && typeof memberOf(body, 'detail') === 'string') return undefined;
    const waitMs = answer.header('retry-after') === undefined ? waitInText(body) : undefined;
    const hints = waitMs === undefined ? {} : { retryAfterMs: waitMs };
    throw answer.error('bad-answer', `The answer to a poll has status ${status}.`, hints);
  }
}
