import { createRequire } from 'node:module';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import type { Driver } from '../../adapters/driver.js';
import type { JsonObject } from '../../core/json.js';
import { keyOf } from './config-key.js';
import { optionsOf, SECTIONS } from './config-keys.js';

/** What a driver of each kind must be able to do. */
const METHODS = {
  'database': ['place', 'open', 'inspect', 'inspectBeforeMigration', 'migrate'],
  'objects': ['open', 'inspect', 'migrate'],
  'wake-ups': ['open', 'inspect', 'migrate'],
  'provider': ['open'],
} as const satisfies Readonly<Record<Driver['kind'], readonly string[]>>;

const NAME = /^[a-z][a-z0-9_-]{0,63}$/;

/** Thrown for a module that cannot be used; the message is one sentence that names it. */
export class ModuleRefused extends Error {
  constructor(message: string, cause?: unknown) {
    super(message, { cause });
    this.name = 'ModuleRefused';
  }
}

/**
 * The built-in drivers, followed by those of these modules. A name is that of a package or a path; both are resolved
 * from `folder` first, then from the program. A module is code: it may do whatever this process may. Throws
 * `ModuleRefused`.
 */
export async function withModules(
  builtIn: readonly Driver[],
  names: readonly string[],
  folder: string,
): Promise<readonly Driver[]> {
  const drivers = [...builtIn];
  for (const name of names) {
    for (const driver of driversOf(name, await load(name, folder))) {
      refuseTaken(name, driver, drivers);
      drivers.push(driver);
    }
  }
  return drivers;
}

async function load(name: string, folder: string): Promise<unknown> {
  const path = find(name, folder);
  try {
    return await import(pathToFileURL(path).href);
  } catch (error) {
    throw new ModuleRefused(`The module ${name} cannot be loaded: ${firstLine(error)}`, error);
  }
}

function find(name: string, folder: string): string {
  try {
    return createRequire(join(folder, 'darkroom.yaml')).resolve(name);
  } catch (error) {
    if (!isNotFound(error)) throw new ModuleRefused(`The module ${name} cannot be loaded: ${firstLine(error)}`, error);
  }
  try {
    return createRequire(import.meta.url).resolve(name);
  } catch (error) {
    throw new ModuleRefused(
      `The module ${name} is missing: there is no package and no file of that name in ${folder}.`,
      error,
    );
  }
}

function isNotFound(error: unknown): boolean {
  return (error as NodeJS.ErrnoException).code === 'MODULE_NOT_FOUND';
}

function firstLine(error: unknown): string {
  const text = (error instanceof Error ? error.message : String(error)).split('\n', 1)[0] ?? '';
  return /[.!?]$/.test(text) ? text : `${text}.`;
}

function driversOf(name: string, loaded: unknown): readonly Driver[] {
  const { default: byDefault, drivers = byDefault } = loaded as {
    readonly default?: unknown;
    readonly drivers?: unknown;
  };
  const list: readonly unknown[] = Array.isArray(drivers) ? drivers : [drivers];
  if (list.length === 0 || list.some((driver) => typeof driver !== 'object' || driver === null)) {
    throw new ModuleRefused(
      `The module ${name} exports no drivers: its default export, or its export drivers, must be a list of them.`,
    );
  }
  for (const driver of list) refuseBroken(name, driver as Readonly<Record<string, unknown>>);
  return list as readonly Driver[];
}

function refuseBroken(module: string, driver: Readonly<Record<string, unknown>>): void {
  const { kind, name, options } = driver;
  if (typeof name !== 'string' || !NAME.test(name)) {
    throw new ModuleRefused(
      `The module ${module} has a driver whose name is not one of lower-case letters, digits, hyphens and underscores.`,
    );
  }
  if (typeof kind !== 'string' || !Object.hasOwn(METHODS, kind))
    throw new ModuleRefused(
      `The driver ${name} of the module ${module} must have a kind, one of ${Object.keys(METHODS).join(', ')}.`,
    );
  const methods: readonly string[] = METHODS[kind as Driver['kind']];
  const missing = methods.filter((method) => typeof driver[method] !== 'function');
  if (missing.length > 0)
    throw new ModuleRefused(`The driver ${name} of the module ${module} has no ${missing.join(', no ')}.`);
  if (kind === 'database' && !isListOfText(driver['lends']))
    throw new ModuleRefused(`The driver ${name} of the module ${module} must have lends, a list of names.`);
  const fault = optionsFault(options);
  if (fault !== undefined)
    throw new ModuleRefused(`The options of the driver ${name} of the module ${module} ${fault}.`);
}

function isListOfText(value: unknown): boolean {
  return Array.isArray(value) && value.every((one) => typeof one === 'string');
}

/** Each option must have a schema that can be compiled, and a default that it takes. */
function optionsFault(options: unknown): string | undefined {
  const schema = options as JsonObject | undefined;
  if (typeof schema !== 'object' || schema === null || schema['type'] !== 'object')
    return 'must be a JSON Schema of type object';
  if (schema['required'] !== undefined && !isListOfText(schema['required'])) return 'must have a list as required';
  for (const [option, of] of optionsOf(schema)) {
    if (!/^[a-z][a-z0-9_]*$/.test(option))
      return `may not have one called ${option}: names have lower-case letters, digits and underscores`;
    try {
      const { default: byDefault = null, ...rest } = of;
      if (keyOf(rest).fits(byDefault) || byDefault === null) continue;
    } catch (error) {
      return `have no usable JSON Schema for ${option}: ${firstLine(error).slice(0, -1)}`;
    }
    return `have a default for ${option} that its JSON Schema refuses`;
  }
  return undefined;
}

function refuseTaken(module: string, { kind, name }: Driver, drivers: readonly Driver[]): void {
  const isProvider = kind === 'provider';
  // Stores have a section by their name; the options of a provider are in its instance.
  if (drivers.some((driver) => driver.name === name && (driver.kind === 'provider') === isProvider)) {
    throw new ModuleRefused(
      `The module ${module} has a driver called ${name}, but another driver already has that name.`,
    );
  }
  if (!isProvider && SECTIONS.has(name))
    throw new ModuleRefused(
      `The module ${module} has a driver called ${name}, which is a section of the configuration; it needs another name.`,
    );
}
