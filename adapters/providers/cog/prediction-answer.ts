import type {
  ProviderCall,
  ProviderFailure,
  Submission,
  SubmitAnswer,
  SubmittedOutput,
} from '../../../core/ports/provider.js';
import type { HttpAnswer } from '../../http/http-answer.js';
import { type SpooledFile, spooledJson, type SpooledJson } from '../../http/json/json-with-files.js';
import { heldOutputs } from '../shared/held-outputs.js';
import { memberOf, metricsCost } from '../shared/json-members.js';
import { policyRefusalIn } from '../shared/policy-codes.js';
import { failure } from '../shared/sentences.js';
import { statusMeaning } from '../shared/status-words.js';
import type { CogSettings } from './cog-settings.js';

/** The limit for an answer without its results: its logs and its other output. */
const MAX_JSON_BYTES = 8 * 1024 * 1024;
/** More than any task has. */
const MAX_FILES = 100;

/**
 * The outcome of a finished prediction. Its results, which are data URLs before the status that they belong to, wait
 * in memory or in a temporary file until they are stored. Throws `HttpError` for a response that is not a finished prediction.
 */
export async function answerOf(
  answer: HttpAnswer,
  settings: CogSettings,
  submission: Submission,
  { maxFileBytes, call }: { readonly maxFileBytes: number; readonly call: ProviderCall },
): Promise<SubmitAnswer> {
  const at = settings.output.at === undefined ? ['/output', '/output/*'] : [`/output${settings.output.at}`];
  const limits = { maxJsonBytes: MAX_JSON_BYTES, maxCount: MAX_FILES, maxFileBytes };
  const spooled = await spooledJson(answer, { at, ...limits });
  const made = [...spooled.files.values()].filter(({ byteSize }) => byteSize > 0).slice(0, submission.outputCount);
  const outcome = outcomeOf(spooled, made.length, submission);
  const cost = metricsCost(spooled.json, 'predict_time');
  if (outcome === 'succeeded') {
    const outputs = made.map((file) => outputOf(file, settings.output.media_type));
    const holding = { call, afterMs: submission.timeLeftMs, free: () => spooled.close() };
    return { accepted: true, ...heldOutputs(outputs, holding), ...cost };
  }
  await spooled.close();
  if (outcome === undefined) throw answer.error('bad-answer', 'The answer is no prediction that is over.');
  return { accepted: false, failure: outcome, ...cost };
}

/** Undefined for a prediction that is still running, and for a response that is not a prediction. */
function outcomeOf(
  { json }: SpooledJson,
  made: number,
  submission: Submission,
): 'succeeded' | ProviderFailure | undefined {
  const status = memberOf(json, 'status');
  const meaning = typeof status === 'string' ? statusMeaning(status) : undefined;
  switch (meaning) {
    case 'succeeded':
      // The settings may point elsewhere: running it again does not change that.
      return made > 0 ? 'succeeded' : { ...failure('broke'), mayRetry: false };
    case 'failed':
      return failureOf(memberOf(json, 'error'), submission);
    // Cancelled by somebody else: we do not cancel a prediction that we still wait for.
    case 'cancelled':
      return failure('broke');
    case 'running':
    case undefined: {
      // An error without a prediction, as a proxy passes it on.
      const refused = policyRefusalIn(json, 200, submission);
      return refused === undefined ? undefined : failure(refused);
    }
  }
}

/** The error of a model's own code comes again with the same input; a process that has died may be available again. */
function failureOf(error: unknown, submission: Submission): ProviderFailure {
  const text = typeof error === 'string' ? error.slice(0, 10_000) : '';
  if (/\bNSFW\b/i.test(text)) return failure('output refused');
  const refused = policyRefusalIn(error, undefined, submission);
  if (refused !== undefined) return failure(refused);
  return text === 'Worker crashed' ? failure('broke') : { ...failure('broke'), mayRetry: false };
}

function outputOf(file: SpooledFile, otherwise: string): SubmittedOutput {
  const mediaType = file.mediaType?.split(';')[0] ?? otherwise;
  const known = /^(?:image|video)\//.test(mediaType) ? mediaType : otherwise;
  return { kind: known.startsWith('video/') ? 'video' : 'image', mediaType: known, bytes: file.bytes };
}
