import { BROKEN, viewOf } from './container-end.js';
import type { ContainerEnd } from './container-end.js';

const SIGNATURE_BYTES = 8;
/** Length, type and checksum around a chunk's data. */
const CHUNK_OVERHEAD = 12;

/** Walks the chunks up to IEND; an animation's own chunk has the number of frames. */
export function pngEnd(bytes: Uint8Array): ContainerEnd {
  const view = viewOf(bytes);
  let frames = 1;
  for (let at = SIGNATURE_BYTES; at + CHUNK_OVERHEAD <= view.length;) {
    const dataBytes = view.readUInt32BE(at);
    const type = view.toString('latin1', at + 4, at + 8);
    const next = at + CHUNK_OVERHEAD + dataBytes;
    if (next > view.length) return BROKEN;
    if (type === 'acTL' && dataBytes >= 4) frames = Math.max(1, view.readUInt32BE(at + 8));
    if (type === 'IEND') return dataBytes === 0 ? { complete: true, byteSize: next, frames } : BROKEN;
    at = next;
  }
  return BROKEN;
}
