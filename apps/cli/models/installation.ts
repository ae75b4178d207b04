import { relative, resolve } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import { LocatedYaml } from '../../../adapters/catalog-file/located-yaml.js';
import { type Json, type JsonObject, memberOf } from '../../../core/json.js';
import type { Config } from '../../config/config.js';
import { variableOf } from '../../config/keys.js';
import { CONFIG_FILE, configFileOf, loadConfig, readConfigFile } from '../../config/load-config.js';
import { DEFAULT_PROVIDERS } from '../../wiring/built-in-drivers.js';
import type { ChangedFile } from '../changed-files.js';
import { Failure, usageFailure } from '../exit.js';
import type { CliIo } from '../io.js';
import { withEntry, yamlLines } from '../yaml-edits.js';
import { isServedAt, type ModelRef, sectionFor } from './model-ref.js';

const CATALOG_FILE = 'catalog.yaml';

/** The configuration as it is and as it has to be for a model of a provider, before anything is written. */
export interface Installation {
  readonly configFile: ChangedFile;
  /** With the text that the file is going to have. */
  readonly config: Config;
  /** The name of the provider. */
  readonly instance: string;
  /** Whether the configuration gets a section for it. */
  readonly isNewInstance: boolean;
  /** Whether the catalog that comes with the program was in use, and no longer is. */
  readonly leavesShippedCatalog: boolean;
}

export interface InstallationNeeds {
  /** The configuration file of the command line. */
  readonly file?: string | undefined;
  readonly ref: ModelRef;
  /** The name of the provider; undefined to take the one there is. */
  readonly provider?: string | undefined;
}

/**
 * Finds the provider for a model, or adds its section, and names a catalog where none is named. Throws `ConfigInvalid`, and
 * one sentence where the provider is not clear.
 */
export async function prepareInstallation(
  io: Pick<CliIo, 'environment' | 'folder'>,
  { file, ref, provider }: InstallationNeeds,
): Promise<Installation> {
  const { environment, folder } = io;
  const named = configFileOf({ file, environment, folder });
  const name = named ?? CONFIG_FILE;
  const before = named === undefined ? undefined : readConfigFile(named, folder);
  const yaml = new LocatedYaml(before ?? '');
  // Its present faults are reported by their lines.
  if (yaml.faults.length > 0 || !isSection(yaml.value) || !isSection(memberOf(yaml.value, 'providers') ?? null))
    await loadConfig({ file: named, environment, folder });
  const sections = sectionsOf(yaml.value, environment);
  const instance = chooseInstance(sections, ref, provider);
  const isNewInstance = !sections.has(instance);
  const hasCatalog = memberOf(yaml.value, 'catalog') !== undefined || (environment[variableOf('catalog')] ?? '') !== '';
  let after = before ?? '';
  let expected = (yaml.value ?? {}) as JsonObject;
  if (!hasCatalog) {
    expected = { ...expected, catalog: CATALOG_FILE };
    after = withEntry(after, [], { name: 'catalog', value: CATALOG_FILE, lines: [`catalog: ${CATALOG_FILE}`] });
  }
  if (isNewInstance) {
    // Without any section there are the default ones, which the models of an own catalog may use.
    const defaults = sections.size === 0 && hasCatalog ? [...DEFAULT_PROVIDERS] : [];
    const kept = Object.fromEntries(defaults.map(([section, kind]) => [section, { kind }]));
    const added = { ...kept, [instance]: sectionFor(ref) };
    expected = { ...expected, providers: { ...(expected['providers'] as JsonObject | null | undefined), ...added } };
    after = withProviders(after, yaml.value, added);
  }
  // An edit never changes another value.
  if (!isDeepStrictEqual(new LocatedYaml(after).value ?? {}, expected))
    throw new Failure(`${name} is not written in a way that this command can change; edit it by hand.`);
  const config = await loadConfig({ file: named, text: after, environment, folder });
  return {
    configFile: { path: resolve(folder, name), name, before, after },
    config,
    instance,
    isNewInstance,
    leavesShippedCatalog: before !== undefined && !hasCatalog,
  };
}

function isSection(value: Json): boolean {
  return typeof value === 'object' && !Array.isArray(value);
}

/** How sentences name a file: from the folder of the command, where it is below it. */
export function nameOfFile(path: string, folder: string): string {
  const name = relative(folder, path);
  return name.startsWith('..') ? path : name;
}

/** Providers of the file by name, with their kinds. */
function sectionsOf(value: Json, environment: CliIo['environment']): ReadonlyMap<string, Section> {
  const sections = memberOf(value, 'providers');
  if (typeof sections !== 'object' || sections === null) return new Map();
  return new Map(
    Object.entries(sections).map(([name, section]: [string, Json]) => {
      const given = (option: string) =>
        environment[variableOf(`providers.${name}.${option}`)] || memberOf(section, option);
      return [name, { kind: given('kind'), address: given('base_url') }];
    }),
  );
}

interface Section {
  readonly kind: Json | undefined;
  readonly address: Json | undefined;
}

function chooseInstance(sections: ReadonlyMap<string, Section>, ref: ModelRef, provider: string | undefined): string {
  const { kind } = ref;
  if (provider !== undefined) {
    const section = sections.get(provider);
    if (section !== undefined && !serves(section, ref))
      throw usageFailure(`The provider ${provider} of the configuration is not for ${ref.text}; name another one.`);
    return provider;
  }
  const fitting = [...sections].filter(([, section]) => serves(section, ref)).map(([name]) => name);
  const [only, ...others] = fitting;
  if (others.length > 0)
    throw usageFailure(
      `${fitting.join(' and ')} are providers of kind ${kind}; --provider says which of them is meant.`,
    );
  if (only !== undefined) return only;
  if (!sections.has(kind)) return kind;
  throw usageFailure(
    `The configuration has a provider ${kind} already, which is not for ${ref.text}; --provider gives the new one a name.`,
  );
}

function serves({ kind, address }: Section, ref: ModelRef): boolean {
  return kind === ref.kind && isServedAt(ref, address);
}

function withProviders(text: string, value: Json, added: JsonObject): string {
  if (memberOf(value, 'providers') === undefined)
    return withEntry(text, [], { name: 'providers', value: added, lines: yamlLines({ providers: added }, false) });
  return Object.entries(added).reduce(
    (changed, [name, section]) =>
      withEntry(changed, ['providers'], { name, value: section, lines: yamlLines({ [name]: section }, false) }),
    text,
  );
}
