import { DEFAULT_MARK_POLICY } from './media/ai-mark.js';

const SECOND = 1_000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

/** The largest clock skew between two machines. */
export const MAX_CLOCK_SKEW_MS = 60_000;

/** When the UTC day of a time began. */
export function startOfDay(time: number): number {
  return Math.floor(time / DAY) * DAY;
}

/** Whether a time that was written as the present is so far ahead that its clock has been set back since. */
export function isFarAhead(time: number, now: number): boolean {
  return time > now + MAX_CLOCK_SKEW_MS;
}

/**
 * The requested wait, within bounds and in whole milliseconds, as stores keep times; the minimum if none was requested,
 * or if the value is not a valid wait.
 */
export function boundedWaitMs(askedMs: number | undefined, leastMs: number, mostMs: number): number {
  return askedMs !== undefined && askedMs > leastMs ? Math.max(leastMs, Math.min(Math.ceil(askedMs), mostMs)) : leastMs;
}

/** How long to wait before the next of several tries, in milliseconds: twice as long each time, up to a cap. */
export function backoffMs(settings: Pick<Settings, 'retryBaseMs' | 'retryCapMs'>, tries: number): number {
  return Math.min(settings.retryCapMs, settings.retryBaseMs * 2 ** Math.min(tries - 1, 20));
}

/** The settings that an operator may change, and their defaults. Times are milliseconds, sizes bytes. */
export const DEFAULT_SETTINGS = {
  /** How long a claim protects its request before another process may take it over. */
  claimLeaseMs: 60 * SECOND,
  /** How long the answer to a key is replayed, and how long the key stays taken, both from the claim. */
  replayWindowMs: DAY,
  claimRetentionMs: 30 * DAY,
  maxOpenGenerationsPerAccount: 1_000,

  maxUploadBytes: 20 * 1024 * 1024,
  maxUploadPixels: 40_000_000,
  /** The most memory that decoding one reference file may take. */
  maxUploadDecodeBytes: 160 * 1024 * 1024,
  uploadTargetMs: 15 * MINUTE,
  uploadRetentionMs: DAY,
  /** Bounds for one App: uploads that are not completed, all uploads, and the bytes they declared or stored. */
  maxUnfinishedUploadsPerApp: 50,
  maxStoredUploadsPerApp: 10_000,
  maxStoredUploadBytesPerApp: 2 * 1024 ** 3,

  outputUrlMs: HOUR,
  outputRetentionMs: 7 * DAY,
  taskRetentionMs: 90 * DAY,
  /** How long prompts and parameters of a generation that ended without charge are kept. */
  unchargedContentRetentionMs: DAY,
  maxUnchargedContentBytesPerAccount: 64 * 1024 ** 2,
  /** How long tombstones are kept. */
  tombstoneRetentionMs: 365 * DAY,
  maxOutputBytes: 512 * 1024 * 1024,
  maxOutputPixels: 100_000_000,
  marks: DEFAULT_MARK_POLICY,

  pollAfterMs: 2 * SECOND,
  leaseMs: 30 * SECOND,
  /** How long a provider has to stop after a cancel before the generation ends without it. */
  cancelGraceMs: MINUTE,
  /** The longest one call to a provider may take. */
  providerCallMs: MINUTE,
  retryBaseMs: SECOND,
  retryCapMs: MINUTE,
  /** The longest wait that a provider may request: before another attempt, or before it is polled again for a task. */
  retryAfterCapMs: 10 * MINUTE,
  /** How long after its due time recovery treats a step as lost. */
  recoveryGraceMs: 15 * SECOND,
  recoveryBatch: 500,
  /** Whether the people of an account see the requests of its generations. */
  showsRequests: true,
  /** A person is signed out after this time without activity. */
  sessionIdleMs: 12 * HOUR,
  /** A session ends this long after the sign-in, regardless of activity. */
  sessionMaxMs: 14 * DAY,
  signInLinkMs: 30 * MINUTE,
  /** How long an OAuth access token lives, in milliseconds. */
  accessTokenMs: 60 * MINUTE,
  /** How long an OAuth grant lives without being used, in milliseconds. */
  grantIdleMs: 90 * DAY,
};

export type Settings = Readonly<typeof DEFAULT_SETTINGS>;

/** Conflicts between settings, each as a sentence for the operator; empty if there are none. */
export function settingsFaults(settings: Settings): string[] {
  const faults: string[] = [];
  const need = (holds: boolean, sentence: string) => {
    if (!holds) faults.push(sentence);
  };
  need(
    settings.replayWindowMs <= settings.claimRetentionMs,
    'The replay window must not be longer than the retention of idempotency keys.',
  );
  need(
    settings.claimRetentionMs <= settings.taskRetentionMs,
    'Idempotency keys must not be kept longer than tasks, or a replay could find its task gone.',
  );
  need(settings.outputRetentionMs <= settings.taskRetentionMs, 'Outputs must not be kept longer than their tasks.');
  need(
    settings.uploadRetentionMs >= DAY,
    'Uploads must be kept for a day at least, as long as a generation may wait and run with them.',
  );
  need(settings.uploadTargetMs <= settings.uploadRetentionMs, 'Upload targets must not live longer than uploads.');
  need(
    settings.maxStoredUploadBytesPerApp >= settings.maxUploadBytes,
    'An App must be able to store one upload of the largest size.',
  );
  need(
    settings.claimLeaseMs >= 5 * SECOND,
    'The claim lease must be at least 5 seconds, longer than any request takes.',
  );
  need(settings.leaseMs >= 3 * SECOND, 'The worker lease must be at least 3 seconds.');
  return faults;
}
