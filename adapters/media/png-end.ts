import { BROKEN, viewOf } from './container-end.js';
import type { ContainerEnd } from './container-end.js';
import { pngChunks } from './png-chunks.js';

/** Walks the chunks up to IEND; an animation's own chunk has the number of frames. */
export function pngEnd(bytes: Uint8Array): ContainerEnd {
  const view = viewOf(bytes);
  let frames = 1;
  for (const { type, contentAt, checksumAt, end } of pngChunks(view)) {
    const contentBytes = checksumAt - contentAt;
    if (type === 'acTL' && contentBytes >= 4) frames = Math.max(1, view.readUInt32BE(contentAt));
    if (type === 'IEND') return contentBytes === 0 ? { complete: true, byteSize: end, frames } : BROKEN;
  }
  return BROKEN;
}
