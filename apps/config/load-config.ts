import { existsSync, readFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { LocatedYaml } from '../../adapters/catalog-file/located-yaml.js';
import type {
  DatabaseDriver,
  Driver,
  ObjectsDriver,
  Options,
  ProviderDriver,
  SignerDriver,
  StoreDriver,
  WakeUpsDriver,
} from '../../adapters/driver.js';
import { assert } from '../../core/assert.js';
import type { Json } from '../../core/json.js';
import { type Settings, settingsFaults } from '../../core/settings.js';
import { BUILT_IN_DRIVERS } from '../wiring/built-in-drivers.js';
import { combinationFaults } from './combinations.js';
import { type ConfigKey, valueOfText } from './config-key.js';
import {
  configKeys,
  NO_SIGNER_NAME,
  optionsOf,
  PROGRAM_KEYS,
  type ProgramValues,
  type ProviderKinds,
  SETTING_KEYS,
  SIGNER_KEY,
  STORE_KEYS,
  variableOf,
} from './config-keys.js';
import { type Config, ConfigInvalid, type Configured, type Role, type StoreChoice } from './config.js';
import { grpcOf, mcpOf, peopleOf, restOf } from './front-config.js';
import { ModuleRefused, withModules } from './load-modules.js';
import { providerKinds } from './provider-kinds.js';
import { providerLimits } from './provider-limits.js';
import { type ConfigFault, type Given, valuesOfEnvironment, valuesOfFile } from './read-values.js';

const DEFAULT_FILE = 'darkroom.yaml';
const SHIPPED_CATALOG = fileURLToPath(new URL('../../../config/catalog.yaml', import.meta.url));

export type Environment = Readonly<Record<string, string | undefined>>;

export interface ConfigSource {
  /** The file named on the command line, which must then exist. */
  readonly file?: string | undefined;
  /** The role named on the command line, which goes over the configured one. */
  readonly role?: Role | undefined;
  readonly environment?: Environment;
  /** Where relative paths begin; the folder the program was started in when absent. */
  readonly folder?: string;
}

/**
 * The configuration: defaults, then the file (the one named, else DARKROOM_CONFIG, else `darkroom.yaml` if it exists),
 * then variables. Its modules are loaded first, as their drivers add keys. Throws `ConfigInvalid` with every fault, a
 * sentence each.
 */
export async function loadConfig({
  file: named,
  role,
  environment = process.env,
  folder = process.cwd(),
}: ConfigSource = {}): Promise<Config> {
  const faults: ConfigFault[] = [];
  const file = fileOf({ file: named, environment, folder });
  const name = file?.file;
  const drivers = await driversOf(file, { environment, folder });
  const providers = providerKinds({ yaml: file, environment, drivers, faults });
  const keys = configKeys(drivers, providers);
  const fromFile =
    file === undefined ? new Map<string, Given>() : valuesOfFile(file.document, { file: file.file, keys, faults });
  const fromEnvironment = valuesOfEnvironment(environment, { keys, faults });
  const values = valuesOf(keys, (path) => fromEnvironment.get(path) ?? fromFile.get(path), faults);
  if (faults.length > 0) throw new ConfigInvalid(inLineOrder(faults), logOf(values));
  const settings = settingsOf(values);
  const config = {
    ...(name === undefined ? {} : { file: resolve(folder, name) }),
    ...configOf(values as ProgramValues, folder, role),
    stores: storesOf(values, drivers),
    ...signerOf(values, drivers),
    providers: providersOf(values, providers, drivers),
    settings,
  };
  const contradictions = [...settingsFaults(settings), ...combinationFaults(config, drivers)].map(
    (sentence) => `${name ?? 'settings'}: ${sentence}`,
  );
  if (contradictions.length > 0) throw new ConfigInvalid(contradictions, config.log);
  return config;
}

/**
 * The built-in drivers and those of the configured modules; ignores the rest of the file. Throws `ConfigInvalid` for a
 * module that cannot be used.
 */
export function configDrivers({ file, environment = process.env, folder = process.cwd() }: ConfigSource = {}): Promise<
  readonly Driver[]
> {
  return driversOf(fileOf({ file, environment, folder }), { environment, folder });
}

interface ConfigFile {
  /** As it was named. */
  readonly file: string;
  readonly document: LocatedYaml;
}

type SourcePlace = Required<Pick<ConfigSource, 'environment' | 'folder'>>;

function fileOf({ file, environment, folder }: SourcePlace & Pick<ConfigSource, 'file'>): ConfigFile | undefined {
  const name =
    file ??
    (environment['DARKROOM_CONFIG'] || undefined) ??
    (existsSync(resolve(folder, DEFAULT_FILE)) ? DEFAULT_FILE : undefined);
  return name === undefined ? undefined : { file: name, document: new LocatedYaml(readFile(name, folder)) };
}

/**
 * The built-in drivers, and those of the modules that the file or a variable names. Paths begin in the folder of the
 * file.
 */
async function driversOf(
  file: ConfigFile | undefined,
  { environment, folder }: SourcePlace,
): Promise<readonly Driver[]> {
  const key = PROGRAM_KEYS.modules;
  const variable = environment[variableOf('modules')];
  const given = variable
    ? valueOfText(key, variable)
    : (file?.document.value as { readonly modules?: Json } | null | undefined)?.modules;
  // What is no list of names is refused with the other values.
  const names = given === undefined ? [] : (key.read(given) ?? []);
  try {
    return await withModules(
      BUILT_IN_DRIVERS,
      names,
      file === undefined ? folder : dirname(resolve(folder, file.file)),
    );
  } catch (error) {
    if (!(error instanceof ModuleRefused)) throw error;
    throw new ConfigInvalid([
      `${variable ? variableOf('modules') : `${file?.file}:${file?.document.lineOf('/modules')}`}: ${error.message}`,
    ]);
  }
}

function valuesOf(
  keys: ReadonlyMap<string, ConfigKey<unknown>>,
  find: (path: string) => Given | undefined,
  faults: ConfigFault[],
): Readonly<Record<string, unknown>> {
  const values: Record<string, unknown> = {};
  for (const [path, { read, wanted, byDefault, isSecret }] of keys) {
    const given: Given = find(path) ?? { value: byDefault, where: '', name: path };
    const value = read(given.value);
    if (value === undefined) {
      faults.push({
        ...(given.line === undefined ? {} : { line: given.line }),
        message: `${given.where}${given.name} ${wanted}${isSecret ? '' : `, not ${shown(given.value)}`}.`,
      });
    }
    values[path] = value;
  }
  return values;
}

function logOf(values: Readonly<Record<string, unknown>>): Config['log'] | undefined {
  const [level, format] = [values['log.level'], values['log.format']];
  return level === undefined || format === undefined ? undefined : ({ level, format } as Config['log']);
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
  const numbers = Object.entries(SETTING_KEYS).map(([field, { name }]) => [field, values[`settings.${name}`]] as const);
  const marks = {
    isWritten: values['ai_marks.enabled'],
    manifests: values['ai_marks.provider_manifests'],
    namesModel: values['ai_marks.name_model'],
  };
  return { ...Object.fromEntries(numbers), marks } as unknown as Settings;
}

function configOf(
  values: ProgramValues,
  folder: string,
  role: Role | undefined,
): Omit<Config, 'file' | 'settings' | 'stores' | 'providers'> {
  const dataFolder = resolve(folder, values.data_folder);
  const internalPort = values['internal.port'];
  return {
    role: role ?? values.role,
    dataFolder,
    secretFile: values.secret_file === null ? join(dataFolder, 'secret') : resolve(folder, values.secret_file),
    catalog: values.catalog === null ? SHIPPED_CATALOG : resolve(folder, values.catalog),
    rest: restOf(values),
    ...peopleOf(values),
    webhooks: { allow: [...values['webhooks.allowed_hosts'], ...values['webhooks.allowed_networks']] },
    ...mcpOf(values),
    ...grpcOf(values, folder),
    ...(internalPort === null ? {} : { internal: { host: values['internal.host'], port: internalPort } }),
    worker: {
      enabled: values['worker.enabled'],
      recoveryIntervalMs: values['worker.recovery_interval_seconds'],
      stopGraceMs: values['worker.stop_grace_seconds'],
    },
    images: { memoryBytes: values['images.memory_mib'] * 1024 * 1024 },
    log: { level: values['log.level'], format: values['log.format'] },
  };
}

function storesOf(values: Readonly<Record<string, unknown>>, drivers: readonly Driver[]): StoreChoice {
  const chosen = <D extends StoreDriver>(kind: D['kind']): Configured<D> => {
    const driver = drivers.find((known): known is D => known.kind === kind && known.name === values[STORE_KEYS[kind]]);
    assert(driver !== undefined, 'a driver that was checked is there');
    return { driver, options: optionsFrom(values, driver.name, driver) };
  };
  return {
    database: chosen<DatabaseDriver>('database'),
    objects: chosen<ObjectsDriver>('objects'),
    wakeUps: chosen<WakeUpsDriver>('wake-ups'),
  };
}

function signerOf(values: Readonly<Record<string, unknown>>, drivers: readonly Driver[]): Pick<Config, 'signer'> {
  const name = values[SIGNER_KEY];
  if (name === NO_SIGNER_NAME) return {};
  const driver = drivers.find((known): known is SignerDriver => known.kind === 'signer' && known.name === name);
  assert(driver !== undefined, 'a driver that was checked is there');
  return { signer: { driver, options: optionsFrom(values, driver.name, driver) } };
}

function providersOf(
  values: Readonly<Record<string, unknown>>,
  instances: ProviderKinds,
  drivers: readonly Driver[],
): Config['providers'] {
  return new Map(
    [...instances.keys()].map((instance) => {
      const driver = drivers.find(
        (known): known is ProviderDriver =>
          known.kind === 'provider' && known.name === values[`providers.${instance}.kind`],
      );
      assert(driver !== undefined, 'a kind that was checked is there');
      const options = optionsFrom(values, `providers.${instance}`, driver);
      return [instance, { driver, options, limits: providerLimits(values, instance) }] as const;
    }),
  );
}

/** The options under `section`; what was left out is absent, not null. */
function optionsFrom(
  values: Readonly<Record<string, unknown>>,
  section: string,
  { options }: Pick<Driver, 'options'>,
): Options {
  const given = optionsOf(options).map(([name]) => [name, values[`${section}.${name}`] as Json] as const);
  return Object.fromEntries(given.filter(([, value]) => value !== null));
}

function shown(value: Json): string {
  const text = typeof value === 'string' ? value : JSON.stringify(value);
  return text === '' ? 'empty text' : text.length > 60 ? `${text.slice(0, 60)}…` : text;
}
