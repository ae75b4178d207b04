import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { basename, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { LocatedYaml } from '../../../adapters/catalog-file/located-yaml.js';
import type { ProviderDriver } from '../../../adapters/driver.js';
import { assert } from '../../../core/assert.js';
import type { Json, JsonObject } from '../../../core/json.js';
import { printable } from '../../logging/printable.js';
import { BUILT_IN_DRIVERS } from '../../wiring/built-in-drivers.js';
import { Failure, usageFailure } from '../exit.js';

const FOLDER = fileURLToPath(new URL('../../../../config/providers', import.meta.url));
const CATALOG = '.catalog.yaml';
/** Options that say where a provider is. */
const ADDRESS_OPTIONS = ['base_url', 'servers'] as const;

export interface ExampleModel {
  readonly model_key: string;
  readonly description?: string;
  readonly modality: string;
  readonly limits: { readonly max_reference_uploads: number };
  /** The name of an instance. */
  readonly provider: string;
  readonly provider_settings?: JsonObject;
}

export interface ExampleInstance {
  readonly name: string;
  readonly driver: ProviderDriver;
  /** The option that says where it is, of those that its kind has. */
  readonly addressOption: (typeof ADDRESS_OPTIONS)[number];
  /** Undefined for a service elsewhere, whose address is known and which asks for a key. */
  readonly address: string | undefined;
}

/** The example of one provider in config/providers, as it is written. */
export interface ProviderExample {
  readonly name: string;
  readonly config: string;
  readonly catalog: string;
  readonly instances: readonly ExampleInstance[];
  readonly models: readonly ExampleModel[];
}

/** Throws one sentence with the names that there are. */
export function providerExample(name: string): ProviderExample {
  const names = exampleNames();
  if (!names.includes(name)) {
    throw usageFailure(`There is no example of a provider ${printable(name)}; there are ${names.join(', ')}.`);
  }
  const config = readFileSync(join(FOLDER, `${name}.yaml`), 'utf8');
  const catalog = readFileSync(join(FOLDER, `${name}${CATALOG}`), 'utf8');
  const { providers } = valueOf(config) as { providers: Record<string, JsonObject> };
  const instances = Object.entries(providers).map(([instance, section]) => instanceOf(instance, section));
  return { name, config, catalog, instances, models: modelsOf(catalog) };
}

/** The models of a catalog that can be used. */
export function modelsOf(catalog: string): readonly ExampleModel[] {
  return (valueOf(catalog) as unknown as { models: readonly ExampleModel[] }).models;
}

/** The files beside the examples that the settings of a model name, by their paths. */
export function filesOfModel({ provider_settings: settings }: ExampleModel): ReadonlyMap<string, string> {
  const paths = textsIn(settings ?? {}).filter((text) => {
    const path = join(FOLDER, text);
    return path.startsWith(FOLDER) && text.includes('/') && existsSync(path) && statSync(path).isFile();
  });
  return new Map(paths.map((path) => [path, readFileSync(join(FOLDER, path), 'utf8')]));
}

function exampleNames(): readonly string[] {
  if (!existsSync(FOLDER)) throw new Failure('This installation has no examples of providers.');
  return readdirSync(FOLDER)
    .filter((file) => file.endsWith(CATALOG))
    .map((file) => basename(file, CATALOG))
    .toSorted();
}

function instanceOf(name: string, section: JsonObject): ExampleInstance {
  const driver = BUILT_IN_DRIVERS.find(
    (known): known is ProviderDriver => known.kind === 'provider' && known.name === section['kind'],
  );
  assert(driver !== undefined, 'an example has a built-in kind');
  const options = driver.options['properties'] as JsonObject;
  const addressOption = ADDRESS_OPTIONS.find((option) => options[option] !== undefined);
  assert(addressOption !== undefined, 'an example is of a kind with an address');
  const address = section[addressOption];
  return { name, driver, addressOption, address: address === undefined ? undefined : textsIn(address).join(',') };
}

function valueOf(text: string): Json {
  return new LocatedYaml(text).value;
}

function textsIn(value: Json): readonly string[] {
  if (typeof value === 'string') return [value];
  return typeof value === 'object' && value !== null ? Object.values(value).flatMap((item) => textsIn(item)) : [];
}
