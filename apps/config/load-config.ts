import { existsSync, readFileSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Json } from '../../core/json.js';
import { settingsFaults, type Settings } from '../../core/settings.js';
import { CONFIG_KEYS, type ProgramValues } from './config-keys.js';
import { ConfigInvalid, type Config } from './config.js';
import { valuesOfEnvironment, valuesOfFile, type ConfigFault, type Given } from './read-values.js';
import { SETTING_KEYS } from './setting-keys.js';

const DEFAULT_FILE = 'darkroom.yaml';
const SHIPPED_CATALOG = fileURLToPath(new URL('../../../config/catalog.yaml', import.meta.url));

export interface ConfigSource {
  /** The file named on the command line, which must then exist. */
  readonly file?: string | undefined;
  readonly environment?: Readonly<Record<string, string | undefined>>;
  /** Where relative paths begin; the folder the program was started in when absent. */
  readonly folder?: string;
}

/**
 * The configuration: defaults, then the file (the one named, else DARKROOM_CONFIG, else `darkroom.yaml` if it is there),
 * then variables. Throws `ConfigInvalid` with all that is wrong, a sentence each.
 */
export function loadConfig({ file: named, environment = process.env, folder = process.cwd() }: ConfigSource = {}): Config {
  const faults: ConfigFault[] = [];
  const file = named ?? (environment['DARKROOM_CONFIG'] || undefined) ?? (existsSync(resolve(folder, DEFAULT_FILE)) ? DEFAULT_FILE : undefined);
  const fromFile = file === undefined ? new Map<string, Given>() : valuesOfFile(readFile(file, folder), file, faults);
  const fromEnvironment = valuesOfEnvironment(environment, faults);

  const values: Record<string, unknown> = {};
  for (const [path, { kind, byDefault }] of CONFIG_KEYS) {
    const given: Given = fromEnvironment.get(path) ?? fromFile.get(path) ?? { value: byDefault, where: '', name: path };
    const value = kind.read(given.value);
    if (value === undefined) {
      faults.push({ ...(given.line === undefined ? {} : { line: given.line }), message: `${given.where}${given.name} must be ${kind.wanted}, not ${shown(given.value)}.` });
    }
    values[path] = value;
  }
  if (faults.length > 0) throw new ConfigInvalid(inLineOrder(faults));
  const settings = settingsOf(values);
  const contradictions = settingsFaults(settings).map((sentence) => `${file ?? 'settings'}: ${sentence}`);
  if (contradictions.length > 0) throw new ConfigInvalid(contradictions);
  return { ...(file === undefined ? {} : { file: resolve(folder, file) }), ...configOf(values as ProgramValues, folder), settings };
}

/** As the file has them; those of variables come last. */
function inLineOrder(faults: readonly ConfigFault[]): string[] {
  return faults.toSorted((a, b) => (a.line ?? Infinity) - (b.line ?? Infinity) || 0).map(({ message }) => message);
}

function readFile(file: string, folder: string): string {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(readFileSync(resolve(folder, file)));
  } catch (error) {
    const code = (error as NodeJS.ErrnoException).code;
    if (code === 'ENOENT') throw new ConfigInvalid([`${file}: There is no such file.`]);
    if (code === 'EISDIR') throw new ConfigInvalid([`${file}: This is a folder; a file is needed.`]);
    if (code === 'EACCES') throw new ConfigInvalid([`${file}: The file may not be read.`]);
    throw new ConfigInvalid([`${file}: The file must be UTF-8 text.`]);
  }
}

function settingsOf(values: Readonly<Record<string, unknown>>): Settings {
  return Object.fromEntries(Object.entries(SETTING_KEYS).map(([field, { name }]) => [field, values[`settings.${name}`]])) as unknown as Settings;
}

function configOf(values: ProgramValues, folder: string): Omit<Config, 'file' | 'settings'> {
  const publicUrl = values['rest.public_url'];
  return {
    dataFolder: resolve(folder, values.data_folder),
    catalog: values.catalog === null ? SHIPPED_CATALOG : resolve(folder, values.catalog),
    rest: {
      host: values['rest.host'],
      port: values['rest.port'],
      ...(publicUrl === null ? {} : { publicUrl }),
      limits: {
        readsPerMinute: values['rest.rate_limits.reads_per_minute'],
        writesPerMinute: values['rest.rate_limits.creates_per_minute'],
        bodyTimeoutMs: values['rest.body_timeout_seconds'],
        headersTimeoutMs: values['rest.headers_timeout_seconds'],
        requestTimeoutMs: values['rest.request_timeout_seconds'],
        keepAliveTimeoutMs: values['rest.keep_alive_timeout_seconds'],
        idleTimeoutMs: values['rest.idle_timeout_seconds'],
        maxHeaderBytes: values['rest.max_header_bytes'],
        maxConnections: values['rest.max_connections'],
      },
    },
    worker: {
      enabled: values['worker.enabled'],
      recoveryIntervalMs: values['worker.recovery_interval_seconds'],
      stopGraceMs: values['worker.stop_grace_seconds'],
    },
    sandbox: { threads: values['sandbox.threads'] || Math.max(1, availableParallelism() - 1) },
    log: { level: values['log.level'], format: values['log.format'] },
  };
}

function shown(value: Json): string {
  const text = typeof value === 'string' ? value : JSON.stringify(value);
  return text === '' ? 'empty text' : text.length > 60 ? `${text.slice(0, 60)}…` : text;
}
