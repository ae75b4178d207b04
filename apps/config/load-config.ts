import { existsSync, readFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { LocatedYaml } from '../../adapters/catalog-file/located-yaml.js';
import type { Driver, Options } from '../../adapters/driver.js';
import { assert } from '../../core/assert.js';
import { type Json, memberOf } from '../../core/json.js';
import { type Settings, settingsFaults } from '../../core/settings.js';
import { BUILT_IN_DRIVERS } from '../wiring/built-in-drivers.js';
import { combinationFaults } from './combinations.js';
import { type Config, ConfigInvalid, type Role } from './config.js';
import {
  type ConfigFault,
  type ConfigFile,
  type Environment,
  providerKinds,
  readValues,
  type Sources,
  withoutLineBreaks,
} from './given-values.js';
import { valuesOf } from './key.js';
import { KEYS, keySchemas, NO_SIGNER_NAME, optionsOf, PROVIDER_KEYS, type ProviderKinds, variableOf } from './keys.js';
import { ModuleRefused, withModules } from './load-modules.js';
import { accepts, valueOfText } from './option-schema.js';

/** The name of a configuration file that is found without being named. */
export const CONFIG_FILE = 'darkroom.yaml';
/** The catalog of an installation that names none. */
export const SHIPPED_CATALOG = fileURLToPath(new URL('../../../config/catalog.yaml', import.meta.url));

export type { Environment } from './given-values.js';

export interface ConfigSource {
  /** The file named on the command line, which must then exist. */
  readonly file?: string | undefined;
  /** The role named on the command line, which overrides the configured one. */
  readonly role?: Role | undefined;
  readonly environment?: Environment;
  /** The folder that relative paths begin in; the working directory when absent. */
  readonly folder?: string;
  /** The text that the file is going to have, in place of what it has now; it may not exist yet. */
  readonly text?: string;
}

/**
 * The configuration: defaults, then the file (the one named, else DARKROOM_CONFIG, else `darkroom.yaml` if it exists),
 * then variables. Its modules are loaded first, as their drivers add keys. Throws `ConfigInvalid` with every fault, a
 * sentence each.
 */
export async function loadConfig({
  file: named,
  role,
  environment: variables = process.env,
  folder = process.cwd(),
  text,
}: ConfigSource = {}): Promise<Config> {
  const environment = withoutLineBreaks(variables);
  const name = configFileOf({ file: named, environment, folder });
  const file =
    text === undefined ? fileOf(name, folder) : { file: name ?? CONFIG_FILE, document: new LocatedYaml(text) };
  const sources: Sources = { file, environment, faults: [] };
  const drivers = await driversOf(sources, folder);
  const kinds = providerKinds(drivers, sources);
  const values = readValues(keySchemas(drivers, kinds), { ...sources, unused: variablesOfOtherKinds(drivers, kinds) });
  if (sources.faults.length > 0) throw new ConfigInvalid(inLineOrder(sources.faults), logOf(values));
  const config = {
    ...(file === undefined ? {} : { file: resolve(folder, file.file) }),
    ...configOf(values, drivers, folder),
    providers: providersOf(values, drivers, [...kinds.keys()]),
    ...(role === undefined ? {} : { role }),
  };
  const contradictions = [...settingsFaults(config.settings), ...combinationFaults(config, drivers)];
  if (contradictions.length === 0) return config;
  throw new ConfigInvalid(
    contradictions.map((sentence) => `${file?.file ?? 'settings'}: ${sentence}`),
    config.log,
  );
}

/**
 * The variables of providers that are named as their kind, of kinds that the configuration has no provider of. The keys of
 * several vendors are often set before the first one is in the configuration.
 */
function variablesOfOtherKinds(drivers: readonly Driver[], kinds: ProviderKinds): ReadonlySet<string> {
  const used = new Set(kinds.values());
  const others = drivers.flatMap(({ kind, name }) =>
    kind === 'provider' && !used.has(name) && !kinds.has(name) ? [[name, name] as const] : [],
  );
  const paths = [...keySchemas(drivers, new Map(others)).keys()];
  return new Set(
    others.flatMap(([name]) => paths.filter((path) => path.startsWith(`providers.${name}.`)).map(variableOf)),
  );
}

/**
 * The built-in drivers and those of the configured modules; ignores the rest of the file. Throws `ConfigInvalid` for a
 * module that cannot be used.
 */
export function configDrivers({ file, environment = process.env, folder = process.cwd() }: ConfigSource = {}): Promise<
  readonly Driver[]
> {
  const variables = withoutLineBreaks(environment);
  const read = fileOf(configFileOf({ file, environment: variables, folder }), folder);
  return driversOf({ file: read, environment: variables }, folder);
}

/**
 * The file that a configuration is read from: the one named, else that of DARKROOM_CONFIG, else darkroom.yaml if it exists.
 * Throws `ConfigInvalid` if only darkroom.yml exists, whose settings would otherwise be ignored.
 */
export function configFileOf({ file, environment = {}, folder = '.' }: ConfigSource): string | undefined {
  const named = file ?? (environment['DARKROOM_CONFIG'] || undefined);
  if (named !== undefined) return named;
  if (existsSync(resolve(folder, CONFIG_FILE))) return CONFIG_FILE;
  if (existsSync(resolve(folder, 'darkroom.yml')))
    throw new ConfigInvalid([`darkroom.yml is not read; rename it to ${CONFIG_FILE}.`]);
  return undefined;
}

function fileOf(file: string | undefined, folder: string): ConfigFile | undefined {
  return file === undefined ? undefined : { file, document: new LocatedYaml(readConfigFile(file, folder)) };
}

/** The text of a configuration file. Throws `ConfigInvalid`. */
export function readConfigFile(file: string, folder: string): string {
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

/**
 * The built-in drivers, and those of the modules that the file or a variable names. Paths begin in the folder of the
 * file.
 */
async function driversOf(
  { file, environment }: Pick<Sources, 'file' | 'environment'>,
  folder: string,
): Promise<readonly Driver[]> {
  const { schema } = KEYS.modules;
  const variable = environment[variableOf('modules')];
  const given = variable ? valueOfText(schema, variable) : (memberOf(file?.document.value, 'modules') ?? []);
  // A value that is not a list of names is refused with the other values.
  const names = accepts(schema, given) ? (given as readonly string[]) : [];
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

/** In the order of the file; those of variables come last. */
function inLineOrder(faults: readonly ConfigFault[]): string[] {
  return faults.toSorted((a, b) => (a.line ?? Infinity) - (b.line ?? Infinity) || 0).map(({ message }) => message);
}

function logOf(values: ReadonlyMap<string, Json>): Config['log'] | undefined {
  const { level, format } = valuesOf({ log: KEYS.log }, values).log as Partial<Config['log']>;
  return level === undefined || format === undefined ? undefined : { level, format };
}

/** The configuration without its providers, of values that were all accepted. */
function configOf(
  values: ReadonlyMap<string, Json>,
  drivers: readonly Driver[],
  folder: string,
): Omit<Config, 'file' | 'providers'> {
  const {
    modules: _,
    stores,
    aiMarks,
    settings,
    console,
    secretFile,
    catalog,
    ...rest
  } = valuesOf(KEYS, values, {
    folder,
  });
  const chosen = <K extends Driver['kind']>(kind: K, name: string) => {
    const driver = driverOf(drivers, kind, name);
    return { driver, options: optionsFrom(values, name, driver) };
  };
  return {
    ...rest,
    secretFile: secretFile ?? join(rest.dataFolder, 'secret'),
    catalog: catalog ?? SHIPPED_CATALOG,
    stores: {
      database: chosen('database', stores.database),
      objects: chosen('objects', stores.objects),
      wakeUps: chosen('wake-ups', stores.wakeUps),
    },
    ...(aiMarks.signer === NO_SIGNER_NAME ? {} : { signer: chosen('signer', aiMarks.signer) }),
    settings: settingsOf(settings, aiMarks, console),
  };
}

type Values = ReturnType<typeof valuesOf<typeof KEYS>>;

function settingsOf(
  { remnantRetentionMs: tombstoneRetentionMs, ...settings }: Values['settings'],
  { enabled: isWritten, providerManifests: manifests, nameModel: namesModel }: Values['aiMarks'],
  { showsRequests }: Values['console'],
): Settings {
  return { ...settings, tombstoneRetentionMs, showsRequests, marks: { isWritten, manifests, namesModel } };
}

function providersOf(
  values: ReadonlyMap<string, Json>,
  drivers: readonly Driver[],
  instances: readonly string[],
): Config['providers'] {
  return new Map(
    instances.map((instance) => {
      const section = `providers.${instance}`;
      const driver = driverOf(drivers, 'provider', values.get(`${section}.kind`));
      const options = optionsFrom(values, section, driver);
      return [instance, { driver, options, limits: valuesOf(PROVIDER_KEYS, values, { section }) }];
    }),
  );
}

/** A driver whose name was checked. */
function driverOf<K extends Driver['kind']>(
  drivers: readonly Driver[],
  kind: K,
  name: Json | undefined,
): Extract<Driver, { kind: K }> {
  const driver = drivers.find(
    (known): known is Extract<Driver, { kind: K }> => known.kind === kind && known.name === name,
  );
  assert(driver !== undefined, 'a driver that was checked is there');
  return driver;
}

/** The options in a section; what was left out is absent, not null. */
function optionsFrom(values: ReadonlyMap<string, Json>, section: string, { options }: Driver): Options {
  const given = optionsOf(options).map(([name]) => [name, values.get(`${section}.${name}`) ?? null] as const);
  return Object.fromEntries(given.filter(([, value]) => value !== null));
}
