import type { JsonObject } from '../../../core/json.js';
import type {
  Provider,
  ProviderCall,
  ProviderCheck,
  ProviderCapabilities,
  Submission,
  SubmitAnswer,
} from '../../../core/ports/provider.js';
import type { ProviderOpening } from '../../driver.js';
import { Base64File, jsonRequest } from '../../http/http-request.js';
import { type SubmissionContract, type SubmissionRefusal, submit } from '../../http/submission-outcome.js';
import { type Connection, openConnection } from '../shared/connection.js';
import { withPolicy } from '../shared/policy-codes.js';
import { type FailureName, refusal } from '../shared/sentences.js';
import { type Splits, withSplits } from '../shared/split-references.js';
import { certainRefusal, logRefusal, refusalByStatus } from '../shared/submission-refusal.js';
import { taskInput } from '../shared/task-input.js';
import { WholeReferences } from '../shared/whole-references.js';
import { checkHealth } from './check-health.js';
import { cogCapabilities } from './cog-capabilities.js';
import { readSettings } from './cog-settings.js';
import { answerOf } from './prediction-answer.js';

/**
 * The responses with which the container reports that it is busy, or still setting up: it has then accepted nothing.
 */
const NO_ROOM: Readonly<Record<number, string>> = { 409: 'At capacity', 503: 'Setup has not finished' };

/** Statuses that do not mean what they mean at hosted APIs: Cog bills nobody, and has no other paths. */
const OTHER_MEANINGS: Readonly<Record<number, FailureName>> = { 402: 'rejected', 405: 'model missing' };

const CONTRACT: SubmissionContract = {
  refuses: (status, body) => {
    const error = typeof body === 'object' && body !== null ? Reflect.get(body, 'error') : undefined;
    const known = NO_ROOM[status];
    return known !== undefined && typeof error === 'string' && error.startsWith(known) ? 'capacity' : undefined;
  },
};

const LONGEST_TIMER_MS = 2 ** 31 - 1;

/** Throws one sentence for options that cannot work. */
export function openCog({
  options,
  instance,
  log,
  memory,
}: Pick<ProviderOpening, 'options' | 'instance' | 'log' | 'memory'>) {
  const { max_output_bytes: maxFileBytes } = options as unknown as { readonly max_output_bytes: number };
  return new CogProvider(openConnection({ options, instance }), { maxFileBytes, instance, log, memory });
}

interface CogContext extends Pick<ProviderOpening, 'instance' | 'log' | 'memory'> {
  readonly maxFileBytes: number;
}

/**
 * Runs each task as one prediction, and waits for its results. The container stops a prediction whose connection is
 * closed, so that one whose answer got lost does not continue.
 */
export class CogProvider implements Provider {
  constructor(
    private readonly connection: Connection,
    private readonly context: CogContext,
  ) {}

  capabilities(settings: JsonObject): ProviderCapabilities {
    return cogCapabilities(settings);
  }

  submit(submission: Submission, call: ProviderCall): Promise<SubmitAnswer> {
    const { memory } = this.context;
    return withSplits({ memory, signal: call.signal }, (splits) => this.submitWith(splits, submission, call));
  }

  private async submitWith(splits: Splits, submission: Submission, call: ProviderCall): Promise<SubmitAnswer> {
    const read = readSettings(submission.settings);
    if ('fault' in read) return refusal('settings wrong');
    const whole = new WholeReferences(submission.references, this.context);
    const task = { ...submission, references: whole.references };
    const mapping = taskInput(read.settings, task, async (file) => new Base64File(file, 'data-url'), splits);
    const mapped = await whole.sent(mapping, call.signal);
    if ('accepted' in mapped) return mapped;
    if ('refused' in mapped) return mapped.refused;
    const { headers, body } = jsonRequest({ id: submission.token, input: mapped.input });
    const timeoutMs = Math.min(LONGEST_TIMER_MS, Math.max(1, submission.timeLeftMs));
    const { maxFileBytes } = this.context;
    const sending = submit(
      this.connection.client,
      {
        method: 'PUT',
        url: this.connection.urlOf('predictions', submission.token),
        headers: { ...this.connection.credentials, accept: 'application/json', ...headers },
        body,
        signal: call.signal,
        limits: {
          headersTimeoutMs: timeoutMs,
          firstByteTimeoutMs: timeoutMs,
          totalTimeoutMs: timeoutMs,
          maxBodyBytes: 2 * maxFileBytes,
        },
      },
      withPolicy(submission, CONTRACT),
    );
    const sent = await whole.sent(sending, call.signal);
    if ('accepted' in sent) return sent;
    if (sent.outcome === 'refused') return this.refused(sent, submission);
    return answerOf(sent.answer, read.settings, submission, { maxFileBytes, call });
  }

  async poll(): Promise<{ readonly state: 'unknown' }> {
    return { state: 'unknown' };
  }

  async output(): Promise<never> {
    throw new Error('Results are in the answer to a submission.');
  }

  async cancel(): Promise<void> {
    // A prediction ends with its connection.
  }

  async recover(): Promise<'unsupported'> {
    return 'unsupported';
  }

  check(_settings: readonly JsonObject[], call: ProviderCall): Promise<ProviderCheck> {
    return checkHealth(this.connection, call);
  }

  close(): Promise<void> {
    return this.connection.close();
  }

  private refused(sent: SubmissionRefusal, submission: Submission): SubmitAnswer {
    logRefusal(this.context, sent);
    return certainRefusal(sent, submission, OTHER_MEANINGS[sent.status ?? 0] ?? refusalByStatus(sent.status));
  }
}
