import { type Box, boxIn, LOOKED_AT_BYTES, maySkip } from '../mp4-box.js';
import {
  type BoxesBehind,
  BYTES_BEFORE_NAME,
  isTopBox,
  type Kept,
  type Layout,
  MAX_NAME_BYTES,
  MP4_LAYOUT,
  sampleEntryIn,
  STSD_BYTES,
} from '../mp4-layout.js';
import {
  blank,
  type CleaningPass,
  type Edits,
  insertForMark,
  keep,
  keepManifest,
  look,
  overwrite,
  removeRest,
} from './edits.js';

const FREE = Buffer.from('free');
const FREE_HEADER_BYTES = 8;
/** The largest size of a box whose size has 32 bits. */
const MAX_BOX_BYTES = 0xffff_ffff;
/** The largest index of fragments that may follow the mark. */
const MAX_HELD_BOX_BYTES = 64 * 1024;
const XMP_UUID = Buffer.from('be7acfcb97a942e89c71999491e3afac', 'hex');

/**
 * The file keeps its length up to its end, as the places of its samples are stated: a box that is not in the layout becomes a
 * free box of zeros. The mark is the last box, or the last but an index of fragments, whose place is stated from the end.
 */
export function* mp4Edits(pass: CleaningPass): Edits {
  const mark = pass.packet && xmpBox(pass.packet);
  const seen = new Set<string>();
  for (;;) {
    const isPlayable = seen.has('moov') && seen.has('mdat');
    if (isPlayable && (yield* isEndAt(0))) break;
    const box = boxIn(yield look(LOOKED_AT_BYTES), Infinity);
    if (box === undefined || (!isTopBox(box.type) && !isPlayable && !(yield* isSmallAndWhole(box)))) return;
    seen.add(box.type);
    if (box.isManifest) yield* manifestEdits(box, pass);
    else if (isPlayable && mark && pass.writesMark) yield* lastBoxEdits(box, mark, pass);
    else yield* boxEdits(box, MP4_LAYOUT[box.type]);
  }
  if (mark && pass.writesMark) yield insertForMark(mark);
  yield removeRest();
}

function xmpBox(packet: Buffer): Buffer {
  const header = Buffer.alloc(8);
  header.writeUInt32BE(header.length + XMP_UUID.length + packet.length);
  header.write('uuid', 4, 'latin1');
  return Buffer.concat([header, XMP_UUID, packet]);
}

const bytesOf = ({ headerBytes, contentBytes }: Box): number => headerBytes + contentBytes;

/**
 * Whether a playable file ends after this number of bytes: nothing follows, or bytes that are not a box of such a
 * file. A small box may be of a kind that is not known here.
 */
function* isEndAt(offset: number): Edits<boolean> {
  const box = boxIn((yield look(offset + LOOKED_AT_BYTES)).subarray(offset), Infinity);
  if (box === undefined) return true;
  return !isTopBox(box.type) && !(yield* isSmallAndWhole(box, offset));
}

/** Whether an unknown box after this number of bytes may be part of the file: players skip it. */
function* isSmallAndWhole(box: Box, offset = 0): Edits<boolean> {
  const end = offset + bytesOf(box);
  return maySkip(box) && (yield look(end)).length >= end;
}

function* manifestEdits(box: Box, pass: CleaningPass): Edits {
  if (pass.keepsManifest()) yield keepManifest(bytesOf(box));
  else yield* boxEdits(box, undefined);
}

/** A box that may be the last one, or the mark of an earlier pass at its place. */
function* lastBoxEdits(box: Box, mark: Buffer, pass: CleaningPass): Edits {
  if (box.type === 'mfra') {
    const isLast = bytesOf(box) <= MAX_HELD_BOX_BYTES && (yield* isEndAt(bytesOf(box)));
    if (isLast) {
      yield insertForMark(mark);
      pass.isMarked = true;
    }
    return yield* boxEdits(box, isLast ? MP4_LAYOUT.mfra : undefined);
  }
  const isOurs = bytesOf(box) === mark.length && mark.equals((yield look(mark.length)).subarray(0, mark.length));
  if (!isOurs || !(yield* isPlaceOfMark(mark.length))) return yield* boxEdits(box, MP4_LAYOUT[box.type]);
  pass.adoptMark();
  yield keep(mark.length);
}

function* isPlaceOfMark(markBytes: number): Edits<boolean> {
  if (yield* isEndAt(markBytes)) return true;
  const next = boxIn((yield look(markBytes + LOOKED_AT_BYTES)).subarray(markBytes), Infinity);
  if (next?.type !== 'mfra' || bytesOf(next) > MAX_HELD_BOX_BYTES) return false;
  return yield* isEndAt(markBytes + bytesOf(next));
}

function* boxEdits(box: Box, kept: Kept | undefined): Edits {
  if (kept === undefined) {
    yield keep(4);
    yield overwrite(FREE);
    yield keep(box.headerBytes - 8);
    yield blank(box.contentBytes);
    return;
  }
  yield keep(box.headerBytes);
  if (kept === 'sample entries') return yield* sampleEntriesEdits(box.contentBytes);
  if (typeof kept === 'object') return yield* innerEdits(box.contentBytes, kept);
  const keptBytes = keptBytesOf(box, kept);
  yield keep(keptBytes);
  if (keptBytes < box.contentBytes) yield blank(box.contentBytes - keptBytes);
}

function keptBytesOf({ contentBytes }: Box, kept: 'all' | 'all but a long name' | number): number {
  if (typeof kept === 'number') return Math.min(kept, contentBytes);
  const hasLongName = kept === 'all but a long name' && contentBytes > BYTES_BEFORE_NAME + MAX_NAME_BYTES;
  return hasLongName ? BYTES_BEFORE_NAME : contentBytes;
}

function* innerEdits(contentBytes: number, kept: Layout | BoxesBehind): Edits {
  if (!isBehind(kept)) return yield* contentEdits(contentBytes, kept);
  const fixedBytes = Math.min(kept.fixedBytes, contentBytes);
  yield keep(fixedBytes);
  yield* contentEdits(contentBytes - fixedBytes, kept.boxes);
}

function isBehind(kept: Layout | BoxesBehind): kept is BoxesBehind {
  return typeof kept.fixedBytes === 'number' && typeof kept.boxes === 'object';
}

/**
 * The boxes within a box. From where they are not in order, the rest becomes one free box: players differ in what they
 * make of such content, and must not find metadata in it.
 */
function* contentEdits(contentBytes: number, layout: Layout): Edits {
  for (let leftBytes = contentBytes; leftBytes > 0;) {
    const ahead = yield look(Math.min(leftBytes, LOOKED_AT_BYTES));
    // The file ended within a box: what came after it here would be taken for its content.
    if (ahead.length === 0) return void (yield keep(leftBytes));
    const box = boxIn(ahead, leftBytes);
    if (box === undefined) yield* freeEdits(leftBytes);
    else yield* boxEdits(box, layout[box.type]);
    leftBytes = box === undefined ? 0 : leftBytes - bytesOf(box);
  }
}

/**
 * For each known format, the boxes after its fixed fields are edited. Others stay as they are, and the probe refuses
 * them.
 */
function* sampleEntriesEdits(contentBytes: number): Edits {
  const ahead = yield look(Math.min(contentBytes, STSD_BYTES));
  const version = ahead[0] ?? 0;
  yield keep(Math.min(contentBytes, STSD_BYTES));
  for (let leftBytes = contentBytes - STSD_BYTES; leftBytes > 0;) {
    const entryAhead = yield look(Math.min(leftBytes, LOOKED_AT_BYTES));
    if (entryAhead.length === 0) return void (yield keep(leftBytes));
    const box = boxIn(entryAhead, leftBytes);
    if (box === undefined) return yield* freeEdits(leftBytes);
    const entry = sampleEntryIn(entryAhead, box, version);
    const fixedBytes = Math.min(entry?.fixedBytes ?? box.contentBytes, box.contentBytes);
    yield keep(box.headerBytes + fixedBytes);
    if (entry !== undefined) yield* contentEdits(box.contentBytes - fixedBytes, entry.boxes);
    leftBytes -= bytesOf(box);
  }
}

/** A size of 0 says that the box ends with the file: a content of so many bytes is in no file that can be played. */
function* freeEdits(byteCount: number): Edits {
  const header = Buffer.alloc(Math.min(byteCount, FREE_HEADER_BYTES));
  if (byteCount >= FREE_HEADER_BYTES) {
    header.writeUInt32BE(byteCount > MAX_BOX_BYTES ? 0 : byteCount);
    header.set(FREE, 4);
  }
  yield overwrite(header);
  yield blank(byteCount - header.length);
}
