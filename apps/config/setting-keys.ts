import { DEFAULT_SETTINGS, type Settings } from '../../core/settings.js';
import { duration, integer, type ConfigKey } from './config-key.js';

const SECOND = 1_000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;
const YEARS_IN_DAYS = 3_650;

export interface SettingKey {
  /** The key under `settings` in the file; its unit comes last. */
  readonly name: string;
  readonly key: ConfigKey<number>;
}

/** The settings of core that are numbers; `marks` has keys of its own. */
export type NumberSetting = Exclude<keyof Settings, 'marks'>;

function time(field: NumberSetting, name: string, unitMs: number, maximum: number): SettingKey {
  return { name, key: duration(DEFAULT_SETTINGS[field] / unitMs, unitMs, maximum) };
}

function count(field: NumberSetting, name: string, minimum: number, maximum: number): SettingKey {
  return { name, key: integer(DEFAULT_SETTINGS[field], minimum, maximum) };
}

/** Every number of core's settings, by the key an operator knows it under. */
export const SETTING_KEYS: Readonly<Record<NumberSetting, SettingKey>> = {
  claimLeaseMs: time('claimLeaseMs', 'claim_lease_seconds', SECOND, 3_600),
  replayWindowMs: time('replayWindowMs', 'replay_window_hours', HOUR, 24 * YEARS_IN_DAYS),
  claimRetentionMs: time('claimRetentionMs', 'claim_retention_days', DAY, YEARS_IN_DAYS),
  maxOpenGenerationsPerAccount: count('maxOpenGenerationsPerAccount', 'max_open_generations_per_account', 1, 100_000),
  maxUploadBytes: count('maxUploadBytes', 'max_upload_bytes', 1, 1024 ** 3),
  maxUploadPixels: count('maxUploadPixels', 'max_upload_pixels', 1, 1_000_000_000),
  maxUploadDecodeBytes: count('maxUploadDecodeBytes', 'max_upload_decode_bytes', 1, 64 * 1024 ** 3),
  uploadTargetMs: time('uploadTargetMs', 'upload_target_minutes', MINUTE, 7 * 24 * 60),
  uploadRetentionMs: time('uploadRetentionMs', 'upload_retention_hours', HOUR, 24 * YEARS_IN_DAYS),
  maxUnfinishedUploadsPerApp: count('maxUnfinishedUploadsPerApp', 'max_unfinished_uploads_per_app', 1, 10_000),
  maxStoredUploadsPerApp: count('maxStoredUploadsPerApp', 'max_stored_uploads_per_app', 1, 100_000),
  maxStoredUploadBytesPerApp: count('maxStoredUploadBytesPerApp', 'max_stored_upload_bytes_per_app', 1, 1024 ** 5),
  outputUrlMs: time('outputUrlMs', 'output_url_minutes', MINUTE, 7 * 24 * 60),
  outputRetentionMs: time('outputRetentionMs', 'output_retention_days', DAY, YEARS_IN_DAYS),
  taskRetentionMs: time('taskRetentionMs', 'task_retention_days', DAY, YEARS_IN_DAYS),
  unchargedContentRetentionMs: time(
    'unchargedContentRetentionMs',
    'uncharged_content_retention_hours',
    HOUR,
    24 * YEARS_IN_DAYS,
  ),
  maxUnchargedContentBytesPerAccount: count(
    'maxUnchargedContentBytesPerAccount',
    'max_uncharged_content_bytes_per_account',
    1,
    1024 ** 4,
  ),
  tombstoneRetentionMs: time('tombstoneRetentionMs', 'remnant_retention_days', DAY, YEARS_IN_DAYS),
  // What an S3 store takes in 10,000 parts of 5 MiB is a little more.
  maxOutputBytes: count('maxOutputBytes', 'max_output_bytes', 1, 48 * 1024 ** 3),
  maxOutputPixels: count('maxOutputPixels', 'max_output_pixels', 1, 1_000_000_000),
  pollAfterMs: count('pollAfterMs', 'poll_after_ms', 1, 60_000),
  leaseMs: time('leaseMs', 'lease_seconds', SECOND, 3_600),
  cancelGraceMs: time('cancelGraceMs', 'cancel_grace_seconds', SECOND, 86_400),
  providerCallMs: time('providerCallMs', 'provider_call_seconds', SECOND, 3_600),
  retryBaseMs: count('retryBaseMs', 'retry_base_ms', 1, 3_600_000),
  retryCapMs: time('retryCapMs', 'retry_cap_seconds', SECOND, 86_400),
  retryAfterCapMs: time('retryAfterCapMs', 'retry_after_cap_seconds', SECOND, 86_400),
  recoveryGraceMs: time('recoveryGraceMs', 'recovery_grace_seconds', SECOND, 3_600),
  recoveryBatch: count('recoveryBatch', 'recovery_batch', 1, 1_000),
  sessionIdleMs: time('sessionIdleMs', 'session_idle_hours', HOUR, 24 * 365),
  sessionMaxMs: time('sessionMaxMs', 'session_max_days', DAY, 365),
  signInLinkMs: time('signInLinkMs', 'sign_in_link_minutes', MINUTE, 24 * 60),
  accessTokenMs: time('accessTokenMs', 'access_token_minutes', MINUTE, 24 * 60),
  grantIdleMs: time('grantIdleMs', 'grant_idle_days', DAY, 10 * 365),
};
