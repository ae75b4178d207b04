import { DEFAULT_SETTINGS, type Settings } from '../../../core/settings.js';

const SECOND = 1_000;
const MINUTE = 60 * SECOND;

/**
 * The operator's numbers, drawn together so that a whole life, retention included, passes within two simulated hours.
 * The order between them is that of the defaults.
 */
export const SIMULATED_SETTINGS: Settings = {
  ...DEFAULT_SETTINGS,
  claimLeaseMs: 10 * SECOND,
  replayWindowMs: 15 * MINUTE,
  claimRetentionMs: 40 * MINUTE,
  maxOpenGenerationsPerAccount: 6,
  maxUploadBytes: 1_000,
  uploadTargetMs: 2 * MINUTE,
  uploadRetentionMs: 40 * MINUTE,
  outputRetentionMs: 20 * MINUTE,
  taskRetentionMs: 50 * MINUTE,
  unchargedContentRetentionMs: 15 * MINUTE,
  tombstoneRetentionMs: 70 * MINUTE,
  maxOutputBytes: 1_000,
  leaseMs: 9 * SECOND,
  cancelGraceMs: 15 * SECOND,
  providerCallMs: 10 * SECOND,
  retryCapMs: 4 * SECOND,
  retryAfterCapMs: 20 * SECOND,
  recoveryGraceMs: 5 * SECOND,
  recoveryBatch: 4,
};

/** How often each simulated worker's recovery runs, in milliseconds. */
export const RECOVERY_INTERVAL_MS = 15 * SECOND;
