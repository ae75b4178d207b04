import type { JsonObject } from '../../../core/json.js';
import type {
  Provider,
  ProviderCall,
  ProviderCheck,
  ProviderPromises,
  ProviderReport,
  Submission,
  SubmitAnswer,
} from '../../../core/ports/provider.js';
import type { ProviderOpening } from '../../driver.js';
import { jsonRequest } from '../../http/bodies/json-request.js';
import { submit } from '../../http/submit.js';
import { openConnection, type Connection } from '../shared/connection.js';
import { listedHosts, resultBytes, type ResultFiles } from '../shared/result-files.js';
import { refusal } from '../shared/sentences.js';
import { WholeReferences } from '../shared/whole-references.js';
import { checkConnection } from './check-connection.js';
import { errorCode } from './prediction-failure.js';
import { predictionRequest, type PredictionRequest } from './prediction-request.js';
import { addressesOf, readPrediction, reportOf, type Prediction } from './prediction.js';
import { REPLICATE_PROMISES } from './replicate-promises.js';
import { readSettings, type ReplicateSettings } from './replicate-settings.js';
import { refusalOf } from './submission-refusal.js';
import { UploadRefused } from './upload-file.js';

/** A prediction repeats its input, in which small files are. */
const MAX_PREDICTION_BYTES = 8 * 1024 * 1024;

/** Throws one sentence for options that cannot work. */
export function openReplicate({ options, instance, log }: Pick<ProviderOpening, 'options' | 'instance' | 'log'>) {
  const { output_hosts: hosts } = options as unknown as { readonly output_hosts: readonly string[] };
  const files = {
    hosts: listedHosts(hosts, `providers.${instance}.output_hosts`),
    connection: openConnection({ options, instance }),
  };
  return new ReplicateProvider(files, instance, log);
}

/** Runs each task as one prediction. Its id is the reference. */
export class ReplicateProvider implements Provider {
  private readonly connection: Connection;

  constructor(
    private readonly files: ResultFiles,
    private readonly instance: string,
    private readonly log: ProviderOpening['log'],
  ) {
    this.connection = files.connection;
  }

  promises(): ProviderPromises {
    return REPLICATE_PROMISES;
  }

  async submit(submission: Submission, call: ProviderCall): Promise<SubmitAnswer> {
    const whole = new WholeReferences(submission.references);
    const request = await this.requestFor(submission, whole, call);
    if ('accepted' in request) return request;
    const sized = jsonRequest(request.body);
    const sending = submit(this.connection.client, {
      method: 'POST',
      url: this.connection.urlOf(...request.segments),
      headers: { ...this.headers, ...request.headers, ...sized.headers },
      body: sized.body,
      signal: call.signal,
    });
    const sent = await whole.sent(sending, call.signal);
    if ('accepted' in sent) return sent;
    if (sent.outcome === 'refused') {
      const { because, status } = sent;
      this.log.warn('provider refused a task', { provider: this.instance, because, status });
      return refusalOf(sent);
    }
    const prediction = readPrediction(await sent.answer.json(MAX_PREDICTION_BYTES));
    if (prediction === undefined)
      throw sent.answer.error('bad-answer', 'The answer to the submission is no prediction.');
    return { accepted: true, reference: prediction.id };
  }

  async poll(reference: string, given: JsonObject, call: ProviderCall): Promise<ProviderReport> {
    const settings = settingsOf(given);
    const prediction = await this.predictionOf(reference, call);
    if (prediction === undefined) return { state: 'unknown' };
    const report = reportOf(prediction, settings, this.files);
    if (report === undefined) throw new Error('A prediction has a status that is not known.');
    if (report.state === 'failed')
      this.log.warn('task failed at the provider', {
        provider: this.instance,
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
    const address = prediction === undefined ? undefined : addressesOf(prediction, settings, this.files)[index];
    if (address === undefined) throw new Error('The prediction has no such output.');
    return resultBytes(this.files, address, call);
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

  /** What is to be sent, or the refusal of a task that cannot be. Files are uploaded before. */
  private async requestFor(
    submission: Submission,
    whole: WholeReferences,
    call: ProviderCall,
  ): Promise<PredictionRequest | SubmitAnswer> {
    const read = readSettings(submission.settings);
    if ('fault' in read) return refusal('settings wrong');
    try {
      const task = { ...submission, references: whole.references };
      return await whole.sent(predictionRequest(this.connection, read.settings, task, call), call.signal);
    } catch (error) {
      if (error instanceof UploadRefused && !call.signal.aborted) return error.answer;
      throw error;
    }
  }

  /** Undefined where the provider does not know it. */
  private async predictionOf(reference: string, { signal }: ProviderCall): Promise<Prediction | undefined> {
    const url = this.connection.urlOf('predictions', reference);
    const answer = await this.connection.client.request({
      method: 'GET',
      url,
      headers: this.headers,
      signal,
      limits: { maxBodyBytes: MAX_PREDICTION_BYTES },
    });
    if (answer.status === 200) {
      const prediction = readPrediction(await answer.json());
      if (prediction?.id === reference) return prediction;
      throw answer.error('bad-answer', 'The answer to a poll is not the prediction that was asked for.');
    }
    const isMissing = answer.status === 404 && answer.declares === 'json';
    answer.discard();
    if (isMissing) return undefined;
    throw answer.error('bad-answer', `The answer to a poll has status ${answer.status}.`);
  }
}

function settingsOf(given: JsonObject): ReplicateSettings {
  const read = readSettings(given);
  if ('fault' in read) throw new Error(`The model's provider_settings cannot be used. ${read.fault}`);
  return read.settings;
}
