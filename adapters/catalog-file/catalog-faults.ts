import type { TopLevelDomains } from '../../core/catalog/injection.js';
import { exampleRefusal } from '../../core/generation/quote.js';
import { isObject, type Json, type JsonObject } from '../../core/json.js';
import type { JsonSchemas } from '../../core/ports/machine.js';
import type { SettingsPlace } from '../driver.js';
import { CATALOG_FILE_SCHEMA, type ModelEntry } from './catalog-schema.js';
import { type LineFault, type LocatedYaml, nameOf } from './located-yaml.js';
import { completed, defaultFrom, sourceIn, writtenAt } from './model-defaults.js';
import { modelFaults, modelOf } from './model-rules.js';
import { inputSchemaFaults, type PlaceFault, priceFaults, type SourceOf } from './price-rules.js';

/** The part of the JSON Schema adapter that reading a catalog needs. */
export interface SchemaTools {
  readonly jsonSchemas: JsonSchemas;
  /** The faults of a JSON Schema 2020-12 itself; pointers into it. */
  checkSchema(schema: Json): readonly PlaceFault[];
  /** The names that make a host of a text in the parameters of an example; none when absent. */
  readonly topLevelDomains?: TopLevelDomains;
  /** The connected providers, and the fault of the settings that a model gives one; not checked when absent. */
  readonly providers?: ProviderRules;
  /** Whether a model that needs another provider is left out, instead of being a fault. */
  readonly leavesOutOthers?: boolean;
}

/** The modality of a model, and the inputs that clients may send for it. */
export type ModelShape = Omit<SettingsPlace, 'catalogFolder' | 'options'>;

/**
 * The connected providers by name; each says what is wrong with the `provider_settings` of such a model, as a sentence, or
 * nothing.
 */
export type ProviderRules = ReadonlyMap<string, (settings: JsonObject, model: ModelShape) => string | undefined>;

/** Everything wrong with a catalog, by line; empty when it can be used. */
export function catalogFaults(yaml: LocatedYaml, tools: SchemaTools): LineFault[] {
  const faults: LineFault[] = [...yaml.faults];
  if (faults.length === 0) {
    const shape = tools.jsonSchemas.check(CATALOG_FILE_SCHEMA, yaml.value).faults;
    const misshapen = shape.map(({ pointer }) => pointer);
    const found: PlaceFault[] = [...shape, ...entryFaults(yaml, misshapen, tools)];
    for (const { pointer, message, lineAt = pointer } of found)
      faults.push({ line: yaml.lineOf(lineAt), message: asSentence(message) });
  }
  return faults.sort((a, b) => a.line - b.line);
}

function* entryFaults(yaml: LocatedYaml, misshapen: readonly string[], tools: SchemaTools): Generator<PlaceFault> {
  const models = isObject(yaml.value) && Array.isArray(yaml.value['models']) ? yaml.value['models'] : [];
  const firstWithKey = new Map<Json, number>();
  for (const [index, model] of models.entries()) {
    const base = `/models/${index}`;
    if (!isObject(model)) continue;
    const key = model['model_key'];
    const first = typeof key === 'string' ? firstWithKey.get(key) : undefined;
    if (first !== undefined) {
      const pointer = `${base}/model_key`;
      yield {
        pointer,
        message: `${nameOf(pointer)} must be unique; models[${first}] has the key ${JSON.stringify(key)} too`,
      };
    } else if (key !== undefined) firstWithKey.set(key, index);
    for (const fault of oneModelFaults(yaml, model, base, misshapen, tools)) {
      const pointer = writtenAt(fault.pointer, model);
      const { message, lineAt = pointer } = fault;
      yield {
        pointer: base + pointer,
        message: `${nameOf(base + pointer)} ${message}`,
        lineAt: base + lineAt,
      };
    }
  }
}

/** Rules that need a field to have its shape are left out where it has not; the others still speak. */
function* oneModelFaults(
  yaml: LocatedYaml,
  model: JsonObject,
  base: string,
  misshapen: readonly string[],
  tools: SchemaTools,
): Generator<PlaceFault> {
  const entry = completed(model);
  const isSound = (...names: (keyof ModelEntry)[]): boolean =>
    names.every((name) => {
      const at = `${base}/${name}`;
      const isMisshapen = misshapen.some((pointer) => pointer === at || pointer.startsWith(`${at}/`));
      return !isMisshapen && isSound(...defaultFrom(name, model));
    });
  const schemaFaults = isSound('input_schema') ? [...inputFaults(entry.input_schema, tools)] : [];
  yield* schemaFaults;
  yield* modelFaults(entry, isSound);
  if (
    tools.providers &&
    isSound('provider', 'provider_settings', 'route', 'modality', 'input_schema', 'limits', 'required_roles', 'prompt')
  )
    yield* providersFaults(entry, tools.providers, tools.leavesOutOthers);
  if (!isSound('price', 'limits', 'modality', 'input_schema') || schemaFaults.length > 0) return;
  const sourceOf = sourceIn(yaml, base, model);
  const faultsOfPrice = [...priceFaults(entry, sourceOf)];
  yield* faultsOfPrice;
  if (
    faultsOfPrice.length === 0 &&
    isSound('model_key', 'examples', 'operations', 'prompt', 'max_prompt_characters', 'route')
  )
    yield* exampleFaults(entry, sourceOf, tools);
}

/** Each example has to be a request that the service accepts, reference files apart. */
function* exampleFaults(entry: ModelEntry, sourceOf: SourceOf, tools: SchemaTools): Generator<PlaceFault> {
  const { jsonSchemas, topLevelDomains = NO_DOMAINS } = tools;
  const model = modelOf(entry, sourceOf);
  for (const [index, example] of (model.examples ?? []).entries()) {
    const refusal = exampleRefusal({ jsonSchemas, topLevelDomains }, model, example);
    if (refusal === undefined) continue;
    const { pointer = '', field = '' } = refusal.details;
    const rest = refusal.message.startsWith(`${field} `) ? refusal.message.slice(field.length + 1) : undefined;
    yield { pointer: `/examples/${index}${pointer}`, message: rest ?? `is not usable: ${refusal.message}` };
  }
}

const NO_DOMAINS: TopLevelDomains = { has: () => false };

function* providersFaults(entry: ModelEntry, providers: ProviderRules, leavesOutOthers = false): Generator<PlaceFault> {
  const { provider, provider_settings, route = [], modality, input_schema: schema, limits } = entry;
  const model: ModelShape = {
    modality,
    parameters: isObject(schema['properties']) ? Object.keys(schema['properties']) : [],
    takesNegativePrompt: limits.negative_prompt,
    referenceRoles: limits.reference_roles,
    maxReferenceUploads: limits.max_reference_uploads,
    requiredRoles: entry.required_roles,
    promptRule: entry.prompt,
  };
  const named = [
    ...(provider === undefined ? [] : [{ base: '', provider, provider_settings }]),
    ...route.map((one, index) => ({ base: `/route/${index}`, ...one })),
  ];
  for (const { base, provider: name, provider_settings: settings = {} } of named) {
    const settingsFault = providers.get(name);
    if (!settingsFault) {
      if (leavesOutOthers) continue;
      const known =
        providers.size === 0 ? 'and none is configured' : `one of ${[...providers.keys()].join(', ')}; ${name} is none`;
      yield { pointer: `${base}/provider`, message: `must be a connected provider, ${known}` };
      continue;
    }
    const fault = settingsFault(settings, model);
    if (fault === undefined) continue;
    const pointer = `${base}/provider_settings`;
    // Some providers begin their sentence with the place within the settings.
    const [, within = ''] = /^(\/[^\s:]+): /.exec(fault) ?? [];
    yield { pointer, message: `is not usable: ${fault}`, lineAt: pointer + within };
  }
}

function* inputFaults(schema: JsonObject, tools: SchemaTools): Generator<PlaceFault> {
  const broken = tools.checkSchema(schema);
  for (const [index, { pointer, message }] of broken.entries()) {
    if (broken.findIndex((other) => other.pointer === pointer) < index) continue;
    const name = pointer === '' ? 'the value' : nameOf(pointer);
    const rest = message.startsWith(`${name} `) ? message.slice(name.length + 1) : `is not usable: ${message}`;
    yield { pointer: `/input_schema${pointer}`, message: rest };
  }
  if (broken.length > 0) return;
  for (const { pointer, message } of inputSchemaFaults(schema, tools.jsonSchemas))
    yield { pointer: `/input_schema${pointer}`, message };
}

function asSentence(message: string): string {
  return /[.!?]$/.test(message) ? message : `${message}.`;
}
