import { BROKEN, viewOf } from './container-end.js';
import type { ContainerEnd } from './container-end.js';
import { afterScan, END_OF_IMAGE, standsAlone, START_OF_IMAGE, START_OF_SCAN } from './jpeg-markers.js';

/** Walks the segments up to the end-of-image marker. A second image's start inside the first is not accepted. */
export function jpegEnd(bytes: Uint8Array): ContainerEnd {
  const view = viewOf(bytes);
  for (let at = 2; at + 1 < view.length;) {
    if (view[at] !== 0xff) return BROKEN;
    const marker = view[at + 1]!;
    if (marker === END_OF_IMAGE) return { complete: true, byteSize: at + 2, frames: 1 };
    if (marker === START_OF_IMAGE || marker === 0x00) return BROKEN;
    if (marker === 0xff) at += 1;
    else if (standsAlone(marker)) at += 2;
    else {
      if (at + 4 > view.length) return BROKEN;
      const segmentBytes = view.readUInt16BE(at + 2);
      if (segmentBytes < 2) return BROKEN;
      at += 2 + segmentBytes;
      if (marker === START_OF_SCAN) at = afterScan(view, at);
    }
  }
  return BROKEN;
}
