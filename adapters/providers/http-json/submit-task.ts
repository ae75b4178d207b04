import type { ProviderCall, Submission, SubmitAnswer } from '../../../core/ports/provider.js';
import type { ProviderOpening } from '../../driver.js';
import { jsonRequest } from '../../http/http-request.js';
import { type SubmissionContract, submit } from '../../http/submission-outcome.js';
import { type Splits, withSplits } from '../shared/split-references.js';
import { WholeReferences } from '../shared/whole-references.js';
import type { ApiCalls } from './api-calls.js';
import { errorIn, isAboutContent, isAboutTask, isListed, meaningOf, refusalOf } from './error-meaning.js';
import type { HttpJsonSettings } from './http-json-settings.js';
import { MAX_JSON_BYTES } from './read-answer.js';
import { listedCode } from './shown-words.js';
import { referenceIn } from './task-reference.js';
import { taskRequest } from './task-request.js';

/** The parts that a task is sent with. */
export interface Submitting extends Pick<ProviderOpening, 'instance' | 'log' | 'memory'> {
  readonly calls: ApiCalls;
  readonly settings: HttpJsonSettings;
}

/** Sends a task once. Throws `HttpError` where it is unknown whether it was taken. */
export function submitTask(by: Submitting, submission: Submission, call: ProviderCall): Promise<SubmitAnswer> {
  return withSplits({ memory: by.memory, signal: call.signal }, (splits) => submitWith(splits, by, submission, call));
}

async function submitWith(
  splits: Splits,
  { calls, settings, instance, log }: Submitting,
  submission: Submission,
  { signal }: ProviderCall,
): Promise<SubmitAnswer> {
  const whole = new WholeReferences(submission.references, { instance, log });
  const making = taskRequest(settings, { ...submission, references: whole.references }, splits);
  const request = await whole.sent(making, signal);
  if ('accepted' in request) return request;
  if ('refused' in request) return request.refused;
  const { headers, body } = jsonRequest(request.body);
  const sending = submit(
    calls.connection.client,
    {
      method: settings.submit.method,
      url: calls.connection.base + request.path,
      headers: { ...request.headers, ...headers, ...calls.headersFor(settings) },
      body,
      signal,
    },
    contractOf(settings, submission),
  );
  const sent = await whole.sent(sending, signal);
  if ('accepted' in sent) return sent;
  const { errors } = settings;
  if (sent.outcome === 'refused') {
    const { because, status } = sent;
    const code = listedCode(errorIn(sent.body, errors), errors);
    log.warn('provider refused a task', { provider: instance, because, status, ...code });
    return refusalOf(sent, errors, submission);
  }
  const answer = await sent.answer.json(MAX_JSON_BYTES);
  const reference = referenceIn(answer, settings, calls.places);
  if (reference !== undefined) return { accepted: true, reference };
  const error = errorIn(answer, errors, sent.answer.status, submission);
  const code = listedCode(error, errors);
  // Only an error about the task's content or input is certain, and any listed code where the operator says that the API
  // answers so.
  const isAnError = settings.submit.error_in_success && code.code !== undefined;
  if (isAnError || isAboutTask(meaningOf(errors, error))) {
    const { status } = sent.answer;
    log.warn('provider refused a task', { provider: instance, because: 'rejected', status, ...code });
    return refusalOf({ outcome: 'refused', because: 'rejected', status, body: answer }, errors, submission);
  }
  throw sent.answer.error('bad-answer', 'The answer to the submission does not name a task at submit.id.');
}

function contractOf(
  { submit: { seen_before: seen, refused }, errors }: HttpJsonSettings,
  submission: Submission,
): SubmissionContract {
  return {
    seenBefore: (status, body) => isListed(seen, status, errorIn(body, errors)),
    refuses: (status, body) => {
      if (isListed(refused, status, errorIn(body, errors))) return 'capacity';
      // With any status: the API has looked at the content and decided.
      return isAboutContent(meaningOf(errors, errorIn(body, errors, status, submission))) ? 'rejected' : undefined;
    },
  };
}
