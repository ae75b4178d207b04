import { defaultConcurrencyPerAccount } from '../../core/catalog/model.js';
import { MAX_PROMPT_LENGTH, type Modality } from '../../core/generation/generation.js';
import type { PriceTerms } from '../../core/catalog/price.js';
import { escapePointerToken, isObject, type Json, type JsonObject } from '../../core/json.js';
import { UPLOAD_MEDIA_TYPES } from '../../core/uploads/prepare-upload.js';
import { MAX_OUTPUTS, MODEL_SCHEMA, type ModelEntry } from './catalog-schema.js';
import type { LocatedYaml } from './located-yaml.js';
import { integerRange, propertyOf, scaledDecimal, type SourceOf } from './price-rules.js';

const MAX_UPLOAD_BYTES = 10_485_760;
const CONCURRENCY = 4;

/** The defaults that differ between pictures and videos. */
const BY_MODALITY: Readonly<Record<Modality, Pick<ModelEntry, 'run_timeout_seconds' | 'poll_interval_ms'>>> = {
  image: { run_timeout_seconds: 600, poll_interval_ms: 1_000 },
  video: { run_timeout_seconds: 3_600, poll_interval_ms: 3_000 },
};

/** The units that only a video has, so that they say the modality. */
const VIDEO_UNITS: readonly (Json | undefined)[] = ['video', 'second'];

const DEFAULTS_FROM: { readonly [K in keyof ModelEntry]?: readonly (keyof ModelEntry)[] } = {
  display_name: ['model_key'],
  modality: ['price'],
  operations: ['modality'],
  limits: ['price', 'input_schema'],
  run_timeout_seconds: ['modality'],
  poll_interval_ms: ['modality'],
  concurrency_per_account: ['concurrency'],
};

/** The keys that the default of a key follows from, where the model has that default: it is wrong where they are. */
export function defaultFrom(key: keyof ModelEntry, written: JsonObject): readonly (keyof ModelEntry)[] {
  const { limits } = written;
  const isWritten = key === 'limits' ? isObject(limits) && 'max_outputs' in limits : key in written;
  return isWritten ? [] : (DEFAULTS_FROM[key] ?? []);
}

/**
 * A model of the file with each default that docs/catalog.md lists. Completing it again changes nothing. A value that
 * has another shape than the schema asks for stays as it is, and what depends on it is of no use.
 */
export function completed(written: JsonObject): ModelEntry {
  const price = priceIn(written);
  const modality = written['modality'] ?? (VIDEO_UNITS.includes(price['unit']) ? 'video' : 'image');
  const schema = written['input_schema'] ?? { properties: {} };
  const concurrency = written['concurrency'] ?? CONCURRENCY;
  const inputSchema = isObject(schema) ? { type: 'object', additionalProperties: false, ...schema } : {};
  const known = modality === 'video' ? 'video' : 'image';
  const entry = {
    display_name: written['model_key'],
    operations: [`${known}_generation`],
    prompt: 'required',
    max_prompt_characters: MAX_PROMPT_LENGTH,
    required_roles: [],
    queue_timeout_seconds: 3_600,
    ...BY_MODALITY[known],
    max_attempts: 2,
    concurrency_per_account: typeof concurrency === 'number' ? defaultConcurrencyPerAccount(concurrency) : concurrency,
    cancel_floor_credits: 0,
    on_unknown_acceptance: 'fail',
    on_other_size: 'deliver',
    ...written,
    modality,
    input_schema: inputSchema,
    concurrency,
    limits: limitsOf(written, price, inputSchema),
    price: { unit: modality, minimum_credits: 0, ...price },
  };
  return entry as unknown as ModelEntry;
}

/** The text of a value of a completed model, by its pointer within the model. */
export function sourceIn(yaml: LocatedYaml, base: string, written: JsonObject): SourceOf {
  return (pointer) => yaml.sourceOf(base + writtenAt(pointer, written));
}

/** The pointer in the written model to a value of its completed form. */
export function writtenAt(pointer: string, { price }: JsonObject): string {
  return pointer === '/price/credits_per_unit' && !isObject(price) ? '/price' : pointer;
}

/**
 * A completed model as a file can have it, with its keys in the order of the schema. It means the same: decimals are as
 * they were written where a number would round them, and what has no default stays out.
 */
export function explained(entry: ModelEntry, { version }: PriceTerms, sourceOf: SourceOf): JsonObject {
  const { price, ...rest } = entry as unknown as JsonObject;
  const exact = exactDecimals({ ...(price as JsonObject), version }, '/price', sourceOf);
  return inOrder({ ...rest, price: exact }, MODEL_SCHEMA) as JsonObject;
}

const DECIMAL_PLACES = 6;

function exactDecimals(value: Json, pointer: string, sourceOf: SourceOf): Json {
  if (Array.isArray(value)) return value.map((item, index) => exactDecimals(item, `${pointer}/${index}`, sourceOf));
  if (isObject(value))
    return mapped(value, (member, name) => exactDecimals(member, `${pointer}/${escapePointerToken(name)}`, sourceOf));
  if (typeof value !== 'number') return value;
  const source = sourceOf(pointer);
  const exact = source === undefined ? undefined : scaledDecimal(source, DECIMAL_PLACES);
  return exact === undefined || exact === scaledDecimal(String(value), DECIMAL_PLACES) ? value : (source ?? value);
}

interface Ordered {
  readonly type?: unknown;
  readonly properties?: Readonly<Record<string, Ordered>>;
}

/** The members that a schema names first, in its order, at every depth that it describes. */
function inOrder(value: Json, { properties }: Ordered): Json {
  if (!isObject(value) || properties === undefined) return value;
  const known = Object.keys(properties).filter((name) => Object.hasOwn(value, name));
  return Object.fromEntries(known.map((name) => [name, inOrder(value[name] as Json, properties[name] ?? {})]));
}

function mapped(value: JsonObject, change: (member: Json, name: string) => Json): JsonObject {
  return Object.fromEntries(Object.entries(value).map(([name, member]) => [name, change(member, name)]));
}

function priceIn({ price }: JsonObject): JsonObject {
  return isObject(price) ? price : { credits_per_unit: price ?? null };
}

function limitsOf(written: JsonObject, price: JsonObject, inputSchema: JsonObject): JsonObject {
  const limits = isObject(written['limits']) ? written['limits'] : {};
  const roles = limits['reference_roles'] ?? [];
  const most = limits['max_reference_uploads'] ?? (Array.isArray(roles) ? roles.length : 0);
  return {
    max_reference_uploads: most,
    reference_roles: roles,
    upload_media_types: most === 0 ? [] : [...UPLOAD_MEDIA_TYPES],
    max_upload_bytes: MAX_UPLOAD_BYTES,
    max_outputs: outputsOf(price['count_parameter'], inputSchema),
    negative_prompt: false,
    ...limits,
  };
}

/** The most outputs that the count parameter can ask for. Without a usable one, a fault says so. */
function outputsOf(name: Json | undefined, inputSchema: JsonObject): number {
  if (typeof name !== 'string') return 1;
  const { maximum } = integerRange(propertyOf({ input_schema: inputSchema }, name)) ?? { maximum: MAX_OUTPUTS };
  return Math.min(MAX_OUTPUTS, Math.max(1, maximum));
}
