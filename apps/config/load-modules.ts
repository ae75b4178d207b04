import { resolve as resolveImport } from 'import-meta-resolve';
import { existsSync, readFileSync, statSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join, resolve } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import type { Driver } from '../../adapters/driver.js';
import type { JsonObject } from '../../core/json.js';
import { INSTANCE_KEYS, SECTIONS } from './keys.js';
import { firstLine, isListOfText, optionsFault, takenOptionFault } from './option-schema.js';

/** The methods that a driver of each kind must have. */
const METHODS = {
  'database': ['place', 'open', 'inspect', 'inspectBeforeMigration', 'migrate'],
  'objects': ['open', 'inspect', 'migrate'],
  'wake-ups': ['open', 'inspect', 'migrate'],
  'signer': ['open'],
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

/** What Node says of a module that cannot import the ports of this program. */
const OWN_PACKAGE_MISSING = "Cannot find package 'darkroom-server'";

async function load(name: string, folder: string): Promise<unknown> {
  try {
    const address = find(name, folder);
    if (address !== undefined) return await import(address);
  } catch (error) {
    const fault = firstLine(error);
    const more = fault.startsWith(OWN_PACKAGE_MISSING) ? ' Install darkroom-server in its folder or above it.' : '';
    throw new ModuleRefused(`The module ${name} cannot be loaded: ${fault}.${more}`, error);
  }
  throw new ModuleRefused(`The module ${name} is missing: there is no package and no file of that name in ${folder}.`);
}

/** The address of a module: a file, a package as `import` finds it, or a folder with a package. */
function find(name: string, folder: string): string | undefined {
  const path = resolve(folder, name);
  const stat = statSync(path, { throwIfNoEntry: false });
  if (stat?.isFile() === true) return pathToFileURL(path).href;
  const beside = join(folder, 'darkroom.yaml');
  const isPath = /^[./]/.test(name);
  const isFolder = stat?.isDirectory() === true;
  const isPackage = isFolder && ['package.json', 'index.js'].some((file) => existsSync(join(path, file)));
  return (
    (isPath ? undefined : found(() => resolveImport(name, pathToFileURL(beside).href))) ??
    (isPackage ? entryOf(path) : undefined) ??
    found(() => pathToFileURL(createRequire(beside).resolve(path)).href) ??
    (isPath ? undefined : found(() => resolveImport(name, import.meta.url))) ??
    // A folder of another use may have the name of a package of the program; this one is not that.
    (isFolder ? entryOf(path) : undefined)
  );
}

/**
 * The address of the file that a folder with a package exports, or of its main file or index.js. Throws a clause that says what is
 * missing.
 */
function entryOf(folder: string): string {
  const file = join(folder, 'package.json');
  const manifest = existsSync(file) ? readManifest(file) : undefined;
  const { name, exports, main } = manifest ?? {};
  const entry =
    exports === undefined
      ? found(() => pathToFileURL(createRequire(file).resolve(folder)).href)
      : // A package finds itself by its name, as `import` finds it: `exports` may have conditions.
        found(() => resolveImport(name ?? '', pathToFileURL(file).href));
  if (entry !== undefined && existsSync(fileURLToPath(entry))) return entry;
  if (manifest === undefined) throw new Error('the folder has neither a package.json nor an index.js');
  const named = typeof exports === 'string' ? exports : (main ?? 'index.js');
  throw new Error(`its package.json leads to ${named}, which is not there: build the package first`);
}

interface Manifest {
  readonly name?: string;
  readonly exports?: unknown;
  readonly main?: string;
}

function readManifest(file: string): Manifest {
  let manifest: Manifest | null;
  try {
    manifest = JSON.parse(readFileSync(file, 'utf8')) as Manifest | null;
  } catch {
    manifest = null;
  }
  if (typeof manifest !== 'object' || manifest === null) throw new Error('its package.json is not a JSON object');
  if (manifest.exports !== undefined && typeof manifest.name !== 'string')
    throw new Error('its package.json needs a name, as it has exports');
  return manifest;
}

const NOT_FOUND = new Set(['ERR_MODULE_NOT_FOUND', 'MODULE_NOT_FOUND']);

function found(search: () => string): string | undefined {
  try {
    return search();
  } catch (error) {
    if (NOT_FOUND.has((error as NodeJS.ErrnoException).code ?? '')) return undefined;
    throw error;
  }
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
  const refuse = (fault: string): never => {
    throw new ModuleRefused(`The driver ${name} of the module ${module} ${fault}.`);
  };
  if (typeof kind !== 'string' || !Object.hasOwn(METHODS, kind))
    return refuse(`must have a kind, one of ${Object.keys(METHODS).join(', ')}`);
  const methods: readonly string[] = METHODS[kind as Driver['kind']];
  const missing = methods.filter((method) => typeof driver[method] !== 'function');
  if (missing.length > 0) refuse(`has no ${missing.join(', no ')}`);
  if (kind === 'database' && !isListOfText(driver['lends'])) refuse('must have lends, a list of names');
  if (kind === 'objects' && Boolean(driver['isInDataFolder']) && !isBackup(driver['backup']))
    refuse('keeps its objects in the data folder, so it must have a backup');
  const fault =
    optionsFault(options) ?? (kind === 'provider' ? takenOptionFault(options as JsonObject, INSTANCE_KEYS) : undefined);
  if (fault !== undefined)
    throw new ModuleRefused(`The options of the driver ${name} of the module ${module} ${fault}.`);
}

/** Null has the type of an object too, and a backup would then leave the objects out. */
function isBackup(backup: unknown): boolean {
  return typeof backup === 'object' && backup !== null && !Array.isArray(backup);
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
