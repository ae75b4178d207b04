import {
  type DescField,
  type DescMessage,
  isFieldSet,
  type MessageInitShape,
  type MessageShape,
} from '@bufbuild/protobuf';
import {
  type Duration,
  DurationSchema,
  type Timestamp,
  timestampDate,
  timestampFromDate,
  TimestampSchema,
} from '@bufbuild/protobuf/wkt';
import { type Model, ModelSchema } from '../../../apps/grpc/generated/darkroom/v1/catalog_pb.js';
import {
  type GetUsageRequest,
  type GetUsageResponse,
  GetUsageResponseSchema,
  type ListOwnEntriesResponse,
  ListOwnEntriesResponseSchema,
  UsageBy,
} from '../../../apps/grpc/generated/darkroom/v1/credits_pb.js';
import {
  type Generation,
  type GenerationInputSchema,
  GenerationSchema,
  GenerationStatus,
  type ListGenerationsRequest,
} from '../../../apps/grpc/generated/darkroom/v1/generations_pb.js';
import { Operation, ReferenceRole } from '../../../apps/grpc/generated/darkroom/v1/media_pb.js';
import {
  type CompleteUploadResponse,
  CompleteUploadResponseSchema,
  type GetUploadResponse,
  GetUploadResponseSchema,
  type PrepareUploadRequestSchema,
} from '../../../apps/grpc/generated/darkroom/v1/uploads_pb.js';
import { type Webhook, WebhookSchema } from '../../../apps/grpc/generated/darkroom/v1/webhooks_pb.js';
import type { Json, JsonObject } from '../../../core/json.js';
import { LeftOut, type Reason } from '../vectors/left-out.js';

const NO_WORD = 1_000;

type Field = (value: Json) => unknown;

export const text: Field = (value) =>
  typeof value === 'string' && !/\p{Surrogate}/u.test(value) ? value : no('another type');
export const texts: Field = (value) => (Array.isArray(value) ? value.map((item) => text(item)) : no('another type'));
const integer: Field = (value) =>
  typeof value === 'number' && Number.isInteger(value) ? BigInt(value) : no('another type');
const object: Field = (value) =>
  value !== null && typeof value === 'object' && !Array.isArray(value) ? value : no('another type');
/** An unknown word becomes an undefined enum number. */
export const word =
  (numbers: Readonly<Record<string, number | string>>): Field =>
  (value) =>
    typeof value === 'string' ? (numbers[value.toUpperCase()] ?? NO_WORD) : no('another type');

/** The fields of a message by their names over REST. */
export type Fields = Readonly<Record<string, readonly [name: string, field: Field]>>;

const INPUT: Fields = {
  model_key: ['modelKey', text],
  operation: ['operation', word(Operation)],
  prompt: ['prompt', text],
  negative_prompt: ['negativePrompt', text],
  parameters: ['parameters', object],
  reference_upload_ids: ['referenceUploadIds', texts],
  client_trace_id: ['clientTraceId', text],
};

const PREPARE: Fields = {
  filename: ['filename', text],
  media_type: ['mediaType', text],
  byte_size: ['byteSize', integer],
  sha256: ['sha256', text],
  role: ['role', word(ReferenceRole)],
};

const COMPLETE: Fields = { sha256: ['sha256', text] };

/** An invalid time cannot be expressed in a message; neither can an unknown field. */
export const moment: Field = (value) =>
  typeof value === 'string' && !Number.isNaN(Date.parse(value))
    ? timestampFromDate(new Date(value))
    : no('another type');

export const LIST: Fields = {
  limit: [
    'pageSize',
    (value) => (typeof value === 'string' && /^[1-9]\d*$/.test(value) ? Number(value) : no('another type')),
  ],
  cursor: ['pageToken', text],
  status: ['status', word(GenerationStatus)],
  model_key: ['modelKey', text],
  client_trace_id: ['clientTraceId', text],
  created_after: ['createdAfter', moment],
  created_before: ['createdBefore', moment],
};

const USAGE: typeof INPUT = { ...LIST, by: ['by', word(UsageBy)], from: ['from', text], to: ['to', text] };

export const usageRequestOf = (query: JsonObject) =>
  messageOf(USAGE, query) as Omit<GetUsageRequest, '$typeName' | '$unknown'>;
export const listOf = (query: JsonObject) =>
  messageOf(LIST, query) as Omit<ListGenerationsRequest, '$typeName' | '$unknown'>;
export const inputOf = (body: Json | undefined) =>
  messageOf(INPUT, body) as MessageInitShape<typeof GenerationInputSchema>;
export const prepareOf = (body: Json | undefined) =>
  messageOf(PREPARE, body) as MessageInitShape<typeof PrepareUploadRequestSchema>;
export const completeOf = (body: Json | undefined) => messageOf(COMPLETE, body) as { readonly sha256?: string };

export function messageOf(fields: Fields, body: Json | undefined): Record<string, unknown> {
  const given = object(body ?? {}) as JsonObject;
  return Object.fromEntries(
    Object.entries(given).map(([name, value]) => {
      const [messageName, field] = fields[name] ?? no('no such field');
      return [messageName, field(value)];
    }),
  );
}

export function no(reason: Reason): never {
  throw new LeftOut(reason);
}

/** The names over REST of fields that the messages name otherwise. */
const RENAMED: Readonly<Record<string, string>> = {
  complete_time: 'completed_at',
  create_time: 'created_at',
  disable_time: 'disabled_at',
  disabled_reason: 'disabled_because',
  duration: 'duration_ms',
  event_time: 'occurred_at',
  expire_time: 'expires_at',
  failing_since_time: 'failing_since',
  http_status: 'status',
  next_attempt_time: 'next_attempt_at',
  next_page_token: 'next_cursor',
  poll_after: 'poll_after_ms',
  previous_secret_expire_time: 'previous_secret_expires_at',
  start_time: 'started_at',
  update_time: 'updated_at',
};
const FLAT: Readonly<Record<string, string>> = { modality: 'media_type' };

/**
 * A message as REST shows the same: words in lower case, times of ISO 8601, durations in milliseconds, plain numbers. A
 * text that is empty and a word that is unspecified are left out, as a field that is not set is. REST reports a replayed
 * answer in a header, so it is left out here.
 */
export function shownAs<D extends DescMessage>(desc: D, message: MessageShape<D>, renamed = RENAMED): JsonObject {
  const members = desc.fields.flatMap((field): [string, Json][] => {
    const value = (message as unknown as Record<string, unknown>)[field.localName];
    if (field.name === 'replayed' && typeof value === 'boolean') return [];
    const isShown =
      field.fieldKind === 'list' || typeof value === 'number' || typeof value === 'bigint' || value === false;
    if (!isFieldSet(message, field) && (!isShown || field.fieldKind === 'enum' || value === undefined)) return [];
    return [[renamed[field.name] ?? field.name, shownValue(field, value)]];
  });
  return Object.fromEntries(members);
}

function shownValue(field: DescField, value: unknown): Json {
  if (field.fieldKind === 'list') return (value as unknown[]).map((item) => shownItem(field, item));
  return field.fieldKind === 'map' ? { ...(value as JsonObject) } : shownItem(field, value);
}

function shownItem({ enum: words, message: desc }: DescField, value: unknown): Json {
  if (words !== undefined) {
    const shown = words.value[value as number]?.localName.toLowerCase() ?? '';
    return words.name === 'WebhookEvent' ? shown.replace('_', '.') : shown;
  }
  if (desc === undefined) return typeof value === 'bigint' ? Number(value) : (value as Json);
  if (desc.typeName === TimestampSchema.typeName) return timestampDate(value as Timestamp).toISOString();
  if (desc.typeName === DurationSchema.typeName) return durationMs(value as Duration);
  // A struct is JSON already.
  if (desc.typeName.startsWith('google.protobuf.')) return value as Json;
  return shownAs(desc, value as never, desc.name === 'Output' ? { ...RENAMED, ...FLAT } : RENAMED);
}

export const taskOf = (g: Generation): JsonObject => shownAs(GenerationSchema, g);

export function uploadOf(upload: GetUploadResponse): JsonObject {
  const { state, media, ...own } = shownAs(GetUploadResponseSchema, upload);
  return { status: state as Json, ...own, ...(media as JsonObject | undefined) };
}

/** Fields of a completion that the message does not have. */
export function completedOf(completed: CompleteUploadResponse): JsonObject {
  return { status: 'ready', ...shownAs(CompleteUploadResponseSchema, completed, FLAT) };
}

export function statementOf(statement: ListOwnEntriesResponse): JsonObject {
  const { entries, ...own } = shownAs(ListOwnEntriesResponseSchema, statement);
  return {
    ...own,
    entries: (entries as JsonObject[]).map(({ entry, ...more }) => ({ ...(entry as JsonObject), ...more })),
  };
}

export function modelOf(model: Model): JsonObject {
  // REST has no fields for the examples and the mark of test models.
  const { price, examples: _examples, is_test: _isTest, ...own } = shownAs(ModelSchema, model);
  if (price === undefined) return own;
  const { unit, credits } = price as JsonObject;
  return { ...own, price_unit: unit as Json, price: credits as Json };
}

export function webhookOf(webhook: Webhook | undefined): JsonObject {
  if (webhook === undefined) throw new Error('The answer lacks its webhook.');
  return { status: webhook.disableTime === undefined ? 'enabled' : 'disabled', ...shownAs(WebhookSchema, webhook) };
}

export function usageOf(usage: GetUsageResponse, by: Json = 'day'): JsonObject {
  const names: Readonly<Record<string, string>> = { model: 'model_key', key: 'credential_id', day_modality: 'day' };
  const name = names[by as string] ?? (by as string);
  const { rows, ...own } = shownAs(GetUsageResponseSchema, usage);
  return {
    by,
    ...own,
    usage: (rows as JsonObject[]).map(({ group, sums, ...more }) => ({
      ...(group === undefined ? {} : { [name]: group }),
      ...more,
      ...(sums as JsonObject),
    })),
  };
}

const durationMs = ({ seconds, nanos }: Duration): number => Number(seconds) * 1_000 + nanos / 1_000_000;
