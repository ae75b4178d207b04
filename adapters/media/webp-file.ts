import { BROKEN, type ContainerEnd, viewOf } from './container-end.js';

export const RIFF_HEADER_BYTES = 12;
export const CHUNK_HEADER_BYTES = 8;
const ANIMATION_FRAME = Buffer.from('ANMF', 'latin1').readUInt32BE(0);
/** libwebp goes through all frames before one to find it, so that the time for all grows with the square of their number. */
export const MAX_FRAMES = 1_000;

const MANY_FRAMES: ContainerEnd = {
  complete: false,
  invalid: `The image has more than ${MAX_FRAMES.toLocaleString('en')} frames.`,
};

/**
 * Walks the chunks of the RIFF container, which must fill it exactly, and counts the frames of an animation. Readers may ignore
 * what follows the container (RFC 9649, 2.4). No browser turns a WebP by its EXIF data.
 */
export function webpEnd(bytes: Uint8Array): ContainerEnd {
  const view = viewOf(bytes);
  if (view.length < RIFF_HEADER_BYTES) return BROKEN;
  const end = 8 + view.readUInt32LE(4);
  if (end > view.length) return BROKEN;
  let at = RIFF_HEADER_BYTES;
  let frames = 0;
  while (at + CHUNK_HEADER_BYTES <= end) {
    if (view.readUInt32BE(at) === ANIMATION_FRAME) frames += 1;
    if (frames > MAX_FRAMES) return MANY_FRAMES;
    const dataBytes = view.readUInt32LE(at + 4);
    // Chunks start at even offsets.
    at += CHUNK_HEADER_BYTES + dataBytes + (dataBytes % 2);
  }
  return at === end && at > RIFF_HEADER_BYTES
    ? { complete: true, byteSize: end, frames: Math.max(1, frames), isTurned: false }
    : BROKEN;
}
