import { SETTING_KEYS } from './setting-keys.js';
import { boolean, duration, filledText, integer, oneOf, optionalText, optionalUrl, type ConfigKey } from './value-kind.js';

const SECOND = 1_000;

/** Every key of `darkroom.yaml` outside `settings`, by its path in the file. */
export const PROGRAM_KEYS = {
  data_folder: filledText('./data'),
  catalog: optionalText(),
  'rest.host': filledText('127.0.0.1'),
  'rest.port': integer(8080, 0, 65_535),
  'rest.public_url': optionalUrl(),
  'rest.max_connections': integer(10_000, 1, 1_000_000),
  'rest.max_header_bytes': integer(16 * 1024, 1024, 1024 * 1024),
  'rest.headers_timeout_seconds': duration(10, SECOND, 3_600),
  'rest.body_timeout_seconds': duration(10, SECOND, 3_600),
  'rest.request_timeout_seconds': duration(300, SECOND, 86_400),
  'rest.keep_alive_timeout_seconds': duration(65, SECOND, 3_600),
  'rest.idle_timeout_seconds': duration(60, SECOND, 3_600),
  'rest.rate_limits.reads_per_minute': integer(1_200, 0, 10_000_000),
  'rest.rate_limits.creates_per_minute': integer(300, 0, 10_000_000),
  'worker.enabled': boolean(true),
  'worker.recovery_interval_seconds': duration(15, SECOND, 86_400),
  'worker.stop_grace_seconds': duration(20, SECOND, 86_400),
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
