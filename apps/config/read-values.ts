import { type LocatedYaml, nameOf } from '../../adapters/catalog-file/located-yaml.js';
import type { Json, JsonObject } from '../../core/json.js';
import { type ConfigKey, valueOfText } from './config-key.js';
import { variableOf } from './config-keys.js';

/** One sentence on what is wrong, and the line of the file it is about; none for a variable. */
export interface ConfigFault {
  readonly line?: number;
  readonly message: string;
}

/** A configured value of a key, and how to report a fault of it. */
export interface Given {
  readonly value: Json;
  /** The file and line, or nothing for a variable. */
  readonly where: string;
  readonly line?: number;
  /** What the person wrote it as: the key's path, or the variable. */
  readonly name: string;
}

/** Variables that belong to commands and tests rather than to the configuration. */
const OTHER_VARIABLES = new Set([
  'DARKROOM_CONFIG',
  'DARKROOM_API_KEY',
  'DARKROOM_URL',
  'DARKROOM_SERVICE_TOKEN',
  'DARKROOM_PROFILE',
  'DARKROOM_DEBUG',
]);
const TEST_VARIABLES = 'DARKROOM_TEST_';
const OF_PROVIDERS = 'DARKROOM_PROVIDERS_';

/** Keys that have another name since a release before. */
const MOVED: Readonly<Record<string, string>> = { 'sandbox.threads': 'providers.sandbox.threads' };
const MOVED_SECTIONS: ReadonlySet<string> = new Set(Object.keys(MOVED).flatMap(sectionsOf));

/** All keys there are, and what takes the faults. */
interface Readable {
  readonly keys: ReadonlyMap<string, ConfigKey<unknown>>;
  readonly faults: ConfigFault[];
}

/** What the file says, by the path of the key; `faults` takes what is wrong with it. */
export function valuesOfFile(
  yaml: LocatedYaml,
  { file, keys, faults }: Readable & { readonly file: string },
): Map<string, Given> {
  for (const { line, message } of yaml.faults) faults.push({ line, message: `${file}:${line}: ${message}` });
  const given = new Map<string, Given>();
  const sections = new Set(['providers', ...[...keys.keys()].flatMap(sectionsOf)]);
  const visit = (value: Json, path: string, isUnknown = false): void => {
    const pointer = path === '' ? '' : `/${path.replaceAll('.', '/')}`;
    const line = yaml.lineOf(pointer);
    const where = `${file}:${line}: `;
    const complain = (sentence: string) => faults.push({ line, message: `${where}${sentence}` });
    if (isUnknown)
      complain(`${path} is not a key of the configuration; write sections and their keys on lines of their own.`);
    else if (keys.has(path)) given.set(path, { value, where, line, name: path });
    else if (Object.hasOwn(MOVED, path)) complain(`${path} is now ${MOVED[path]}.`);
    else if (MOVED_SECTIONS.has(path) && typeof value === 'object' && !Array.isArray(value)) visitAll(value, path);
    // What is wrong with an instance of a provider was said when its kind was looked for.
    else if (/^providers\.[^.]+$/.test(path) && !sections.has(path)) return;
    else if (path !== '' && !sections.has(path)) complain(`${path} is not a key of the configuration.`);
    else if (typeof value === 'object' && !Array.isArray(value)) {
      visitAll(value, path);
    } else complain(`${nameOf(pointer)} must hold keys with values.`);
  };
  // A name with a dot in it is not a path: it is kept as it is, and unknown.
  const visitAll = (value: JsonObject | null, path: string): void => {
    for (const [name, item] of Object.entries(value ?? {}))
      visit(item, path === '' ? name : `${path}.${name}`, name.includes('.'));
  };
  visit(yaml.value, '');
  return given;
}

/** `rest.rate_limits.…` is in `rest` and in `rest.rate_limits`. */
function sectionsOf(path: string): string[] {
  return path
    .split('.')
    .slice(0, -1)
    .map((_, index, names) => names.slice(0, index + 1).join('.'));
}

/** What the environment says. A variable that is empty counts as not set. */
export function valuesOfEnvironment(
  environment: Readonly<Record<string, string | undefined>>,
  { keys, faults }: Readable,
): Map<string, Given> {
  const moved = new Map(Object.entries(MOVED).map(([path, now]) => [variableOf(path), variableOf(now)]));
  const pathByVariable = new Map<string, string>();
  const sharing = new Map<string, string>();
  for (const path of keys.keys()) {
    const other = pathByVariable.get(variableOf(path));
    if (other !== undefined) sharing.set(variableOf(path), `${other} and ${path}`);
    pathByVariable.set(variableOf(path), path);
  }
  const given = new Map<string, Given>();
  for (const [name, text] of Object.entries(environment)) {
    if (!name.startsWith('DARKROOM_') || text === undefined || text === '') continue;
    const path = pathByVariable.get(name);
    const key = path === undefined ? undefined : keys.get(path);
    if (sharing.has(name))
      faults.push({ message: `${name} is the variable of both ${sharing.get(name)}; give one of them another name.` });
    else if (path !== undefined && key) given.set(path, { value: valueOfText(key, text), where: '', name });
    else if (moved.has(name)) faults.push({ message: `${name} is now ${moved.get(name)}.` });
    else if (!OTHER_VARIABLES.has(name) && !name.startsWith(TEST_VARIABLES))
      faults.push({ message: unknownVariable(name, keys) });
  }
  return given;
}

/** A key that another folder's configuration needs is often still set: the sentence says why it is one too many here. */
function unknownVariable(name: string, keys: Readable['keys']): string {
  const instances = [...keys.keys()].flatMap((path) => /^providers\.([^.]+)\.kind$/.exec(path)?.[1] ?? []);
  const isOfProvider = name.startsWith(OF_PROVIDERS);
  if (!isOfProvider || instances.some((instance) => name.startsWith(`${variableOf(`providers.${instance}`)}_`)))
    return `${name} is not a variable that darkroom knows.`;
  return `${name} is of no provider that the configuration has (${instances.join(', ')}); unset it, or add the provider.`;
}
