import type { ProviderCost, ProviderReport } from '../../../core/ports/provider.js';
import { policyStageIn } from '../shared/policy-codes.js';
import { failure, type FailureName } from '../shared/sentences.js';
import { shownStatus, statusMeaning } from '../shared/status-words.js';
import { isAccountError, serverErrorOf } from './error-answer.js';

const VIDEO = { kind: 'video', mediaType: 'video/mp4' } as const;

/**
 * A name that can be stored, and put into an address, where it is encoded. Gateways make long ones, such as base64 with its
 * padding: LiteLLM encodes the vendor, the model and the vendor's id.
 */
export function isJobId(value: unknown): value is string {
  return typeof value === 'string' && /^(?!\.{1,2}$)[\x21-\x7e]{1,1000}$/.test(value);
}

/** A job as the server describes it; undefined where a value describes none. */
export function jobOf(value: unknown): VideoJob | undefined {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return undefined;
  const job = value as Partial<VideoJob>;
  return isJobId(job.id) && typeof job.status === 'string' && job.status !== '' ? (job as VideoJob) : undefined;
}

export type VideoJob = Readonly<Record<string, unknown>> & { readonly id: string; readonly status: string };

/** Whether a job has not ended. */
export function isOpen({ status }: VideoJob): boolean {
  const meaning = statusMeaning(status);
  return meaning === 'running' || meaning === undefined;
}

/** Whether a job says that it has failed. */
export function hasFailed({ status }: VideoJob): boolean {
  return statusMeaning(status) === 'failed';
}

/**
 * Whether an answer with this job is about the one that was asked for. Gateways pass on the id of the server behind them,
 * or encode another one than at the submission: then it counts for all that does not end the task.
 */
export function isAbout(job: VideoJob, reference: string): boolean {
  if (job.id === reference) return true;
  const meaning = statusMeaning(job.status);
  return meaning !== 'failed' && meaning !== 'cancelled';
}

/** The used members of a job. One whose status is not known counts as running. */
export function reportOf(job: VideoJob): ProviderReport {
  const cost = costOf(job);
  const costs = cost === undefined ? {} : { cost };
  switch (statusMeaning(job.status)) {
    case 'running':
      return { state: 'running', ...progressOf(job) };
    case 'succeeded':
      return { state: 'succeeded', outputs: [VIDEO], ...costs };
    case 'failed':
      return { state: 'failed', failure: failure(failureName(job)), ...costs };
    case 'cancelled':
      return { state: 'cancelled', outputs: [], ...costs };
    case undefined:
      return { state: 'running', unknownStatus: shownStatus(job.status), ...progressOf(job) };
  }
}

function progressOf({ progress }: Readonly<Record<string, unknown>>): { readonly progress?: number } {
  return typeof progress === 'number' && progress >= 0 && progress <= 100 ? { progress: progress / 100 } : {};
}

function failureName(job: VideoJob): FailureName {
  const said = { error: job['error'] };
  const error = serverErrorOf(said);
  // Gateways have the reason beside the status, such as in `fail_reason`.
  const prompt = job['prompt'];
  const sent = typeof prompt === 'string' ? { prompt } : {};
  const refused = policyStageIn(job, undefined, sent) ?? (/moderated/i.test(job.status) ? 'unsaid' : undefined);
  // The prompt was looked at when the job was taken.
  if (refused !== undefined) return refused === 'input' ? 'input refused' : 'output refused';
  if (isAccountError(error)) return 'account refused';
  if (/^4\d\d$/.test(error.code) || /invalid|ValueError/i.test(error.code)) return 'input invalid';
  return /timeout/i.test(error.code) ? 'timed out' : 'broke';
}

function costOf({ inference_time_s: seconds }: Readonly<Record<string, unknown>>): ProviderCost | undefined {
  return typeof seconds === 'number' && seconds > 0 && seconds < 1e7
    ? { computeMs: Math.round(seconds * 1_000) }
    : undefined;
}
