import { setImmediate } from 'node:timers/promises';
import { BROKEN, viewOf } from './container-end.js';
import type { ContainerEnd } from './container-end.js';
import { ACTL, IEND, pngChunks } from './png-chunks.js';

/** Other work of the process is let in after so many chunks. An ordinary picture has fewer. */
export const CHUNKS_A_TURN = 2 ** 14;

/** Walks the chunks up to IEND; an animation's own chunk has the number of frames. */
export async function pngEnd(bytes: Uint8Array): Promise<ContainerEnd> {
  const view = viewOf(bytes);
  let frames = 1;
  let walked = 0;
  for (const { type, contentAt, checksumAt, end } of pngChunks(view)) {
    walked += 1;
    if (walked % CHUNKS_A_TURN === 0) await setImmediate();
    const contentBytes = checksumAt - contentAt;
    if (type === ACTL && contentBytes >= 4) frames = Math.max(1, view.readUInt32BE(contentAt));
    if (type === IEND) return contentBytes === 0 ? { complete: true, byteSize: end, frames } : BROKEN;
  }
  return BROKEN;
}
