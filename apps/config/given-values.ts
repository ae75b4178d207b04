import { type LocatedYaml, nameOf } from '../../adapters/catalog-file/located-yaml.js';
import type { Driver } from '../../adapters/driver.js';
import { escapePointerToken, isObject, type Json, type JsonObject, memberOf } from '../../core/json.js';
import { DEFAULT_PROVIDERS } from '../wiring/built-in-drivers.js';
import { type KeySchemas, type ProviderKinds, variableOf } from './keys.js';
import { accepts, requirementOf, valueOfText } from './option-schema.js';

export type Environment = Readonly<Record<string, string | undefined>>;

/** One sentence about a mistake, and the line of the file that it is about; a variable has none. */
export interface ConfigFault {
  readonly line?: number;
  readonly message: string;
}

/** The file as the command line named it, and its text. */
export interface ConfigFile {
  readonly file: string;
  readonly document: LocatedYaml;
}

export interface Sources {
  readonly file: ConfigFile | undefined;
  readonly environment: Environment;
  readonly faults: ConfigFault[];
  /** Variables that may be set and have no effect. */
  readonly unused?: ReadonlySet<string>;
}

/** A configured value of a key, and how a message names it: by the path of the key, or by the variable. */
interface Given {
  readonly value: Json;
  /** The file and line, or nothing for a variable. */
  readonly where: string;
  readonly line?: number;
  readonly name: string;
}

/**
 * The value of every key: that of its variable, else that of the file, else its default. A value that the schema
 * refuses is left out. `faults` takes every mistake in the two sources.
 */
export function readValues(keys: KeySchemas, sources: Sources): ReadonlyMap<string, Json> {
  const { file, faults } = sources;
  const fromFile = file === undefined ? new Map<string, Given>() : valuesOfFile(file, keys, faults);
  const fromEnvironment = valuesOfEnvironment(sources, keys);
  const values = new Map<string, Json>();
  for (const [path, schema] of keys) {
    const given = fromEnvironment.get(path) ?? fromFile.get(path);
    const value = given === undefined ? (schema['default'] ?? null) : given.value;
    if (given === undefined || accepts(schema, value)) values.set(path, value);
    else {
      const shown = schema['writeOnly'] === true ? '' : `, not ${shortened(value)}`;
      faults.push({
        ...(given.line === undefined ? {} : { line: given.line }),
        message: `${given.where}${given.name} ${requirementOf(schema)}${shown}.`,
      });
    }
  }
  return values;
}

function shortened(value: Json): string {
  const text = typeof value === 'string' ? value : JSON.stringify(value);
  return text === '' ? 'empty text' : text.length > 60 ? `${text.slice(0, 60)}…` : text;
}

/** Keys that have another name since an earlier release. */
const MOVED: Readonly<Record<string, string>> = { 'sandbox.threads': 'providers.sandbox.threads' };
const MOVED_SECTIONS: ReadonlySet<string> = new Set(Object.keys(MOVED).flatMap(sectionsOf));

function valuesOfFile({ file, document }: ConfigFile, keys: KeySchemas, faults: ConfigFault[]): Map<string, Given> {
  for (const { line, message } of document.faults) faults.push({ line, message: `${file}:${line}: ${message}` });
  const given = new Map<string, Given>();
  const sections = new Set(['providers', ...[...keys.keys()].flatMap(sectionsOf)]);
  const visit = (value: Json, path: string, hasDot = false): void => {
    const pointer = path === '' ? '' : `/${path.replaceAll('.', '/')}`;
    const line = document.lineOf(pointer);
    const where = `${file}:${line}: `;
    const complain = (sentence: string) => faults.push({ line, message: `${where}${sentence}` });
    if (hasDot)
      complain(`${path} is not a key of the configuration; write sections and their keys on lines of their own.`);
    else if (keys.has(path)) given.set(path, { value, where, line, name: path });
    else if (Object.hasOwn(MOVED, path)) complain(`${path} is now ${MOVED[path]}.`);
    else if (MOVED_SECTIONS.has(path) && isSection(value)) visitAll(value, path);
    // An instance of a provider that is not in `keys` was reported with its kind.
    else if (/^providers\.[^.]+$/.test(path) && !sections.has(path)) return;
    else if (path !== '' && !sections.has(path)) complain(`${path} is not a key of the configuration.`);
    else if (isSection(value)) visitAll(value, path);
    else complain(`${nameOf(pointer)} must hold keys with values.`);
  };
  // A name with a dot is not a path.
  const visitAll = (section: JsonObject | null, path: string): void => {
    for (const [name, item] of Object.entries(section ?? {}))
      visit(item, path === '' ? name : `${path}.${name}`, name.includes('.'));
  };
  visit(document.value, '');
  return given;
}

function isSection(value: Json): value is JsonObject | null {
  return typeof value === 'object' && !Array.isArray(value);
}

/** `rest.rate_limits.…` is in `rest` and in `rest.rate_limits`. */
function sectionsOf(path: string): string[] {
  const names = path.split('.');
  return names.slice(1).map((_, index) => names.slice(0, index + 1).join('.'));
}

/** Variables of commands and tests. */
const OTHER_VARIABLES = /^DARKROOM_(?:COMMAND|CONFIG|API_KEY|URL|SERVICE_TOKEN|PROFILE|DEBUG|TEST_.*)$/;

/** The same variables without one line break at the end of a value, which comes from a secret made of a file. */
export function withoutLineBreaks(environment: Environment): Environment {
  return Object.fromEntries(Object.entries(environment).map(([name, value]) => [name, value?.replace(/\r?\n$/, '')]));
}

/** A variable that is empty counts as not set. */
function valuesOfEnvironment(
  { environment, faults, unused = new Set() }: Sources,
  keys: KeySchemas,
): Map<string, Given> {
  const moved = new Map(Object.entries(MOVED).map(([path, now]) => [variableOf(path), variableOf(now)]));
  const pathsByVariable = new Map<string, readonly string[]>();
  for (const path of keys.keys())
    pathsByVariable.set(variableOf(path), [path, ...(pathsByVariable.get(variableOf(path)) ?? [])]);
  const given = new Map<string, Given>();
  for (const [name, text] of Object.entries(environment)) {
    if (!name.startsWith('DARKROOM_') || text === undefined || text === '') continue;
    const [path, other] = pathsByVariable.get(name) ?? [];
    if (other !== undefined)
      faults.push({ message: `${name} is the variable of both ${other} and ${path}; give one of them another name.` });
    else if (path !== undefined) given.set(path, { value: valueOfText(keys.get(path) ?? {}, text), where: '', name });
    else if (moved.has(name)) faults.push({ message: `${name} is now ${moved.get(name)}.` });
    else if (!OTHER_VARIABLES.test(name) && !unused.has(name)) faults.push({ message: unknownVariable(name, keys) });
  }
  return given;
}

/** The variables of configured providers for the same option as that of another one. */
function variablesLike(name: string, keys: KeySchemas): readonly string[] {
  return [...keys.keys()].flatMap((path) => {
    const [, option] = /^providers\.[^.]+\.(.+)$/.exec(path) ?? [];
    const isSame = option !== undefined && name.endsWith(`_${option.toUpperCase()}`);
    return isSame ? [variableOf(path)] : [];
  });
}

/** A variable for a provider of another folder's configuration is often still set: the sentence says so. */
function unknownVariable(name: string, keys: KeySchemas): string {
  const instances = [...keys.keys()].flatMap((path) => /^providers\.([^.]+)\.kind$/.exec(path)?.[1] ?? []);
  const isOfInstance = instances.some((instance) => name.startsWith(`${variableOf(`providers.${instance}`)}_`));
  if (!name.startsWith('DARKROOM_PROVIDERS_') || isOfInstance) {
    const ofRest = [...keys.keys()].find((path) => variableOf(path) === name.replace('DARKROOM_', 'DARKROOM_REST_'));
    const meant = ofRest === undefined ? '' : `; that of ${ofRest} is ${variableOf(ofRest)}`;
    return `${name} is not a variable that darkroom knows${meant}.`;
  }
  const meant = variablesLike(name, keys);
  const another = meant.length === 1 ? `, or name it ${meant[0]}` : '';
  return `${name} is of no provider that the configuration has (${instances.join(', ')}); unset it, or add the provider${another}.`;
}

/**
 * The instances of providers that the file names, each with its kind; a variable may give another kind. Instances with
 * a mistake are left out.
 */
export function providerKinds(drivers: readonly Driver[], { file, environment, faults }: Sources): ProviderKinds {
  const kinds = drivers.filter(({ kind }) => kind === 'provider').map(({ name }) => name);
  const kindOf = (instance: string, kind: Json): string => {
    const variable = environment[variableOf(`providers.${instance}.kind`)];
    return kinds.find((known) => known === variable) ?? (typeof kind === 'string' ? kind : JSON.stringify(kind));
  };
  const section = memberOf(file?.document.value, 'providers') ?? null;
  if (file === undefined || section === null)
    return new Map([...DEFAULT_PROVIDERS].map(([name, kind]) => [name, kindOf(name, kind)]));
  const instances = new Map<string, string>();
  for (const [name, given] of isObject(section) ? Object.entries(section) : []) {
    const line = file.document.lineOf(`/providers/${escapePointerToken(name)}`);
    const complain = (sentence: string) => faults.push({ line, message: `${file.file}:${line}: ${sentence}` });
    const kind = memberOf(given, 'kind');
    if (!/^[a-z][a-z0-9_-]{0,63}$/.test(name))
      complain(`providers.${name} must have a name of lower-case letters, digits, hyphens and underscores.`);
    else if (!isObject(given)) complain(`providers.${name} must hold keys with values.`);
    else if (kind === undefined) complain(`providers.${name} needs a kind, one of ${kinds.join(', ')}.`);
    else if (kinds.includes(kindOf(name, kind))) instances.set(name, kindOf(name, kind));
    else complain(`providers.${name}.kind must be one of ${kinds.join(', ')}, not ${kindOf(name, kind)}.`);
  }
  return instances;
}
