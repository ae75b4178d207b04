import type { JsonObject } from '../../core/json.js';
import type { Upload } from '../../core/uploads/upload.js';
import { type Finding, finding } from './finding.js';
import { textOf } from './values.js';

/** Bytes as they were sent, or as they are stored. */
export interface ObservedBytes {
  readonly byteSize: number;
  /** Absent where only the size is known. */
  readonly sha256?: string;
}

/** A completion that succeeded. */
export interface Completion {
  /** Describes the request in a sentence. */
  readonly told: string;
  readonly uploadId: string;
  /** The digest that the request declares, if any. */
  readonly declared: unknown;
  /** The answer. */
  readonly data: JsonObject;
}

/**
 * Invariant 16: a completion's answer matches the upload's record, and its declared digest is that of the bytes. For a
 * retired upload only its id is known.
 */
export function* checkCompletion(
  { told, uploadId, declared, data }: Completion,
  upload: Pick<Upload, 'status' | 'ready' | 'byteSize'> | 'retired' | undefined,
): Iterable<Finding> {
  const isOfUpload = data['status'] === 'ready' && data['upload_id'] === uploadId;
  if (upload === 'retired' && isOfUpload) return;
  const { ready, byteSize, status = 'not on record' } = upload === 'retired' || !upload ? {} : upload;
  const isOnRecord = ready !== undefined && data['media_id'] === ready.mediaId && data['byte_size'] === byteSize;
  if (!isOfUpload || !isOnRecord)
    yield finding`16: ${told} was answered with ${textOf(data)}, and upload ${uploadId} is ${status} as ${ready?.mediaId} of ${byteSize} bytes`;
  if (ready && typeof declared === 'string' && declared.toLowerCase() !== ready.sha256)
    yield finding`16: ${told} declared ${declared}, and upload ${uploadId} has ${ready.sha256}`;
}

/** Invariant 16: a ready upload matches its declaration and the sent bytes, at a key of its own. */
export function* checkReady(upload: Upload, sent: readonly ObservedBytes[]): Iterable<Finding> {
  const { uploadId, objectKey, stagingKey, ready, declaredSha256, byteSize } = upload;
  if (ready === undefined || objectKey === undefined) {
    yield finding`16: upload ${uploadId} is ready with nothing to show for it`;
    return;
  }
  if (objectKey === stagingKey) yield finding`16: upload ${uploadId} is ready where clients can write`;
  if (declaredSha256 !== undefined && declaredSha256 !== ready.sha256)
    yield finding`16: upload ${uploadId} was declared as ${declaredSha256} and is ready as ${ready.sha256}`;
  if (!sent.some((bytes) => bytes.sha256 === ready.sha256 && bytes.byteSize === byteSize))
    yield finding`16: upload ${uploadId} is ready as ${ready.sha256} of ${byteSize} bytes, which nobody sent to it`;
}

/** Invariant 16: bytes are stored as promised. `of` names the owner of the bytes. */
export function* checkBytes(of: string, promised: ObservedBytes, stored: ObservedBytes | undefined): Iterable<Finding> {
  if (!stored) {
    yield finding`16: the bytes of ${of} are gone`;
    return;
  }
  const isSame =
    stored.byteSize === promised.byteSize &&
    (stored.sha256 === undefined || promised.sha256 === undefined || stored.sha256 === promised.sha256);
  if (!isSame)
    yield finding`16: the bytes of ${of} are ${stored.byteSize} with ${stored.sha256}, and should be ${promised.byteSize} with ${promised.sha256}`;
}
