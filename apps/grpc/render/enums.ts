import type {
  Modality as CoreModality,
  GenerationStatus as CoreStatus,
  Operation as CoreOperation,
  ReferenceRole as CoreRole,
} from '../../../core/generation/generation.js';
import type { EventType as CoreEventType } from '../../../core/generation/generation-events.js';
import type { PriceUnit as CoreUnit } from '../../../core/catalog/model.js';
import type { UploadState as CoreUploadState } from '../../../core/uploads/get-upload.js';
import { PriceUnit } from '../generated/darkroom/v1/catalog_pb.js';
import { GenerationEventType, GenerationStatus } from '../generated/darkroom/v1/generations_pb.js';
import { Modality, Operation, ReferenceRole } from '../generated/darkroom/v1/media_pb.js';
import { UploadState } from '../generated/darkroom/v1/uploads_pb.js';

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
