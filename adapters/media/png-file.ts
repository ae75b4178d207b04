import { setImmediate } from 'node:timers/promises';
import { crc32 } from 'node:zlib';
import { orientationOf, swapsSides, UPRIGHT } from './cleaning/exif-orientation.js';
import { BROKEN, viewOf } from './container-end.js';
import type { ContainerEnd } from './container-end.js';
import {
  ACTL,
  EXIF,
  IDAT,
  IEND,
  IHDR,
  ITXT,
  PLTE,
  PNG_SIGNATURE_BYTES,
  type PngChunk,
  pngChunks,
  TEXT,
  ZTXT,
} from './png-chunks.js';

/** Other work of the process is let in after so many chunks. An ordinary picture has fewer. */
export const CHUNKS_A_TURN = 2 ** 14;

/**
 * The memory that compressed texts may take in a decoder, which keeps them all. Each takes 8 MiB at most, and no more than deflate
 * can make of its bytes.
 */
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
  let hasPixels = false;
  let arePixelsOver = false;
  for (const { type, contentAt, checksumAt, end } of pngChunks(view)) {
    walked += 1;
    if (walked % CHUNKS_A_TURN === 0) await setImmediate();
    const contentBytes = checksumAt - contentAt;
    if (type === ZTXT || (type === ITXT && isCompressed(view, contentAt, checksumAt)))
      textBytes += Math.min(MOST_OF_ONE_BYTES, contentBytes * MOST_TIMES);
    if (textBytes > MAX_TEXT_BYTES) return LONG_TEXTS;
    hasPixels ||= type === IDAT;
    // A decoder takes no pixels behind another chunk.
    if (type === IDAT && arePixelsOver) return BROKEN;
    arePixelsOver = hasPixels && type !== IDAT;
    if (type === ACTL && contentBytes >= 4) frames = Math.max(1, view.readUInt32BE(contentAt));
    if (type === IEND)
      return contentBytes === 0
        ? { complete: true, byteSize: end, frames, isTurned: swapsSides(pngOrientation(bytes)) }
        : BROKEN;
  }
  return BROKEN;
}

/** The orientation in which browsers show a PNG: that of the first EXIF chunk before the pixels whose checksum is right. */
export function pngOrientation(bytes: Uint8Array): number {
  const view = viewOf(bytes);
  for (const chunk of pngChunks(view)) {
    if (chunk.type === IDAT) break;
    if (chunk.type === EXIF && hasChecksum(view, chunk))
      return orientationOf(view.subarray(chunk.contentAt, chunk.checksumAt));
  }
  return UPRIGHT;
}

/** Of an `iTXt` chunk: its flag is behind the keyword. */
function isCompressed(view: Buffer, from: number, to: number): boolean {
  const end = view.subarray(from, Math.min(to, from + KEYWORD_BYTES)).indexOf(0);
  return end < 0 || view[from + end + 1] !== 0;
}

function hasChecksum(view: Buffer, { typeAt, checksumAt }: PngChunk): boolean {
  return crc32(view.subarray(typeAt, checksumAt)) === view.readUInt32BE(checksumAt);
}

/** Chunks without which there is no picture: a decoder refuses one whose checksum is wrong. IEND has no content. */
const CRITICAL: ReadonlySet<number> = new Set([IHDR, PLTE, IDAT]);

/** Whether the pixels arrived as they were written, as far as checksums tell. */
export function hasSoundChunks(bytes: Uint8Array): boolean {
  const view = viewOf(bytes);
  for (const chunk of pngChunks(view)) if (CRITICAL.has(chunk.type) && !hasChecksum(view, chunk)) return false;
  return true;
}

/** More than a decoder reads of the first chunk of pixels to tell the size. */
const PIXEL_BYTES = 64;
const TEXTS = new Set([TEXT, ITXT, ZTXT]);

/** What a PNG has before its pixels, and the first bytes of them, without texts: a decoder keeps these, inflated. */
export function pngHead(bytes: Uint8Array): Uint8Array {
  const view = viewOf(bytes);
  const parts = [view.subarray(0, PNG_SIGNATURE_BYTES)];
  let from = PNG_SIGNATURE_BYTES;
  for (const { type, contentAt, end } of pngChunks(view)) {
    if (type === IDAT) return Buffer.concat([...parts, view.subarray(from, Math.min(end, contentAt + PIXEL_BYTES))]);
    if (!TEXTS.has(type)) parts.push(view.subarray(from, end));
    from = end;
  }
  return Buffer.concat(parts);
}
