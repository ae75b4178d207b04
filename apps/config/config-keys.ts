import type { Driver, StoreDriver } from '../../adapters/driver.js';
import type { JsonObject } from '../../core/json.js';
import { DEFAULT_MARK_POLICY } from '../../core/media/ai-mark.js';
import { DEFAULT_SETTINGS, type Settings } from '../../core/settings.js';
import { BUILT_IN_DRIVERS, DEFAULT_PROVIDERS } from '../wiring/built-in-drivers.js';
import {
  boolean,
  type ConfigKey,
  duration,
  filledText,
  hosts,
  hostsOrAny,
  integer,
  keyOf,
  moduleNames,
  networks,
  oneOf,
  optionalInteger,
  optionalSecret,
  optionalText,
  optionalUrl,
} from './config-key.js';
import { LIMIT_OPTIONS } from './provider-limits.js';

const SECOND_SETTINGKEYS = 1_000;
const MINUTE = 60 * SECOND_SETTINGKEYS;
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
  claimLeaseMs: time('claimLeaseMs', 'claim_lease_seconds', SECOND_SETTINGKEYS, 3_600),
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
  leaseMs: time('leaseMs', 'lease_seconds', SECOND_SETTINGKEYS, 3_600),
  cancelGraceMs: time('cancelGraceMs', 'cancel_grace_seconds', SECOND_SETTINGKEYS, 86_400),
  providerCallMs: time('providerCallMs', 'provider_call_seconds', SECOND_SETTINGKEYS, 3_600),
  retryBaseMs: count('retryBaseMs', 'retry_base_ms', 1, 3_600_000),
  retryCapMs: time('retryCapMs', 'retry_cap_seconds', SECOND_SETTINGKEYS, 86_400),
  retryAfterCapMs: time('retryAfterCapMs', 'retry_after_cap_seconds', SECOND_SETTINGKEYS, 86_400),
  recoveryGraceMs: time('recoveryGraceMs', 'recovery_grace_seconds', SECOND_SETTINGKEYS, 3_600),
  recoveryBatch: count('recoveryBatch', 'recovery_batch', 1, 1_000),
  sessionIdleMs: time('sessionIdleMs', 'session_idle_hours', HOUR, 24 * 365),
  sessionMaxMs: time('sessionMaxMs', 'session_max_days', DAY, 365),
  signInLinkMs: time('signInLinkMs', 'sign_in_link_minutes', MINUTE, 24 * 60),
  accessTokenMs: time('accessTokenMs', 'access_token_minutes', MINUTE, 24 * 60),
  grantIdleMs: time('grantIdleMs', 'grant_idle_days', DAY, 10 * 365),
};

const SECOND_CONFIGKEYS = 1_000;

/** Every key of `darkroom.yaml` that no driver and no setting brings, by its path in the file. */
export const PROGRAM_KEYS = {
  'role': oneOf('all', ['all', 'rest', 'worker']),
  'data_folder': filledText('./data'),
  'secret_file': optionalText(),
  'catalog': optionalText(),
  'modules': moduleNames(),
  'rest.host': filledText('127.0.0.1'),
  'rest.port': integer(8080, 0, 65_535),
  'rest.public_url': optionalUrl(),
  'rest.max_connections': integer(10_000, 1, 1_000_000),
  'rest.max_connections_per_address': integer(1_000, 1, 1_000_000),
  'rest.trusted_proxies': networks(),
  'rest.max_header_bytes': integer(16 * 1024, 1024, 1024 * 1024),
  'rest.headers_timeout_seconds': duration(10, SECOND_CONFIGKEYS, 3_600),
  'rest.body_timeout_seconds': duration(10, SECOND_CONFIGKEYS, 3_600),
  'rest.request_timeout_seconds': duration(300, SECOND_CONFIGKEYS, 86_400),
  'rest.keep_alive_timeout_seconds': duration(65, SECOND_CONFIGKEYS, 3_600),
  'rest.idle_timeout_seconds': duration(60, SECOND_CONFIGKEYS, 3_600),
  'rest.rate_limits.reads_per_minute': integer(1_200, 0, 10_000_000),
  'rest.rate_limits.creates_per_minute': integer(300, 0, 10_000_000),
  'rest.rate_limits.failed_authentications_per_minute': integer(60, 0, 10_000_000),
  'sign_in.enabled': boolean(true),
  'sign_in.operator_area': boolean(false),
  'sign_in.provider_issuer': optionalUrl(),
  'sign_in.provider_client_id': optionalText(),
  'sign_in.provider_client_secret': optionalSecret(),
  'sign_in.provider_name': filledText('single sign-on'),
  'oauth.enabled': boolean(true),
  'oauth.registration': boolean(true),
  'oauth.client_documents': hostsOrAny(),
  'webhooks.allowed_hosts': hosts(),
  'webhooks.allowed_networks': networks(),
  'mcp.enabled': boolean(true),
  'mcp.confirm_above_credits': integer(100, 0, Number.MAX_SAFE_INTEGER),
  'grpc.host': filledText('127.0.0.1'),
  'grpc.port': optionalInteger(0, 65_535),
  'grpc.callers_file': optionalText(),
  'grpc.tls_cert_file': optionalText(),
  'grpc.tls_key_file': optionalText(),
  'grpc.tls_client_ca_file': optionalText(),
  'grpc.plaintext': boolean(false),
  'internal.host': filledText('127.0.0.1'),
  'internal.port': optionalInteger(0, 65_535),
  'worker.enabled': boolean(true),
  'worker.recovery_interval_seconds': duration(15, SECOND_CONFIGKEYS, 86_400),
  'worker.stop_grace_seconds': duration(20, SECOND_CONFIGKEYS, 86_400),
  'images.memory_mib': integer(192, 16, 1_048_576),
  'ai_marks.enabled': boolean(DEFAULT_MARK_POLICY.isWritten),
  'ai_marks.provider_manifests': oneOf(DEFAULT_MARK_POLICY.manifests, ['keep', 'drop']),
  'ai_marks.name_model': boolean(DEFAULT_MARK_POLICY.namesModel),
  'log.level': oneOf('info', ['trace', 'debug', 'info', 'warn', 'error', 'silent']),
  'log.format': oneOf('auto', ['auto', 'pretty', 'json']),
} as const;

type ReadAs<K> = K extends ConfigKey<infer T> ? T : never;
export type ProgramValues = { readonly [K in keyof typeof PROGRAM_KEYS]: ReadAs<(typeof PROGRAM_KEYS)[K]> };

/** The keys that choose a driver, by its kind. The first driver of a kind is the default. */
export const STORE_KEYS = {
  'database': 'stores.database',
  'objects': 'stores.objects',
  'wake-ups': 'stores.wake_ups',
} as const satisfies Readonly<Record<StoreDriver['kind'], string>>;

/** The key that chooses what signs outputs, and its value for nothing. */
export const SIGNER_KEY = 'ai_marks.signer';
export const NO_SIGNER_NAME = 'none';

/** The sections that are not a driver's. */
export const SECTIONS: ReadonlySet<string> = new Set(
  [...Object.keys(PROGRAM_KEYS), SIGNER_KEY, 'stores.', 'providers.', 'settings.'].map(
    (path) => path.split('.')[0] ?? '',
  ),
);

/** Providers by instance, each with the name of its kind. */
export type ProviderKinds = ReadonlyMap<string, string>;

/**
 * All keys of the file, by path: the program's own, the choice of drivers, the options of every driver and of every
 * provider, and `settings.…`.
 */
export function configKeys(
  drivers: readonly Driver[],
  providers: ProviderKinds = DEFAULT_PROVIDERS,
): ReadonlyMap<string, ConfigKey<unknown>> {
  const sections = drivers.filter((driver) => driver.kind !== 'provider');
  const kinds = drivers.filter((driver) => driver.kind === 'provider');
  return new Map<string, ConfigKey<unknown>>([
    ...Object.entries(PROGRAM_KEYS),
    ...Object.entries(STORE_KEYS).map(
      ([kind, path]) => [path, choiceOf(sections.filter((driver) => driver.kind === kind))] as const,
    ),
    [SIGNER_KEY, signerChoice(drivers)] as const,
    ...sections.flatMap(({ name, options }) => keysUnder(name, options)),
    ...[...providers].flatMap(([instance, kind]) => [
      [`providers.${instance}.kind`, choiceOf(kinds, kind)] as const,
      ...keysUnder(`providers.${instance}`, kinds.find(({ name }) => name === kind)?.options ?? {}),
      ...keysUnder(`providers.${instance}`, { properties: LIMIT_OPTIONS }),
    ]),
    ...Object.values(SETTING_KEYS).map(({ name, key }) => [`settings.${name}`, key] as const),
  ]);
}

function keysUnder(section: string, options: JsonObject): readonly (readonly [string, ConfigKey<unknown>])[] {
  return optionsOf(options).map(([option, schema]) => [`${section}.${option}`, keyOf(schema)] as const);
}

function signerChoice(drivers: readonly Driver[]): ConfigKey<string> {
  const names = drivers.filter(({ kind }) => kind === 'signer').map(({ name }) => name);
  return oneOf(NO_SIGNER_NAME, [NO_SIGNER_NAME, ...names]);
}

function choiceOf(drivers: readonly Driver[], byDefault?: string): ConfigKey<string> {
  const names = drivers.map(({ name }) => name);
  return oneOf(names.find((name) => name === byDefault) ?? names[0] ?? '', names);
}

/** The options of a driver, each with its schema. */
export function optionsOf(schema: JsonObject): readonly (readonly [string, JsonObject])[] {
  return Object.entries((schema['properties'] ?? {}) as Readonly<Record<string, JsonObject>>);
}

/** All keys with no other drivers than the built-in ones. */
export const CONFIG_KEYS = configKeys(BUILT_IN_DRIVERS);

/** The variable that overrides a key: `rest.port` is DARKROOM_REST_PORT. */
export function variableOf(path: string): string {
  return `DARKROOM_${path.replaceAll(/[.-]/g, '_').toUpperCase()}`;
}

/**
 * The comments of a YAML file right above its keys, by the path of the key. A comment with an empty line below it
 * belongs to none.
 */
export function keyComments(text: string): ReadonlyMap<string, string> {
  const comments = new Map<string, string>();
  const sections: { readonly indent: number; readonly name: string }[] = [];
  let lines: string[] = [];
  for (const line of text.split('\n')) {
    const comment = /^ *# ?(.*)$/.exec(line)?.[1];
    if (comment !== undefined) {
      lines.push(comment);
      continue;
    }
    const [, indent, name] = /^( *)([a-z][a-z0-9_-]*):/.exec(line) ?? [];
    if (indent !== undefined && name !== undefined) {
      while ((sections.at(-1)?.indent ?? -1) >= indent.length) sections.pop();
      sections.push({ indent: indent.length, name });
      if (lines.length > 0) comments.set(sections.map((section) => section.name).join('.'), lines.join(' '));
    }
    lines = [];
  }
  return comments;
}
