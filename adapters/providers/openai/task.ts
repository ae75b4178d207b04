import type { ProviderCall, Submission, SubmitAnswer } from '../../../core/ports/provider.js';
import type { HttpLimits } from '../../http/limits.js';
import { submit, type SubmissionAnswered } from '../../http/submit.js';
import type { SubmissionContract } from '../../http/submission-outcome.js';
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
 * Sends a task once. Answers what the server answered, or a refusal that is certain; throws where the outcome is unknown.
 */
export async function sendTask(
  { settings, whole, request, call }: Task,
  { connection, name, log }: OpenAiInstance,
  limits: Partial<HttpLimits>,
): Promise<SubmissionAnswered | { readonly outcome: 'refused'; readonly refusal: SubmitAnswer }> {
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
    contractOf(settings),
  );
  const sent = await whole.sent(sending, call.signal);
  if ('accepted' in sent) return { outcome: 'refused', refusal: sent };
  if (sent.outcome === 'answered') return sent;
  const code = knownCode(serverErrorOf(sent.body));
  log.warn('provider refused a task', {
    provider: name,
    because: sent.because,
    ...(sent.status === undefined ? {} : { status: sent.status }),
    ...(code === undefined ? {} : { code }),
  });
  return { outcome: 'refused', refusal: refusal(refusalName(sent), { retryAfterMs: sent.retryAfterMs }) };
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
