import { BROKEN, viewOf } from './container-end.js';
import type { ContainerEnd } from './container-end.js';

const START_OF_IMAGE = 0xd8;
const END_OF_IMAGE = 0xd9;
const START_OF_SCAN = 0xda;

/** Markers that stand alone, without a length: TEM and the restart markers. */
function standsAlone(marker: number): boolean {
  return marker === 0x01 || (marker >= 0xd0 && marker <= 0xd7);
}

/** The next marker's place after entropy-coded data: an 0xff that is neither stuffed nor a restart marker. */
function afterScan(view: Buffer, from: number): number {
  for (let at = view.indexOf(0xff, from); at !== -1 && at + 1 < view.length; at = view.indexOf(0xff, at + 1)) {
    const following = view[at + 1]!;
    if (following !== 0x00 && following !== 0xff && !standsAlone(following)) return at;
  }
  return view.length;
}

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
