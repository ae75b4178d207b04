import { BROKEN, viewOf } from './container-end.js';
import type { ContainerEnd } from './container-end.js';
import { afterScan, END_OF_IMAGE, isArithmetic, standsAlone, START_OF_IMAGE, START_OF_SCAN } from './jpeg-markers.js';

/** A decoder goes through all pixels for each scan, however short it is. Encoders write some ten of them. */
export const MAX_SCANS = 100;

const MANY_SCANS: ContainerEnd = { complete: false, invalid: `The image has more than ${MAX_SCANS} scans.` };
/** Almost no program reads those, and a scan of nothing takes a byte. */
const ARITHMETIC: ContainerEnd = {
  complete: false,
  invalid: 'The image is coded arithmetically, which few programs read.',
};

/**
 * Walks the segments up to the end-of-image marker. A second image's start inside the first is not accepted, nor are scans that
 * take a decoder long.
 */
export function jpegEnd(bytes: Uint8Array): ContainerEnd {
  const view = viewOf(bytes);
  let scans = 0;
  for (let at = 2; at + 1 < view.length;) {
    if (view[at] !== 0xff) return BROKEN;
    const marker = view[at + 1]!;
    if (marker === END_OF_IMAGE) return { complete: true, byteSize: at + 2, frames: 1 };
    if (marker === START_OF_IMAGE || marker === 0x00) return BROKEN;
    if (isArithmetic(marker)) return ARITHMETIC;
    if (marker === 0xff) at += 1;
    else if (standsAlone(marker)) at += 2;
    else {
      if (at + 4 > view.length) return BROKEN;
      const segmentBytes = view.readUInt16BE(at + 2);
      if (segmentBytes < 2) return BROKEN;
      at += 2 + segmentBytes;
      if (marker === START_OF_SCAN) {
        scans += 1;
        at = afterScan(view, at);
      }
      if (scans > MAX_SCANS) return MANY_SCANS;
    }
  }
  return BROKEN;
}
