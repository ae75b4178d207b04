import { SETTING_KEYS } from './setting-keys.js';
import {
  boolean, duration, filledText, integer, networks, oneOf, optionalInteger, optionalMongoUrl, optionalSecret, optionalText, optionalUrl, type ConfigKey,
} from './value-kind.js';

const SECOND = 1_000;

/** Every key of `darkroom.yaml` outside `settings`, by its path in the file. */
export const PROGRAM_KEYS = {
  role: oneOf('all', ['all', 'rest', 'worker']),
  data_folder: filledText('./data'),
  secret_file: optionalText(),
  catalog: optionalText(),
  'stores.database': oneOf('sqlite', ['sqlite', 'mongo']),
  'stores.objects': oneOf('files', ['files', 'minio']),
  'stores.wake_ups': oneOf('timers', ['timers', 'agenda']),
  'mongo.url': optionalMongoUrl(),
  'mongo.database': filledText('darkroom'),
  'mongo.pool_size': integer(50, 1, 10_000),
  'mongo.timeout_seconds': duration(5, SECOND, 300),
  'minio.endpoint': optionalUrl(),
  'minio.public_endpoint': optionalUrl(),
  'minio.region': filledText('us-east-1'),
  'minio.bucket': filledText('darkroom'),
  'minio.access_key': optionalSecret(),
  'minio.secret_key': optionalSecret(),
  'minio.upload_access_key': optionalSecret(),
  'minio.upload_secret_key': optionalSecret(),
  'minio.timeout_seconds': duration(10, SECOND, 300),
  'agenda.woken_by': oneOf('auto', ['auto', 'change-streams', 'polling']),
  'agenda.poll_seconds': duration(1, SECOND, 60),
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
  'sandbox.threads': integer(0, 0, 256),
  'log.level': oneOf('info', ['trace', 'debug', 'info', 'warn', 'error', 'silent']),
  'log.format': oneOf('auto', ['auto', 'pretty', 'json']),
} as const;

type ReadAs<K> = K extends ConfigKey<infer T> ? T : never;
export type ProgramValues = { readonly [K in keyof typeof PROGRAM_KEYS]: ReadAs<(typeof PROGRAM_KEYS)[K]> };

/** All keys of the file, by path: those above and `settings.…`. */
export const CONFIG_KEYS: ReadonlyMap<string, ConfigKey<unknown>> = new Map<string, ConfigKey<unknown>>([
  ...Object.entries(PROGRAM_KEYS),
  ...Object.values(SETTING_KEYS).map(({ name, key }) => [`settings.${name}`, key] as const),
]);

/** The variable that overrides a key: `rest.port` is DARKROOM_REST_PORT. */
export function variableOf(path: string): string {
  return `DARKROOM_${path.replaceAll('.', '_').toUpperCase()}`;
}
