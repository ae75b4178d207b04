import type { JsonObject } from '../../../core/json.js';
import { type Completed, completeUpload } from '../../../core/uploads/complete-upload.js';
import { type Prepared, prepareUpload } from '../../../core/uploads/prepare-upload.js';
import { collected, streamOf } from '../../fixtures/byte-streams.js';
import type { CoreHarness } from '../../harness/core-harness.js';

export function prepareBody(bytes: Uint8Array, changes: JsonObject = {}): JsonObject {
  return {
    filename: 'house.png',
    media_type: 'image/png',
    byte_size: bytes.byteLength,
    role: 'reference_image',
    ...changes,
  };
}

export function prepare(
  harness: CoreHarness,
  bytes: Uint8Array,
  changes: JsonObject = {},
  key = harness.ports.ids.uuid(),
): Promise<Prepared> {
  return prepareUpload(harness.context, harness.caller, key, prepareBody(bytes, changes));
}

/** Sends the bytes to the target as a client would; returns the status. */
export function send(harness: CoreHarness, { target }: Prepared, bytes: Uint8Array): number {
  return harness.ports.objects.handle({ method: target.method, url: target.url, headers: target.headers, body: bytes })
    .status;
}

/** Prepares an upload and sends its bytes. */
export async function prepareAndSend(harness: CoreHarness, bytes: Uint8Array, key?: string): Promise<Prepared> {
  const prepared = await prepare(harness, bytes, {}, key);
  send(harness, prepared, bytes);
  return prepared;
}

/** Puts bytes where the target leads although no signature would let them through. */
export async function smuggle(harness: CoreHarness, { upload }: Prepared, bytes: Uint8Array): Promise<void> {
  await harness.ports.objects.write(upload.stagingKey, streamOf(bytes), {
    mediaType: 'application/octet-stream',
    maxBytes: 1e9,
  });
}

export function complete(
  harness: CoreHarness,
  uploadId: string,
  body: JsonObject = {},
  key = harness.ports.ids.uuid(),
  context = harness.context,
): Promise<Completed> {
  return completeUpload(context, harness.caller, key, uploadId, body);
}

export async function storedBytes(harness: CoreHarness, key: string | undefined): Promise<Uint8Array | null> {
  const stream = await harness.ports.objects.read(key ?? 'none');
  return stream && collected(stream);
}
