import { setImmediate } from 'node:timers/promises';
import { BROKEN, viewOf } from './container-end.js';
import type { ContainerEnd } from './container-end.js';
import { ACTL, IEND, ITXT, pngChunks, ZTXT } from './png-chunks.js';

/** Other work of the process is let in after so many chunks. An ordinary picture has fewer. */
export const CHUNKS_A_TURN = 2 ** 14;

/** What compressed texts may take in a decoder, which keeps them all: at most eight mebibytes each, and no more than so many times their bytes. */
const MAX_TEXT_BYTES = 32 * 1024 * 1024;
const MOST_OF_ONE_BYTES = 8 * 1024 * 1024;
const MOST_TIMES = 1_032;
const KEYWORD_BYTES = 80;

const LONG_TEXTS: ContainerEnd = {
  complete: false,
  invalid: 'The image has compressed texts that may take more memory than is allowed.',
};

/**
 * Walks the chunks up to IEND; an animation's own chunk has the number of frames. Refuses compressed texts that would make a
 * decoder hold much more than the file.
 */
export async function pngEnd(bytes: Uint8Array): Promise<ContainerEnd> {
  const view = viewOf(bytes);
  let frames = 1;
  let walked = 0;
  let textBytes = 0;
  for (const { type, contentAt, checksumAt, end } of pngChunks(view)) {
    walked += 1;
    if (walked % CHUNKS_A_TURN === 0) await setImmediate();
    const contentBytes = checksumAt - contentAt;
    if (type === ZTXT || (type === ITXT && isCompressed(view, contentAt, checksumAt)))
      textBytes += Math.min(MOST_OF_ONE_BYTES, contentBytes * MOST_TIMES);
    if (textBytes > MAX_TEXT_BYTES) return LONG_TEXTS;
    if (type === ACTL && contentBytes >= 4) frames = Math.max(1, view.readUInt32BE(contentAt));
    if (type === IEND) return contentBytes === 0 ? { complete: true, byteSize: end, frames } : BROKEN;
  }
  return BROKEN;
}

/** Of an `iTXt` chunk: its flag is behind the keyword. */
function isCompressed(view: Buffer, from: number, to: number): boolean {
  const end = view.subarray(from, Math.min(to, from + KEYWORD_BYTES)).indexOf(0);
  return end < 0 || view[from + end + 1] !== 0;
}
