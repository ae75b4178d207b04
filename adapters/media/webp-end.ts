import { BROKEN, viewOf } from './container-end.js';
import type { ContainerEnd } from './container-end.js';

const RIFF_HEADER_BYTES = 12;
const CHUNK_HEADER_BYTES = 8;

/** Walks the chunks of the RIFF container, which must fill it exactly. The decoder counts the frames. */
export function webpEnd(bytes: Uint8Array): ContainerEnd {
  const view = viewOf(bytes);
  if (view.length < RIFF_HEADER_BYTES) return BROKEN;
  const end = 8 + view.readUInt32LE(4);
  if (end > view.length) return BROKEN;
  let at = RIFF_HEADER_BYTES;
  while (at + CHUNK_HEADER_BYTES <= end) {
    const dataBytes = view.readUInt32LE(at + 4);
    // Chunks start at even offsets.
    at += CHUNK_HEADER_BYTES + dataBytes + (dataBytes % 2);
  }
  return at === end && at > RIFF_HEADER_BYTES ? { complete: true, byteSize: end, frames: 1 } : BROKEN;
}
