import { afterScan, END_OF_IMAGE, standsAlone, START_OF_IMAGE, START_OF_SCAN } from '../jpeg-markers.js';
import { type Edits, insert, keep, look, remove } from './edits.js';
import { JpegSegments } from './jpeg-segments.js';

/** Removes comments and the application segments that do not say how to show the picture. */
export function* jpegEdits(): Edits {
  yield keep(2);
  const segments = new JpegSegments();
  for (;;) {
    const head = yield look(4);
    if (head.length < 2 || head[0] !== 0xff) return;
    const marker = head[1]!;
    if (marker === START_OF_IMAGE || marker === END_OF_IMAGE || marker === 0x00) return;
    if (marker === 0xff) yield keep(1);
    else if (standsAlone(marker)) yield keep(2);
    else {
      const segmentBytes = head.length < 4 ? 0 : 2 + head.readUInt16BE(2);
      if (segmentBytes < 4) return;
      if (JpegSegments.mayBeMetadata(marker)) yield* segmentEdits(segments, segmentBytes);
      else yield keep(segmentBytes);
      if (marker === START_OF_SCAN) yield* scanEdits();
    }
  }
}

function* segmentEdits(segments: JpegSegments, segmentBytes: number): Edits {
  const ahead = yield look(segmentBytes);
  const kept = segments.keptOf(ahead.subarray(0, segmentBytes));
  if (kept === 'all') yield keep(segmentBytes);
  else {
    yield remove(segmentBytes);
    if (kept !== 'nothing') yield insert(kept);
  }
}

/** Keeps compressed data up to the next marker. */
function* scanEdits(): Edits {
  for (let isInScan = true; isInScan;) {
    const ahead = yield look(2);
    const markerAt = afterScan(ahead, 0);
    isInScan = ahead.length >= 2 && markerAt === ahead.length;
    // The first byte of a marker may be the last one that is at hand.
    yield keep(isInScan && ahead.at(-1) === 0xff ? markerAt - 1 : markerAt);
  }
}
