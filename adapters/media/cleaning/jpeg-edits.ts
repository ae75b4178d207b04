import { afterScan, END_OF_IMAGE, standsAlone, START_OF_IMAGE, START_OF_SCAN } from '../jpeg-markers.js';
import { type Edits, insert, keep, look, remove } from './edits.js';
import { JpegSegments } from './jpeg-segments.js';

/** No reader of segments accepts the start of an image within an image. */
const INVALID = Buffer.of(0xff, START_OF_IMAGE);

/**
 * Removes comments and the application segments that do not say how to show the picture. Where no segment follows a
 * change, the file is made invalid: what was apart before could be read as one, and the rest as segments.
 */
export function* jpegEdits(): Edits {
  yield keep(2);
  const segments = new JpegSegments();
  for (;;) {
    const head = yield look(4);
    if (head.length === 0 || (head[0] === 0xff && head[1] === END_OF_IMAGE)) return;
    const marker = head[1]!;
    const byteCount = byteCountAt(head);
    if (byteCount === undefined) {
      if (segments.hasChanged) yield insert(INVALID);
      return;
    }
    if (JpegSegments.mayBeMetadata(marker)) yield* segmentEdits(segments, byteCount);
    else yield keep(byteCount);
    if (marker === START_OF_SCAN) yield* scanEdits();
  }
}

/** The bytes up to the next marker, or the next byte that fills the space before it; undefined where there is none. */
function byteCountAt(head: Buffer): number | undefined {
  const marker = head[1];
  if (head[0] !== 0xff || marker === undefined || marker === 0x00 || marker === START_OF_IMAGE) return undefined;
  if (marker === 0xff) return 1;
  if (standsAlone(marker)) return 2;
  const segmentBytes = head.length < 4 ? 0 : head.readUInt16BE(2);
  return segmentBytes < 2 ? undefined : 2 + segmentBytes;
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
