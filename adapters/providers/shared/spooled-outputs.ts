import type {
  ProviderCall,
  ProviderCost,
  Submission,
  SubmitAnswer,
  SubmittedOutput,
} from '../../../core/ports/provider.js';
import type { HttpAnswer } from '../../http/http-answer.js';
import { spooledJson, type SpooledJson } from '../../http/json/json-with-files.js';
import type { HttpLimits } from '../../http/limits.js';
import { heldOutputs } from './held-outputs.js';

/** Outputs of a finished task, and what it cost. */
export interface FoundOutputs {
  readonly outputs: readonly SubmittedOutput[];
  readonly cost?: ProviderCost;
}

/** The same for the answer to a submission. */
export type SpooledOutputs = Omit<Extract<SubmitAnswer, { readonly outputs: unknown }>, 'accepted'>;

export interface SpooledAnswer {
  /** The places of the outputs, in base64: JSON Pointers in which `*` stands for any key or index. */
  readonly at: readonly string[];
  /** The places of their addresses; see `JsonWithFilesOptions`. */
  readonly addressesAt?: readonly string[];
  /** The limit for one output, in bytes. */
  readonly maxOutputBytes: number;
  readonly submission: Submission;
  readonly call: ProviderCall;
}

const LONGEST_TIMER_MS = 2 ** 31 - 1;
/** Base64 takes four bytes for three; the rest is for the other members. */
const BASE64_SHARE = 1.4;
const MAX_JSON_BYTES = 1024 * 1024;
/** More than any server makes at once, so that what was not paid for does not fail the answer. */
const MAX_STRINGS = 500;

/** The limits of a submission whose answer comes when the task has ended: it may take as long as the task may run. */
export function limitsOfAnswer(
  { timeLeftMs, outputCount }: Pick<Submission, 'timeLeftMs' | 'outputCount'>,
  maxOutputBytes: number,
): Partial<HttpLimits> {
  const longestMs = Math.min(Math.max(1, timeLeftMs), LONGEST_TIMER_MS);
  return {
    headersTimeoutMs: longestMs,
    // Servers commit to an answer, and keep its connection alive with white space, before they compute it.
    firstByteTimeoutMs: longestMs,
    totalTimeoutMs: longestMs,
    maxBodyBytes: Math.ceil(Math.max(1, outputCount) * maxOutputBytes * BASE64_SHARE) + MAX_JSON_BYTES,
  };
}

/**
 * The outputs that `read` finds in an answer, as many as were paid for. They wait in memory or in a temporary file, as
 * `heldOutputs` says; so the answer was whole when this resolves. Throws `HttpError`, and what `read` throws.
 */
export async function spooledOutputs(
  answer: HttpAnswer,
  { at, addressesAt, maxOutputBytes, submission, call }: SpooledAnswer,
  read: (spooled: SpooledJson) => FoundOutputs | Promise<FoundOutputs>,
): Promise<SpooledOutputs> {
  const spooled = await spooledJson(answer, {
    at,
    ...(addressesAt === undefined ? {} : { addressesAt }),
    maxJsonBytes: MAX_JSON_BYTES,
    maxCount: MAX_STRINGS,
    maxFileBytes: maxOutputBytes,
  });
  try {
    const { outputs, ...rest } = await read(spooled);
    const paid = outputs.slice(0, submission.outputCount);
    const holding = { call, afterMs: submission.timeLeftMs, free: () => spooled.close() };
    return { ...heldOutputs(paid, holding), ...rest };
  } catch (error) {
    await spooled.close();
    throw error;
  }
}
