import type { MessageInitShape } from '@bufbuild/protobuf';
import { type Duration, type Timestamp, timestampDate, timestampFromDate } from '@bufbuild/protobuf/wkt';
import { type Model, PriceUnit } from '../../../apps/grpc/generated/darkroom/v1/catalog_pb.js';
import {
  EntryKind,
  type GetUsageRequest,
  type GetUsageResponse,
  type ListOwnEntriesResponse,
  UsageBy,
  type UsageSums,
} from '../../../apps/grpc/generated/darkroom/v1/credits_pb.js';
import {
  type Generation,
  type GenerationInputSchema,
  GenerationStatus,
  type ListGenerationsRequest,
} from '../../../apps/grpc/generated/darkroom/v1/generations_pb.js';
import { Modality, Operation, ReferenceRole } from '../../../apps/grpc/generated/darkroom/v1/media_pb.js';
import {
  type GetUploadResponse,
  type PrepareUploadRequestSchema,
  type PrepareUploadResponse,
  UploadState,
} from '../../../apps/grpc/generated/darkroom/v1/uploads_pb.js';
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

/** The generation as REST shows it, so that one vector has the expectation for both fronts. */
export function taskOf(g: Generation): JsonObject {
  return defined({
    generation_id: g.generationId,
    status: GenerationStatus[g.status]?.toLowerCase(),
    model_key: g.modelKey,
    modality: modality(g.modality),
    operation: Operation[g.operation]?.toLowerCase(),
    created_at: time(g.createTime),
    updated_at: time(g.updateTime),
    completed_at: time(g.completeTime),
    poll_after_ms: ms(g.pollAfter),
    estimated_credits: Number(g.estimatedCredits),
    reserved_credits: Number(g.reservedCredits),
    charged_credits: Number(g.chargedCredits),
    outputs: g.outputs.map((output) =>
      defined({
        media_id: output.mediaId,
        media_type: modality(output.modality),
        url: output.url,
        width: output.width,
        height: output.height,
        duration_ms: ms(output.duration),
      }),
    ),
    error: g.error && { code: g.error.code, message: g.error.message, retryable: g.error.retryable },
    client_trace_id: g.clientTraceId,
  });
}

export function preparedOf(prepared: PrepareUploadResponse): JsonObject {
  return defined({
    upload_id: prepared.uploadId,
    upload_url: prepared.uploadUrl,
    method: prepared.method,
    required_headers: { ...prepared.requiredHeaders },
    expires_at: time(prepared.expireTime),
    media_type: prepared.mediaType,
    byte_size: Number(prepared.byteSize),
    role: ReferenceRole[prepared.role]?.toLowerCase(),
  });
}

export function uploadOf(upload: GetUploadResponse): JsonObject {
  const { media } = upload;
  return defined({
    upload_id: upload.uploadId,
    status: UploadState[upload.state]?.toLowerCase(),
    filename: upload.filename,
    media_type: upload.mediaType,
    byte_size: Number(upload.byteSize),
    role: ReferenceRole[upload.role]?.toLowerCase(),
    created_at: time(upload.createTime),
    expires_at: time(upload.expireTime),
    media_id: media?.mediaId,
    sha256: media?.sha256,
    width: media?.width,
    height: media?.height,
  });
}

export function statementOf(statement: ListOwnEntriesResponse): JsonObject {
  return defined({
    entries: statement.entries.map(({ entry, ...own }) =>
      defined({
        sequence: Number(entry?.sequence),
        kind: entry && EntryKind[entry.kind]?.toLowerCase(),
        credits: Number(entry?.credits),
        available_change: Number(own.availableChange),
        available_after: Number(entry?.availableAfter),
        created_at: time(entry?.createTime),
        generation_id: entry?.generationId,
        model_key: own.modelKey,
        client_trace_id: own.clientTraceId,
        credential_id: own.credentialId,
        credential_name: own.credentialName,
        reason: entry?.reason,
      }),
    ),
    opening_credits: Number(statement.openingCredits),
    closing_credits: Number(statement.closingCredits),
    next_cursor: statement.nextPageToken === '' ? undefined : statement.nextPageToken,
  });
}

export function modelOf(model: Model): JsonObject {
  const { limits, price } = model;
  return defined({
    model_key: model.modelKey,
    display_name: model.displayName,
    modality: modality(model.modality),
    operations: model.operations.map((operation) => Operation[operation]?.toLowerCase() ?? ''),
    input_schema: model.inputSchema ?? {},
    description: model.description,
    limits: limits && {
      max_reference_uploads: limits.maxReferenceUploads,
      reference_roles: limits.referenceRoles.map((role) => ReferenceRole[role]?.toLowerCase() ?? ''),
      upload_media_types: limits.uploadMediaTypes,
      max_upload_bytes: Number(limits.maxUploadBytes),
      max_outputs: limits.maxOutputs,
      negative_prompt: limits.negativePrompt,
    },
    price_unit: price && PriceUnit[price.unit]?.toLowerCase(),
    price: price?.credits,
  });
}

export const modality = (value: Modality): string | undefined => Modality[value]?.toLowerCase();

export const time = (at: Timestamp | undefined): string | undefined => at && timestampDate(at).toISOString();
const ms = (length: Duration | undefined): number | undefined =>
  length && Number(length.seconds) * 1_000 + length.nanos / 1_000_000;

export function defined(members: Readonly<Record<string, Json | undefined>>): JsonObject {
  return Object.fromEntries(
    Object.entries(members).filter((member): member is [string, Json] => member[1] !== undefined),
  );
}

export function usageOf({ rows, total, from, to, nextPageToken }: GetUsageResponse, by: Json = 'day'): JsonObject {
  const name = by === 'model' ? 'model_key' : by === 'key' ? 'credential_id' : by === 'day' ? by : 'client_trace_id';
  return defined({
    by,
    from,
    to,
    usage: rows.map(({ group, credentialName, sums }) =>
      defined({ [name]: group === '' ? undefined : group, credential_name: credentialName, ...sumsOf(sums) }),
    ),
    total: sumsOf(total),
    next_cursor: nextPageToken === '' ? undefined : nextPageToken,
  });
}

const sumsOf = (sums: UsageSums | undefined) => ({
  generations: Number(sums?.generations),
  failed: Number(sums?.failed),
  reserved_credits: Number(sums?.reservedCredits),
  charged_credits: Number(sums?.chargedCredits),
  released_credits: Number(sums?.releasedCredits),
});
