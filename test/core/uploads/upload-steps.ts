import { completeUpload, type Completed } from '../../../core/uploads/complete-upload.js';
import { prepareUpload, type Prepared } from '../../../core/uploads/prepare-upload.js';
import type { JsonObject } from '../../../core/json.js';
import { collected, streamOf } from '../../fixtures/byte-streams.js';
import type { CoreWorld } from '../../fixtures/core-world.js';

export function prepareBody(bytes: Uint8Array, changes: JsonObject = {}): JsonObject {
  return { filename: 'house.png', media_type: 'image/png', byte_size: bytes.byteLength, role: 'reference_image', ...changes };
}

export function prepare(world: CoreWorld, bytes: Uint8Array, changes: JsonObject = {}, key = world.ports.ids.uuid()): Promise<Prepared> {
  return prepareUpload(world.context, world.caller, key, prepareBody(bytes, changes));
}

/** Sends the bytes to the target as a client would; answers the status. */
export function send(world: CoreWorld, { target }: Prepared, bytes: Uint8Array): number {
  return world.ports.objects.handle({ method: target.method, url: target.url, headers: target.headers, body: bytes }).status;
}

/** Puts bytes where the target leads although no signature would let them through. */
export async function smuggle(world: CoreWorld, { upload }: Prepared, bytes: Uint8Array): Promise<void> {
  await world.ports.objects.write(upload.stagingKey, streamOf(bytes), { mediaType: 'application/octet-stream', maxBytes: 1e9 });
}

export function complete(world: CoreWorld, uploadId: string, body: JsonObject = {}, key = world.ports.ids.uuid(), context = world.context): Promise<Completed> {
  return completeUpload(context, world.caller, key, uploadId, body);
}

export async function storedBytes(world: CoreWorld, key: string | undefined): Promise<Uint8Array | null> {
  const stream = await world.ports.objects.read(key ?? 'none');
  return stream && collected(stream);
}
