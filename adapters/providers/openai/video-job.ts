import type { ProviderCost, ProviderReport } from '../../../core/ports/provider.js';
import { failure, type FailureName } from '../shared/sentences.js';
import { isAccountError, policyRefusal, serverErrorOf } from './error-answer.js';

const VIDEO = { kind: 'video', mediaType: 'video/mp4' } as const;
const RUNNING: readonly unknown[] = ['queued', 'in_progress', 'processing', 'running'];

/** A name that can be stored, and put into an address. */
export function isJobId(value: unknown): value is string {
  return typeof value === 'string' && /^[\w-][\w.:~-]{0,199}$/.test(value);
}

/** A job as the server describes it; undefined where a value describes none. */
export function jobOf(value: unknown): Readonly<Record<string, unknown>> | undefined {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return undefined;
  const job = value as Readonly<Record<string, unknown>>;
  return isJobId(job['id']) && typeof job['status'] === 'string' ? job : undefined;
}

/** Whether a job has not ended. */
export function isOpen({ status }: Readonly<Record<string, unknown>>): boolean {
  return RUNNING.includes(status);
}

/** What a job says of itself; undefined for a status that is not known. */
export function reportOf(job: Readonly<Record<string, unknown>>): ProviderReport | undefined {
  const cost = costOf(job);
  const costs = cost === undefined ? {} : { cost };
  if (isOpen(job)) return { state: 'running', ...progressOf(job) };
  switch (job['status']) {
    case 'completed':
      return { state: 'succeeded', outputs: [VIDEO], ...costs };
    case 'failed':
    case 'expired':
      return { state: 'failed', failure: failure(failureName(job)), ...costs };
    case 'cancelled':
    case 'canceled':
      return { state: 'cancelled', outputs: [], ...costs };
    default:
      return undefined;
  }
}

function progressOf({ progress }: Readonly<Record<string, unknown>>): { readonly progress?: number } {
  return typeof progress === 'number' && progress >= 0 && progress <= 100 ? { progress: progress / 100 } : {};
}

function failureName(job: Readonly<Record<string, unknown>>): FailureName {
  const error = serverErrorOf({ error: job['error'] });
  const refused = policyRefusal(error);
  // The prompt was looked at when the job was taken.
  if (refused !== undefined) return error.stage === 'input' ? 'input refused' : 'output refused';
  if (isAccountError(error)) return 'account refused';
  if (/^4\d\d$/.test(error.code) || /invalid|ValueError/i.test(error.code)) return 'input invalid';
  return /timeout/i.test(error.code) ? 'timed out' : 'broke';
}

function costOf({ inference_time_s: seconds }: Readonly<Record<string, unknown>>): ProviderCost | undefined {
  return typeof seconds === 'number' && seconds > 0 && seconds < 1e7
    ? { computeMs: Math.round(seconds * 1_000) }
    : undefined;
}
