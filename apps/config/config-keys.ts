import type { Driver, StoreDriver } from '../../adapters/driver.js';
import type { JsonObject } from '../../core/json.js';
import { DEFAULT_MARK_POLICY } from '../../core/media/ai-mark.js';
import { BUILT_IN_DRIVERS, DEFAULT_PROVIDERS } from '../wiring/built-in-drivers.js';
import {
  boolean,
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
  type ConfigKey,
} from './config-key.js';
import { LIMIT_OPTIONS } from './provider-limits.js';
import { SETTING_KEYS } from './setting-keys.js';

const SECOND = 1_000;

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
  'rest.headers_timeout_seconds': duration(10, SECOND, 3_600),
  'rest.body_timeout_seconds': duration(10, SECOND, 3_600),
  'rest.request_timeout_seconds': duration(300, SECOND, 86_400),
  'rest.keep_alive_timeout_seconds': duration(65, SECOND, 3_600),
  'rest.idle_timeout_seconds': duration(60, SECOND, 3_600),
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
  'worker.recovery_interval_seconds': duration(15, SECOND, 86_400),
  'worker.stop_grace_seconds': duration(20, SECOND, 86_400),
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
