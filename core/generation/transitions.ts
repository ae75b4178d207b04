import type { GenerationStatus } from './generation.js';

/** Everything that can happen to a generation. Who may cause it, and when, is for `decide`. */
export type GenerationEvent =
  | 'start'
  | 'take-over'
  | 'renew'
  | 're-lease'
  | 'begin-attempt'
  | 'submit-again'
  | 'submission-ended'
  | 'accepted'
  | 'attempt-failed'
  | 'attempt-undone'
  | 'yield'
  | 'allow-last-poll'
  | 'cancel'
  | 'give-up'
  | 'succeed'
  | 'fail'
  | 'stop'
  | 'expire'
  | 'postpone'
  | 'settle'
  | 'content-removed'
  | 'outputs-removed'
  | 'late-report'
  | 'delete';

/**
 * From status and event to the next status. What is not listed is refused. After the end only bookkeeping is left:
 * nothing a client sees changes any more.
 */
export const TRANSITIONS: {
  readonly [S in GenerationStatus]: Partial<Readonly<Record<GenerationEvent, GenerationStatus>>>;
} = {
  queued: {
    'start': 'running',
    'cancel': 'cancelled',
    'give-up': 'failed',
    'postpone': 'queued',
  },
  running: {
    'take-over': 'running',
    'renew': 'running',
    're-lease': 'running',
    'begin-attempt': 'running',
    'submit-again': 'running',
    'submission-ended': 'running',
    'accepted': 'running',
    'attempt-failed': 'running',
    'attempt-undone': 'running',
    'yield': 'running',
    'allow-last-poll': 'running',
    'cancel': 'running',
    'succeed': 'succeeded',
    'fail': 'failed',
    'expire': 'failed',
    'stop': 'cancelled',
    'postpone': 'running',
  },
  succeeded: {
    'settle': 'succeeded',
    'postpone': 'succeeded',
    'content-removed': 'succeeded',
    'outputs-removed': 'succeeded',
    'late-report': 'succeeded',
    'delete': 'succeeded',
  },
  failed: {
    'settle': 'failed',
    'postpone': 'failed',
    'content-removed': 'failed',
    'outputs-removed': 'failed',
    'late-report': 'failed',
    'delete': 'failed',
  },
  cancelled: {
    'settle': 'cancelled',
    'postpone': 'cancelled',
    'content-removed': 'cancelled',
    'outputs-removed': 'cancelled',
    'late-report': 'cancelled',
    'delete': 'cancelled',
  },
};
