import { type Box, boxIn, LOOKED_AT_BYTES } from '../mp4-box.js';
import { blank, type Edits, keep, look, overwrite } from './edits.js';
import { BYTES_BEFORE_NAME, type Kept, type Layout, MAX_NAME_BYTES, MP4_LAYOUT, MP4_UNWANTED } from './mp4-layout.js';
import { sampleEntryIn, STSD_BYTES } from '../mp4-sample-entry.js';

const FREE = Buffer.from('free');
const FREE_HEADER_BYTES = 8;
/** Of a box whose size is counted in 32 bits. */
const MAX_BOX_BYTES = 0xffff_ffff;

/**
 * The file keeps its length, as the places of its samples are stated: a box that is not in the layout becomes a free box
 * of zeros.
 */
export function* mp4Edits(): Edits {
  for (;;) {
    const box = boxIn(yield look(LOOKED_AT_BYTES), Infinity);
    if (box === undefined) return;
    const kept = box.isManifest ? 'all' : MP4_LAYOUT[box.type];
    if (kept === undefined && !MP4_UNWANTED.has(box.type)) return;
    yield* boxEdits(box, kept);
  }
}

function* boxEdits(box: Box, kept: Kept | undefined): Edits {
  if (kept === undefined) {
    yield keep(4);
    yield* overwrite(FREE);
    yield keep(box.headerBytes - 8);
    yield blank(box.contentBytes);
    return;
  }
  yield keep(box.headerBytes);
  if (kept === 'sample entries') return yield* sampleEntriesEdits(box.contentBytes);
  if (typeof kept === 'object') return yield* contentEdits(box.contentBytes, kept);
  const hasLongName = kept !== 'all' && box.contentBytes > BYTES_BEFORE_NAME + MAX_NAME_BYTES;
  yield keep(hasLongName ? BYTES_BEFORE_NAME : box.contentBytes);
  if (hasLongName) yield blank(box.contentBytes - BYTES_BEFORE_NAME);
}

/**
 * The boxes within a box. From where they are not in order, the rest becomes one free box: players differ in what they
 * make of such content, and must not find metadata in it.
 */
function* contentEdits(contentBytes: number, layout: Layout): Edits {
  for (let leftBytes = contentBytes; leftBytes > 0;) {
    const ahead = yield look(Math.min(leftBytes, LOOKED_AT_BYTES));
    if (ahead.length === 0) return;
    const box = boxIn(ahead, leftBytes);
    if (box === undefined) yield* freeEdits(leftBytes);
    else yield* boxEdits(box, layout[box.type]);
    leftBytes = box === undefined ? 0 : leftBytes - box.headerBytes - box.contentBytes;
  }
}

/** Of each format that is known, the boxes behind its fixed fields. Others stay as they are, and the probe refuses them. */
function* sampleEntriesEdits(contentBytes: number): Edits {
  const ahead = yield look(Math.min(contentBytes, STSD_BYTES));
  const version = ahead[0] ?? 0;
  yield keep(Math.min(contentBytes, STSD_BYTES));
  for (let leftBytes = contentBytes - STSD_BYTES; leftBytes > 0;) {
    const entryAhead = yield look(Math.min(leftBytes, LOOKED_AT_BYTES));
    if (entryAhead.length === 0) return;
    const box = boxIn(entryAhead, leftBytes);
    if (box === undefined) return yield* freeEdits(leftBytes);
    const entry = sampleEntryIn(entryAhead, box, version);
    const fixedBytes = Math.min(entry?.fixedBytes ?? box.contentBytes, box.contentBytes);
    yield keep(box.headerBytes + fixedBytes);
    if (entry !== undefined) yield* contentEdits(box.contentBytes - fixedBytes, entry.boxes);
    leftBytes -= box.headerBytes + box.contentBytes;
  }
}

/** A size of 0 says that the box ends with the file: a content of so many bytes is in no file that can be played. */
function* freeEdits(byteCount: number): Edits {
  const header = Buffer.alloc(Math.min(byteCount, FREE_HEADER_BYTES));
  if (byteCount >= FREE_HEADER_BYTES) {
    header.writeUInt32BE(byteCount > MAX_BOX_BYTES ? 0 : byteCount);
    header.set(FREE, 4);
  }
  yield* overwrite(header);
  yield blank(byteCount - header.length);
}
