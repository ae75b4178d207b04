import { defaultConcurrencyPerAccount } from '../../core/catalog/model.js';
import { MAX_PROMPT_LENGTH, type Modality } from '../../core/generation/generation.js';
import type { Json, JsonObject } from '../../core/json.js';
import { UPLOAD_MEDIA_TYPES } from '../../core/uploads/prepare-upload.js';
import { MAX_OUTPUTS, type ModelEntry } from './catalog-schema.js';
import type { LocatedYaml } from './located-yaml.js';
import { integerRange, isObject, propertyOf } from './price-rules.js';

const MAX_UPLOAD_BYTES = 10_485_760;
const CONCURRENCY = 4;

/** The defaults that differ between pictures and videos. */
const BY_MODALITY: Readonly<Record<Modality, Pick<ModelEntry, 'run_timeout_seconds' | 'poll_interval_ms'>>> = {
  image: { run_timeout_seconds: 600, poll_interval_ms: 1_000 },
  video: { run_timeout_seconds: 3_600, poll_interval_ms: 3_000 },
};

/** The units that only a video has, so that they say the modality. */
const VIDEO_UNITS: readonly (Json | undefined)[] = ['video', 'second'];

/** The keys whose default follows from others, and those others: a default is wrong where they are. */
export const DEFAULTS_FROM: { readonly [K in keyof ModelEntry]?: readonly (keyof ModelEntry)[] } = {
  display_name: ['model_key'],
  modality: ['price'],
  operations: ['modality'],
  limits: ['price', 'input_schema'],
  run_timeout_seconds: ['modality'],
  poll_interval_ms: ['modality'],
  concurrency_per_account: ['concurrency'],
};

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
export function sourceIn(
  yaml: LocatedYaml,
  base: string,
  written: JsonObject,
): (pointer: string) => string | undefined {
  const isBare = !isObject(written['price']);
  return (pointer) => yaml.sourceOf(base + (isBare && pointer === '/price/credits_per_unit' ? '/price' : pointer));
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
