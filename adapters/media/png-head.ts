import { viewOf } from './container-end.js';
import { IDAT, ITXT, PNG_SIGNATURE_BYTES, pngChunks, TEXT, ZTXT } from './png-chunks.js';

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
