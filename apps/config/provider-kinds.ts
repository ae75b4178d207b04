import type { LocatedYaml } from '../../adapters/catalog-file/located-yaml.js';
import type { Driver } from '../../adapters/driver.js';
import { escapePointerToken, type Json, type JsonObject } from '../../core/json.js';
import { DEFAULT_PROVIDERS } from '../wiring/built-in-drivers.js';
import { type ProviderKinds, variableOf } from './config-keys.js';
import type { ConfigFault } from './read-values.js';

const INSTANCE = /^[a-z][a-z0-9_-]{0,63}$/;

export interface ProviderSources {
  /** The file and its name, where there is one. */
  readonly yaml?: { readonly document: LocatedYaml; readonly file: string } | undefined;
  readonly environment: Readonly<Record<string, string | undefined>>;
  readonly drivers: readonly Driver[];
  readonly faults: ConfigFault[];
}

/**
 * The instances that the file names, each with its kind; a variable may give another kind. Instances with a fault are
 * left out.
 */
export function providerKinds({ yaml, environment, drivers, faults }: ProviderSources): ProviderKinds {
  const kinds: readonly string[] = drivers.filter(({ kind }) => kind === 'provider').map(({ name }) => name);
  const instances = new Map<string, string>();
  for (const [name, given] of yaml === undefined ? [] : Object.entries(sectionOf(yaml.document.value))) {
    const line = yaml?.document.lineOf(`/providers/${escapePointerToken(name)}`) ?? 1;
    const complain = (sentence: string) => faults.push({ line, message: `${yaml?.file}:${line}: ${sentence}` });
    if (!INSTANCE.test(name))
      complain(`providers.${name} must have a name of lower-case letters, digits, hyphens and underscores.`);
    else if (!isObject(given)) complain(`providers.${name} must hold keys with values.`);
    else if (given['kind'] === undefined) complain(`providers.${name} needs a kind, one of ${kinds.join(', ')}.`);
    else {
      const kind = kindOf(name, given['kind']);
      if (kinds.includes(kind)) instances.set(name, kind);
      else complain(`providers.${name}.kind must be one of ${kinds.join(', ')}, not ${kind}.`);
    }
  }
  if (yaml !== undefined && hasProviders(yaml.document.value)) return instances;
  return new Map([...DEFAULT_PROVIDERS].map(([name, kind]) => [name, kindOf(name, kind)]));

  function kindOf(name: string, kind: Json): string {
    const variable = environment[variableOf(`providers.${name}.kind`)];
    return kinds.find((known) => known === variable) ?? (typeof kind === 'string' ? kind : JSON.stringify(kind));
  }
}

function hasProviders(file: Json): boolean {
  return isObject(file) && file['providers'] !== undefined && file['providers'] !== null;
}

function sectionOf(file: Json): JsonObject {
  const section = isObject(file) ? file['providers'] : undefined;
  return section !== undefined && isObject(section) ? section : {};
}

function isObject(value: Json): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
