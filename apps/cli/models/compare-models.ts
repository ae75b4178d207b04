import { completed } from '../../../adapters/catalog-file/model-defaults.js';
import { VendorUnavailable } from '../../../adapters/model-import/fetch-model.js';
import { schemaDigest } from '../../../adapters/model-import/schema-digest.js';
import { isObject, type Json, type JsonObject, memberOf, pointerOf } from '../../../core/json.js';
import type { Config } from '../../config/config.js';
import { printable } from '../../logging/logged-fields.js';
import { Failure, sentenceOf } from '../exit.js';
import type { CliIo } from '../io.js';
import { configOf, type StoreOptions } from '../operator/with-operator.js';
import { counted, type Shown, table } from '../terminal.js';
import { indexOfModel, keyOf, modelsIn, readCatalog } from './catalog-text.js';
import { readRef } from './model-ref.js';
import { optionsOf, propose, type ProposedEntry, recordedOf } from './propose.js';

/** Models whose vendors are asked at the same time. */
const AT_ONCE = 8;

/** The vendor's description of a model, compared with the one on the day it was added. */
interface Upstream {
  readonly state: 'same' | 'changed' | 'new_version' | 'not_read';
  readonly fault?: string;
}

/** The models of the catalog with where they come from, and whether the vendor's description has changed. */
export async function listModels(io: CliIo, options: StoreOptions): Promise<Shown> {
  const config = await configOf(io, options);
  const { name, text } = readCatalog(config, io);
  if (text === undefined) throw new Failure(`There is no ${name}.`);
  const models = modelsIn(text);
  const unavailable = new Map<string, string>();
  const upstream = await concurrently(models, (model) => upstreamOf(io, model, { config, unavailable }));
  const rows = models.map((model, index) => {
    const { ref = '', date = '' } = originOf(model) ?? {};
    return [keyOf(model), providersOf(model).join(', '), ref, date, upstreamText(upstream[index])];
  });
  return {
    json: {
      file: name,
      models: models.map((model, index) => ({
        model_key: keyOf(model),
        providers: providersOf(model),
        ...(originOf(model) === undefined ? {} : { origin: originOf(model), upstream: upstream[index] }),
      })),
    },
    text: table(['model', 'provider', 'from', 'added', 'upstream'], rows),
  };
}

interface Origin {
  readonly ref: string;
  readonly date: string;
  readonly digest: string;
  readonly version?: string;
  readonly options?: JsonObject;
}

function originOf(model: JsonObject): Origin | undefined {
  const origin = model['origin'];
  return typeof memberOf(origin, 'ref') === 'string' ? (origin as unknown as Origin) : undefined;
}

function providersOf(model: JsonObject): readonly string[] {
  const route = Array.isArray(model['route']) ? model['route'] : [];
  return [model['provider'], ...route.map((one) => memberOf(one, 'provider'))].filter(
    (name): name is string => typeof name === 'string',
  );
}

/** The provider of a model whose kind the reference names. */
function instanceOf(model: JsonObject, kind: string, { providers }: Config): string {
  const names = providersOf(model);
  return names.find((name) => providers.get(name)?.driver.name === kind) ?? names[0] ?? kind;
}

/** `unavailable` has the sentence of each provider that no model can be read from now; it is not asked again. */
async function upstreamOf(
  io: CliIo,
  model: JsonObject,
  { config, unavailable }: { readonly config: Config; readonly unavailable: Map<string, string> },
): Promise<Upstream | undefined> {
  const origin = originOf(model);
  if (origin === undefined) return undefined;
  let instance = '';
  try {
    const ref = readRef(origin.ref);
    instance = instanceOf(model, ref.kind, config);
    const refused = unavailable.get(instance);
    if (refused !== undefined) return { state: 'not_read', fault: refused };
    if (ref.vendor === undefined) {
      const { digest } = await propose(io, {
        ref,
        options: optionsOf(origin.options),
        config,
        instance,
        today: origin.date,
      });
      return { state: digest === origin.digest ? 'same' : 'changed' };
    }
    const recorded = await recordedOf({ ref, config, instance }, ref.vendor, false);
    const version = memberOf(memberOf(recorded.document, 'latest_version'), 'id');
    if (origin.version !== undefined && version !== undefined && version !== origin.version)
      return { state: 'new_version' };
    return { state: schemaDigest(recorded) === origin.digest ? 'same' : 'changed' };
  } catch (error) {
    if (error instanceof VendorUnavailable) unavailable.set(instance, error.message);
    return { state: 'not_read', fault: sentenceOf(error) };
  }
}

function upstreamText(upstream: Upstream | undefined): string {
  if (upstream === undefined) return '';
  const { state, fault } = upstream;
  return fault === undefined ? state.replace('_', ' ') : `not read: ${printable(fault)}`;
}

async function concurrently<T, R>(items: readonly T[], work: (item: T) => Promise<R>): Promise<readonly R[]> {
  const results: R[] = [];
  const left = [...items.entries()];
  const worker = async () => {
    for (let next = left.shift(); next !== undefined; next = left.shift()) results[next[0]] = await work(next[1]);
  };
  await Promise.all(Array.from({ length: AT_ONCE }, worker));
  return results;
}

/** A value of an entry that is another one in what is proposed now; undefined where there is none. */
interface Difference {
  readonly at: string;
  readonly catalog: Json | undefined;
  readonly proposed: Json | undefined;
}

/** Members that the person who added the model decides, or that follow from the day. */
const OWN = ['origin', 'model_key', 'provider', 'route'] as const;

/**
 * Proposes a model again with the options that it was added with, and compares the entry of the catalog with that. Its
 * failure says that something differs.
 */
export async function diffModel(
  io: CliIo,
  key: string,
  { schema, ...options }: StoreOptions & { readonly schema?: string | undefined },
): Promise<Shown> {
  const config = await configOf(io, options);
  const catalog = readCatalog(config, io);
  const model = modelsIn(catalog.text)[indexOfModel(catalog, key)] ?? {};
  const origin = originOf(model);
  if (origin === undefined)
    throw new Failure(`${key} has no origin in ${catalog.name}: darkroom models add did not write it.`);
  const ref = readRef(origin.ref);
  const instance = instanceOf(model, ref.kind, config);
  const today = new Date().toISOString().slice(0, 10);
  const recorded = optionsOf(origin.options);
  // A recorded answer has no price, and a vendor states it only to a key: then the price of the entry is not compared.
  const { api_key: apiKey, api_key_file: keyFile } = config.providers.get(instance)?.options ?? {};
  const isTold = schema === undefined && (apiKey ?? keyFile) !== undefined;
  const own = isTold || recorded.price !== undefined ? undefined : creditsPerUnit(model);
  const given = own === undefined ? recorded : { ...recorded, price: own };
  const proposed = await propose(io, { ref, options: given, config, instance, schema, today });
  const proposedEntry = own === undefined ? proposed.entry : withPriceOf(model, proposed.entry, instance);
  const isSameSchema = proposed.digest === origin.digest;
  const differences = [...differencesOf(comparable(model, instance), comparable(proposedEntry, instance))];
  const schemaSentence = isSameSchema
    ? `The schema of ${ref.text} is the same as on ${origin.date}.`
    : `The schema of ${ref.text} has changed since ${origin.date}.`;
  const isSame = isSameSchema && differences.length === 0;
  return {
    json: {
      model_key: key,
      origin,
      digest: proposed.digest,
      schema_changed: !isSameSchema,
      differences: differences.map(({ at, catalog: now = null, proposed: next = null }) => ({
        at,
        catalog: now,
        proposed: next,
      })),
    },
    text: [
      schemaSentence,
      ...(differences.length === 0
        ? ['The entry of the catalog is as it is proposed now.']
        : ['', table(['value', 'in the catalog', 'proposed now'], differences.map(rowOf))]),
      ...(isSameSchema && versionIn(proposed.entry['origin']) === origin.version
        ? []
        : ['', `When the entry is as you want it, write ${originNow(proposed)} into its origin.`]),
    ].join('\n'),
    failure: isSame
      ? undefined
      : new Failure(
          `${key}: the schema ${isSameSchema ? 'is the same' : 'has changed'}, and ${counted(differences.length, 'value')} of the entry ${differences.length === 1 ? 'differs' : 'differ'}.`,
          undefined,
          'shown',
        ),
  };
}

function creditsPerUnit({ price }: JsonObject): string | undefined {
  const credits = memberOf(price, 'credits_per_unit') ?? price;
  return typeof credits === 'number' || typeof credits === 'string' ? String(credits) : undefined;
}

/** The proposed entry with the price of the model, and with what the operator pays. */
function withPriceOf(model: JsonObject, entry: JsonObject, instance: string): JsonObject {
  const cost = memberOf(settingsAt(model, instance), 'unit_cost');
  const settings = {
    ...(entry['provider_settings'] as JsonObject),
    ...(cost === undefined ? {} : { unit_cost: cost }),
  };
  return { ...entry, price: model['price'] ?? null, provider_settings: settings };
}

function settingsAt(model: JsonObject, instance: string): Json | undefined {
  const route = Array.isArray(model['route']) ? model['route'] : [];
  const own = route.find((one) => memberOf(one, 'provider') === instance);
  return memberOf(own, 'provider_settings') ?? model['provider_settings'];
}

/** The values that `origin` needs so that the vendor's description counts as accepted. */
function originNow({ digest, entry }: ProposedEntry): string {
  const version = versionIn(entry['origin']);
  return `digest: ${digest}${version === undefined ? '' : ` and version: ${version}`}`;
}

function versionIn(origin: Json | undefined): string | undefined {
  const version = memberOf(origin, 'version');
  return typeof version === 'string' ? version : undefined;
}

/** A model with its defaults and with the settings of one provider, without what its owner decides. */
function comparable(model: JsonObject, instance: string): JsonObject {
  const own: readonly string[] = OWN;
  const settings = settingsAt(model, instance);
  const entry = completed({ ...model, ...(settings === undefined ? {} : { provider_settings: settings }) });
  const { price, ...others } = entry as unknown as JsonObject;
  // Follows from the other terms where nobody names it.
  const { version: _, ...terms } = price as JsonObject;
  return Object.fromEntries(Object.entries({ ...others, price: terms }).filter(([name]) => !own.includes(name)));
}

function* differencesOf(
  catalog: Json | undefined,
  proposed: Json | undefined,
  at: readonly string[] = [],
): Generator<Difference> {
  if (isObject(catalog) && isObject(proposed)) {
    for (const name of new Set([...Object.keys(catalog), ...Object.keys(proposed)]))
      yield* differencesOf(memberOf(catalog, name), memberOf(proposed, name), [...at, name]);
  } else if (JSON.stringify(catalog) !== JSON.stringify(proposed)) yield { at: pointerOf(at), catalog, proposed };
}

const MAX_SHOWN = 60;

function rowOf({ at, catalog, proposed }: Difference): readonly string[] {
  return [at, ...[catalog, proposed].map((value) => shortened(value))];
}

function shortened(value: Json | undefined): string {
  if (value === undefined) return '(none)';
  const text = typeof value === 'string' ? value : JSON.stringify(value);
  return text.length > MAX_SHOWN ? `${text.slice(0, MAX_SHOWN - 1)}…` : text;
}
