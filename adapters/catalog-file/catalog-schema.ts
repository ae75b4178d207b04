import { FAULT_POLICIES, MAX_EXAMPLES, OTHER_SIZE_POLICIES, PROMPT_RULES } from '../../core/catalog/model.js';
import { PRICE_UNITS, type PriceUnit } from '../../core/catalog/price.js';
import { MAX_PROMPT_LENGTH, MODALITIES, OPERATIONS, REFERENCE_ROLES } from '../../core/generation/generation.js';
import { MAX_REFERENCE_UPLOADS } from '../../core/generation/quote.js';
import type { JsonObject } from '../../core/json.js';
import { MAX_SYSTEM_CHARACTERS } from '../../core/media/ai-mark.js';
import { UPLOAD_MEDIA_TYPES } from '../../core/uploads/prepare-upload.js';

const NAME = { type: 'string', minLength: 1, maxLength: 128 } as const;
const CREDITS = { type: 'integer', minimum: 0, maximum: Number.MAX_SAFE_INTEGER } as const;
/** Read from its source text, so that both 0.1 and "0.1" are exact. */
const DECIMAL = { type: ['number', 'string'] } as const;

const ROLES = { type: 'array', uniqueItems: true, items: { type: 'string', enum: [...REFERENCE_ROLES] } } as const;
/** One entry for each file that a request needs at least. */
const REQUIRED_ROLES = {
  type: 'array',
  maxItems: MAX_REFERENCE_UPLOADS,
  items: { type: 'string', enum: [...REFERENCE_ROLES] },
} as const;

/** The most outputs that a model may offer for one generation. */
export const MAX_OUTPUTS = 100;

const LIMITS = {
  type: 'object',
  additionalProperties: false,
  properties: {
    max_reference_uploads: { type: 'integer', minimum: 0, maximum: MAX_REFERENCE_UPLOADS },
    reference_roles: ROLES,
    upload_media_types: { type: 'array', uniqueItems: true, items: { type: 'string', enum: [...UPLOAD_MEDIA_TYPES] } },
    max_upload_bytes: { type: 'integer', minimum: 1, maximum: Number.MAX_SAFE_INTEGER },
    max_outputs: { type: 'integer', minimum: 1, maximum: MAX_OUTPUTS },
    negative_prompt: { type: 'boolean' },
  },
} as const;

const SIZE_TABLE = {
  type: 'object',
  additionalProperties: false,
  required: ['parameters', 'sizes'],
  properties: {
    parameters: { type: 'array', minItems: 1, maxItems: 2, uniqueItems: true, items: NAME },
    /** A size by the value of the parameter, or of the first one and then of the second one; checked with the schema. */
    sizes: { type: 'object' },
  },
} as const;

/** A price may also be written as its `credits_per_unit` alone. */
const PRICE = {
  type: ['object', 'number', 'string'],
  additionalProperties: false,
  required: ['credits_per_unit'],
  properties: {
    version: NAME,
    unit: { type: 'string', enum: Object.keys(PRICE_UNITS) as PriceUnit[] },
    credits_per_unit: DECIMAL,
    first_unit_credits: DECIMAL,
    input_credits_per_megapixel: DECIMAL,
    base_credits: DECIMAL,
    round_up: { type: 'boolean' },
    pixels_per_megapixel: { type: 'integer', minimum: 1_000_000, maximum: 1_048_576 },
    frames_per_second: DECIMAL,
    count_parameter: NAME,
    size_parameter: NAME,
    size_table: SIZE_TABLE,
    duration_parameter: NAME,
    multipliers: {
      type: 'array',
      maxItems: 16,
      items: {
        type: 'object',
        additionalProperties: false,
        required: ['parameter', 'values'],
        properties: { parameter: NAME, values: { type: 'object', minProperties: 1, additionalProperties: DECIMAL } },
      },
    },
    minimum_credits: CREDITS,
    maximum_credits: CREDITS,
  },
} as const;

/** One provider of several. */
const ROUTE_ENTRY = {
  type: 'object',
  additionalProperties: false,
  required: ['provider'],
  properties: {
    provider: NAME,
    provider_settings: { type: 'object' },
    weight: { type: 'integer', minimum: 0, maximum: 1_000 },
  },
} as const;

const SYSTEM_NAME = { type: 'string', minLength: 1, maxLength: MAX_SYSTEM_CHARACTERS } as const;

const MARK_SOURCES = ['by_references', 'trained', 'composite', 'algorithmic', 'none'] as const;

const AI_MARK = {
  type: 'object',
  additionalProperties: false,
  minProperties: 1,
  properties: {
    source: { type: 'string', enum: [...MARK_SOURCES] },
    system: SYSTEM_NAME,
    system_version: SYSTEM_NAME,
  },
} as const;

/** Checked as a request of the model once its shape is right. */
const EXAMPLE = {
  type: 'object',
  additionalProperties: false,
  properties: {
    title: { type: 'string', minLength: 1, maxLength: 200 },
    prompt: { type: 'string', minLength: 1, maxLength: MAX_PROMPT_LENGTH },
    parameters: { type: 'object' },
  },
} as const;

/** The origin of a model, recorded by the command that wrote the entry. Clients never see it. */
const ORIGIN = {
  type: 'object',
  additionalProperties: false,
  required: ['ref', 'date', 'digest'],
  properties: {
    ref: { type: 'string', minLength: 1, maxLength: 500 },
    date: { type: 'string', pattern: '^[0-9]{4}-[0-9]{2}-[0-9]{2}$' },
    digest: { type: 'string', pattern: '^sha256:[0-9a-f]{64}$' },
    version: { type: 'string', minLength: 1, maxLength: 200 },
    options: { type: 'object' },
  },
} as const;

export const MODEL_SCHEMA = {
  type: 'object',
  additionalProperties: false,
  required: ['model_key', 'price'],
  properties: {
    model_key: { type: 'string', pattern: '^[a-z0-9._-]{1,128}$' },
    display_name: { type: 'string', minLength: 1, maxLength: 200 },
    modality: { type: 'string', enum: [...MODALITIES] },
    operations: {
      type: 'array',
      minItems: 1,
      uniqueItems: true,
      items: { type: 'string', enum: [...OPERATIONS] },
    },
    description: { type: 'string', minLength: 1, maxLength: 2_000 },
    input_schema: { type: 'object' },
    examples: { type: 'array', maxItems: MAX_EXAMPLES, items: EXAMPLE },
    test: { type: 'boolean' },
    prompt: { type: 'string', enum: [...PROMPT_RULES] },
    max_prompt_characters: { type: 'integer', minimum: 1, maximum: MAX_PROMPT_LENGTH },
    limits: LIMITS,
    required_roles: REQUIRED_ROLES,
    price: PRICE,
    provider: NAME,
    provider_settings: { type: 'object' },
    route: { type: 'array', minItems: 1, maxItems: 16, items: ROUTE_ENTRY },
    queue_timeout_seconds: { type: 'integer', minimum: 1 },
    run_timeout_seconds: { type: 'integer', minimum: 1 },
    max_attempts: { type: 'integer', minimum: 1, maximum: 10 },
    concurrency: { type: 'integer', minimum: 1, maximum: 1_000 },
    concurrency_per_account: { type: 'integer', minimum: 1 },
    cancel_floor_credits: CREDITS,
    on_unknown_acceptance: { type: 'string', enum: [...FAULT_POLICIES] },
    on_invalid_output: { type: 'string', enum: [...FAULT_POLICIES] },
    on_other_size: { type: 'string', enum: [...OTHER_SIZE_POLICIES] },
    ai_mark: AI_MARK,
    poll_interval_ms: { type: 'integer', minimum: 10, maximum: 600_000 },
    origin: ORIGIN,
  },
} as const;

/** The shape of a catalog file. Rules between its values are checked later. */
export const CATALOG_FILE_SCHEMA: JsonObject = {
  type: 'object',
  additionalProperties: false,
  required: ['version', 'models'],
  properties: { version: { const: 1 }, models: { type: 'array', minItems: 1, maxItems: 1_000, items: MODEL_SCHEMA } },
} as unknown as JsonObject;

/** The values that one of these schemas describes. */
type ValueOf<S> = S extends { readonly enum: readonly (infer V)[] }
  ? V
  : S extends { readonly properties: infer P }
    ? Members<P, S extends { readonly required: readonly (infer R)[] } ? R : never>
    : S extends { readonly items: infer I }
      ? readonly ValueOf<I>[]
      : S extends { readonly additionalProperties: infer V extends object }
        ? Readonly<Record<string, ValueOf<V>>>
        : S extends { readonly type: keyof Values }
          ? Values[S['type']]
          : number | string;

type Members<P, R> = { readonly [K in keyof P as K extends R ? K : never]: ValueOf<P[K]> } & {
  readonly [K in keyof P as K extends R ? never : K]?: ValueOf<P[K]>;
};

interface Values {
  readonly object: JsonObject;
  readonly integer: number;
  readonly string: string;
  readonly boolean: boolean;
}

/** A model as the file has it, once its shape is right. It has either one provider or a route. */
export type WrittenEntry = ValueOf<typeof MODEL_SCHEMA>;

/** The keys of `T` that may be left out, required here but for those of `Absent`. */
type Complete<T, Absent extends keyof T = never> = Required<Omit<T, Absent>> & Pick<T, Absent>;

/** The same with all defaults: what is still optional has no default, or one that depends on more than the file. */
export type ModelEntry = Complete<
  Omit<WrittenEntry, 'limits' | 'price'>,
  | 'description'
  | 'examples'
  | 'test'
  | 'provider'
  | 'provider_settings'
  | 'route'
  | 'on_invalid_output'
  | 'ai_mark'
  | 'origin'
> & {
  readonly limits: Complete<NonNullable<WrittenEntry['limits']>>;
  readonly price: WrittenEntry['price'] & Required<Pick<WrittenEntry['price'], 'unit' | 'minimum_credits'>>;
};
