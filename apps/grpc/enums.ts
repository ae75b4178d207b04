import type { MessageInitShape } from '@bufbuild/protobuf';
import type { DurationSchema, Timestamp, TimestampSchema } from '@bufbuild/protobuf/wkt';
import type { PriceUnit as CoreUnit } from '../../core/catalog/price.js';
import { fieldInvalid } from '../../core/fields.js';
import type { EventType as CoreEventType } from '../../core/generation/events.js';
import type {
  GenerationStatus as CoreStatus,
  Modality as CoreModality,
  Operation as CoreOperation,
  ReferenceRole as CoreRole,
} from '../../core/generation/generation.js';
import type { UploadState as CoreUploadState } from '../../core/uploads/manage-uploads.js';
import { PriceUnit } from './generated/darkroom/v1/catalog_pb.js';
import { GenerationEventType, GenerationStatus } from './generated/darkroom/v1/generations_pb.js';
import { Modality, Operation, ReferenceRole } from './generated/darkroom/v1/media_pb.js';
import { UploadState } from './generated/darkroom/v1/uploads_pb.js';

// Core's words and the proto files' numbers. One that is missing here does not compile.

export const STATUS: Readonly<Record<CoreStatus, GenerationStatus>> = {
  queued: GenerationStatus.QUEUED,
  running: GenerationStatus.RUNNING,
  succeeded: GenerationStatus.SUCCEEDED,
  failed: GenerationStatus.FAILED,
  cancelled: GenerationStatus.CANCELLED,
};

export const MODALITY: Readonly<Record<CoreModality, Modality>> = { image: Modality.IMAGE, video: Modality.VIDEO };

export const OPERATION: Readonly<Record<CoreOperation, Operation>> = {
  image_generation: Operation.IMAGE_GENERATION,
  video_generation: Operation.VIDEO_GENERATION,
};

export const ROLE: Readonly<Record<CoreRole, ReferenceRole>> = {
  reference_image: ReferenceRole.REFERENCE_IMAGE,
  start_frame: ReferenceRole.START_FRAME,
  end_frame: ReferenceRole.END_FRAME,
};

export const PRICE_UNIT: Readonly<Record<CoreUnit, PriceUnit>> = {
  image: PriceUnit.IMAGE,
  megapixel: PriceUnit.MEGAPIXEL,
  second: PriceUnit.SECOND,
  video: PriceUnit.VIDEO,
  task: PriceUnit.TASK,
};

export const EVENT_TYPE: Readonly<Record<CoreEventType, GenerationEventType>> = {
  queued: GenerationEventType.QUEUED,
  running: GenerationEventType.RUNNING,
  progress: GenerationEventType.PROGRESS,
  cancel_requested: GenerationEventType.CANCEL_REQUESTED,
  ended: GenerationEventType.ENDED,
};

export const UPLOAD_STATE: Readonly<Record<CoreUploadState, UploadState>> = {
  prepared: UploadState.PREPARED,
  ready: UploadState.READY,
  expired: UploadState.EXPIRED,
};

/**
 * Core's word for a number of a request: undefined for UNSPECIFIED, which is what a field that was not sent reads as.
 * An unknown number becomes a word that core refuses, as it would over any other front.
 */
export function wordOf(numbers: Readonly<Record<string, number>>, value: number): string | undefined {
  if (value === 0) return undefined;
  return Object.keys(numbers).find((word) => numbers[word] === value) ?? `unknown (${value})`;
}

/** Milliseconds since the epoch. */
export function timestamp(epochMs: number): MessageInitShape<typeof TimestampSchema> {
  return secondsAndNanos(epochMs);
}

/** Milliseconds, 0 or more. */
export function duration(ms: number): MessageInitShape<typeof DurationSchema> {
  return secondsAndNanos(ms);
}

function secondsAndNanos(ms: number): { readonly seconds: bigint; readonly nanos: number } {
  const seconds = Math.floor(ms / 1_000);
  return { seconds: BigInt(seconds), nanos: (ms - seconds * 1_000) * 1_000_000 };
}

/** 0001-01-01T00:00:00Z, the earliest valid Timestamp; core refuses a time that is too late. */
const FIRST_SECOND = -62_135_596_800n;

/**
 * The first millisecond since the epoch that is not before the timestamp. Throws FIELD_INVALID for an invalid time.
 */
export function readTimestamp({ seconds, nanos }: Timestamp, field: string): number {
  if (seconds < FIRST_SECOND || nanos < 0 || nanos > 999_999_999)
    throw fieldInvalid(`/${field}`, `${field} must be a time from the year 1 on.`);
  return Number(seconds) * 1_000 + Math.ceil(nanos / 1_000_000);
}
