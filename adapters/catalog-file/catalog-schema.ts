import {
  FAULT_POLICIES,
  type FaultPolicy,
  OTHER_SIZE_POLICIES,
  type OtherSizePolicy,
} from '../../core/catalog/model.js';
import { PRICE_UNITS, type PriceUnit } from '../../core/catalog/price.js';
import {
  MODALITIES,
  type Modality,
  type Operation,
  OPERATIONS,
  REFERENCE_ROLES,
  type ReferenceRole,
} from '../../core/generation/generation.js';
import { MAX_REFERENCE_UPLOADS } from '../../core/generation/quote.js';
import type { JsonObject } from '../../core/json.js';
import { MAX_SYSTEM_CHARACTERS } from '../../core/media/ai-mark.js';
import { UPLOAD_MEDIA_TYPES } from '../../core/uploads/prepare-upload.js';

const NAME = { type: 'string', minLength: 1, maxLength: 128 } as const;
const CREDITS = { type: 'integer', minimum: 0, maximum: Number.MAX_SAFE_INTEGER } as const;
/** Read from its source text, so that both 0.1 and "0.1" are exact. */
const DECIMAL = { type: ['number', 'string'] } as const;

const LIMITS = {
  type: 'object',
  additionalProperties: false,
  required: [
    'max_reference_uploads',
    'reference_roles',
    'upload_media_types',
    'max_upload_bytes',
    'max_outputs',
    'negative_prompt',
  ],
  properties: {
    max_reference_uploads: { type: 'integer', minimum: 0, maximum: MAX_REFERENCE_UPLOADS },
    reference_roles: {
      type: 'array',
      uniqueItems: true,
      items: { type: 'string', enum: [...REFERENCE_ROLES] },
    },
    upload_media_types: { type: 'array', uniqueItems: true, items: { type: 'string', enum: [...UPLOAD_MEDIA_TYPES] } },
    max_upload_bytes: { type: 'integer', minimum: 1, maximum: Number.MAX_SAFE_INTEGER },
    max_outputs: { type: 'integer', minimum: 1, maximum: 100 },
    negative_prompt: { type: 'boolean' },
  },
} as const;

const PRICE = {
  type: 'object',
  additionalProperties: false,
  required: ['version', 'unit', 'credits_per_unit', 'minimum_credits', 'maximum_credits'],
  properties: {
    version: NAME,
    unit: { type: 'string', enum: Object.keys(PRICE_UNITS) },
    credits_per_unit: DECIMAL,
    base_credits: DECIMAL,
    count_parameter: NAME,
    size_parameter: NAME,
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

const MODEL = {
  type: 'object',
  additionalProperties: false,
  required: [
    'model_key',
    'display_name',
    'modality',
    'operations',
    'input_schema',
    'limits',
    'price',
    'queue_timeout_seconds',
    'run_timeout_seconds',
    'max_attempts',
    'concurrency',
    'cancel_floor_credits',
    'on_unknown_acceptance',
    'poll_interval_ms',
  ],
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
    limits: LIMITS,
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
  },
} as const;

/** The shape of a catalog file. Rules between its values are checked later. */
export const CATALOG_FILE_SCHEMA: JsonObject = {
  type: 'object',
  additionalProperties: false,
  required: ['version', 'models'],
  properties: { version: { const: 1 }, models: { type: 'array', minItems: 1, maxItems: 1_000, items: MODEL } },
} as unknown as JsonObject;

export interface RouteEntryOfFile {
  readonly provider: string;
  readonly provider_settings?: JsonObject;
  readonly weight?: number;
}

/** A model as the file has it, once its shape is right. */
export interface ModelEntry {
  readonly model_key: string;
  readonly display_name: string;
  readonly modality: Modality;
  readonly operations: readonly Operation[];
  readonly description?: string;
  readonly input_schema: JsonObject;
  readonly limits: {
    readonly max_reference_uploads: number;
    readonly reference_roles: readonly ReferenceRole[];
    readonly upload_media_types: string[];
    readonly max_upload_bytes: number;
    readonly max_outputs: number;
    readonly negative_prompt: boolean;
  };
  readonly price: {
    readonly version: string;
    readonly unit: PriceUnit;
    readonly credits_per_unit: number | string;
    readonly base_credits?: number | string;
    readonly count_parameter?: string;
    readonly size_parameter?: string;
    readonly duration_parameter?: string;
    readonly multipliers?: { readonly parameter: string; readonly values: Readonly<Record<string, number | string>> }[];
    readonly minimum_credits: number;
    readonly maximum_credits: number;
  };
  /** Either one provider or a route. */
  readonly provider?: string;
  readonly provider_settings?: JsonObject;
  readonly route?: readonly RouteEntryOfFile[];
  readonly queue_timeout_seconds: number;
  readonly run_timeout_seconds: number;
  readonly max_attempts: number;
  readonly concurrency: number;
  readonly concurrency_per_account?: number;
  readonly cancel_floor_credits: number;
  readonly on_unknown_acceptance: FaultPolicy;
  readonly on_invalid_output?: FaultPolicy;
  readonly on_other_size?: OtherSizePolicy;
  readonly ai_mark?: {
    readonly source?: (typeof MARK_SOURCES)[number];
    readonly system?: string;
    readonly system_version?: string;
  };
  readonly poll_interval_ms: number;
}
