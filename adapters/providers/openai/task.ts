import type { ProviderCall, ProviderCost, Submission, SubmitAnswer } from '../../../core/ports/provider.js';
import type { HttpLimits } from '../../http/limits.js';
import {
  type SubmissionAnswered,
  type SubmissionContract,
  type SubmissionRefusal,
  submit,
} from '../../http/submission-outcome.js';
import { withPolicy } from '../shared/policy-codes.js';
import { refusal } from '../shared/sentences.js';
import type { WholeReferences } from '../shared/whole-references.js';
import { knownCode, refusalName, serverErrorOf } from './error-answer.js';
import type { OpenAiInstance } from './openai-instance.js';
import type { ServerSettings } from './presets.js';
import type { TaskRequest } from './task-request.js';

/** One submission, ready to be sent. */
export interface Task {
  readonly settings: ServerSettings;
  readonly submission: Submission;
  /** Those of the submission, as the request reads them. */
  readonly whole: WholeReferences;
  readonly request: TaskRequest;
  readonly call: ProviderCall;
}

/**
 * Sends a task once. Returns the server's response, or a refusal that is certain; throws if the outcome is unknown.
 */
export async function sendTask(
  { settings, submission, whole, request, call }: Task,
  instance: OpenAiInstance,
  limits: Partial<HttpLimits>,
): Promise<SubmissionAnswered | { readonly outcome: 'refused'; readonly refusal: SubmitAnswer }> {
  const { connection } = instance;
  const sending = submit(
    connection.client,
    {
      method: 'POST',
      url: connection.urlOf(...request.path),
      headers: { ...connection.credentials, accept: 'application/json', ...request.headers },
      body: request.body,
      signal: call.signal,
      limits,
    },
    withPolicy(submission, contractOf(settings)),
  );
  const sent = await whole.sent(sending, call.signal);
  if ('accepted' in sent) return { outcome: 'refused', refusal: sent };
  if (sent.outcome === 'answered') return sent;
  return { outcome: 'refused', refusal: refusedTask(sent, submission, instance) };
}

/** A certain refusal in the words that clients read. It is logged with the server's code, where that is a known one. */
export function refusedTask(
  sent: SubmissionRefusal,
  submission: Submission,
  { name, log }: Pick<OpenAiInstance, 'name' | 'log'>,
  cost?: ProviderCost,
): SubmitAnswer {
  const { because, status, retryAfterMs } = sent;
  const code = knownCode(serverErrorOf(sent.body));
  log.warn('provider refused a task', {
    provider: name,
    because,
    ...(status === undefined ? {} : { status }),
    ...(code === undefined ? {} : { code }),
  });
  const about = { retryAfterMs, ...(cost === undefined ? {} : { cost }) };
  return refusal(refusalName(sent, submission), about);
}

/** A server of one's own says with its own errors that the task has ended; a gateway before it says so in HTML. */
function contractOf({ server_errors: errors }: ServerSettings): SubmissionContract {
  if (errors === 'unknown') return {};
  return {
    refuses: (status, body) => {
      if (typeof body !== 'object' || body === null || !('error' in body || 'detail' in body)) return undefined;
      if (status === 503) return 'capacity';
      return status === 500 ? 'rejected' : undefined;
    },
  };
}
