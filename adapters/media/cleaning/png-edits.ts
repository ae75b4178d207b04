import { crc32 } from 'node:zlib';
import { CHECKSUM_BYTES, PNG_SIGNATURE_BYTES, XMP_PREFIX } from '../png-file.js';
import {
  type CleaningPass,
  type Edits,
  insert,
  insertForMark,
  keep,
  keepManifest,
  look,
  overwrite,
  remove,
  removeRest,
} from './edits.js';
import { MAX_EXIF_LOOKED_AT_BYTES, orientationOf, orientationTiff, UPRIGHT } from './exif-orientation.js';

/** A chunk's length and type. */
const HEADER_BYTES = 8;

/**
 * The most bytes of the chunks without which the picture is not shown the same: colours, transparency, density,
 * animation. A decoder ignores one of another size.
 */
const KEPT_BYTES: Readonly<Record<string, number>> = {
  tRNS: 256,
  cHRM: 32,
  gAMA: 4,
  iCCP: Infinity,
  sBIT: 4,
  sRGB: 1,
  cICP: 4,
  mDCV: 24,
  cLLI: 8,
  bKGD: 6,
  hIST: 512,
  pHYs: 9,
  acTL: 8,
  fcTL: 26,
  fdAT: Infinity,
};

/** The chunks with which the pixels begin. Some readers look for XMP only before them. */
const FIRST_OF_PIXELS: ReadonlySet<string> = new Set(['IDAT', 'fcTL']);
/** A decoder needs no other chunks after the first pixels. */
const KEPT_BEHIND: ReadonlySet<string> = new Set(['IDAT', 'fcTL', 'fdAT', 'IEND']);

/**
 * Whether the first letter is a capital: a decoder must not skip such a chunk. One that it does not know makes the file
 * invalid, so that all of them can be kept.
 */
function isCritical(type: string): boolean {
  return (type.charCodeAt(0) & 0x20) === 0;
}

/**
 * Removes chunks that are neither critical nor in the list. The orientation of EXIF data is kept, because browsers
 * apply it. The mark comes last before the pixels: a manifest is usually before them as well.
 */
export function* pngEdits(pass: CleaningPass): Edits {
  yield keep(PNG_SIGNATURE_BYTES);
  const mark = pass.packet && pngChunk('iTXt', Buffer.concat([XMP_PREFIX, pass.packet]));
  let isBeforePixels = true;
  let hasData = false;
  let hasExif = false;
  for (;;) {
    const header = yield look(HEADER_BYTES);
    if (header.length < HEADER_BYTES) return;
    const dataBytes = header.readUInt32BE(0);
    const type = header.toString('latin1', 4, HEADER_BYTES);
    const chunkBytes = HEADER_BYTES + dataBytes + CHECKSUM_BYTES;
    if (isBeforePixels && FIRST_OF_PIXELS.has(type)) {
      isBeforePixels = false;
      if (mark && pass.writesMark) {
        yield insertForMark(mark);
        pass.isMarked = true;
      }
    }
    hasData ||= type === 'IDAT';
    if (type === 'eXIf' && !hasExif) hasExif = yield* exifEdits(dataBytes);
    else if (type === 'caBX') yield pass.keepsOnlyManifest() ? keepManifest(chunkBytes) : remove(chunkBytes);
    else if (type === 'iTXt' && isBeforePixels && mark?.length === chunkBytes) yield* textEdits(mark, pass);
    else yield isNeeded(type, dataBytes, hasData) ? keep(chunkBytes) : remove(chunkBytes);
    if (type === 'IEND') break;
  }
  yield removeRest();
}

function isNeeded(type: string, dataBytes: number, hasData: boolean): boolean {
  if (hasData && !KEPT_BEHIND.has(type)) return false;
  return isCritical(type) || dataBytes <= (KEPT_BYTES[type] ?? -1);
}

/** A text as long as the mark, which may be the mark of an earlier pass. */
function* textEdits(mark: Buffer, pass: CleaningPass): Edits {
  const isOurs = mark.equals((yield look(mark.length)).subarray(0, mark.length));
  const isKept = isOurs && !pass.isMarked;
  if (isKept) pass.adoptMark();
  yield isKept ? keep(mark.length) : remove(mark.length);
}

/** Readers take the first EXIF data whose checksum is right; browsers, only before the pixels. Returns whether it is right. */
function* exifEdits(dataBytes: number): Edits<boolean> {
  const lookedAtBytes = Math.min(dataBytes, MAX_EXIF_LOOKED_AT_BYTES);
  const chunkBytes = HEADER_BYTES + dataBytes + CHECKSUM_BYTES;
  const chunk = (yield look(HEADER_BYTES + lookedAtBytes + CHECKSUM_BYTES)).subarray(0, chunkBytes);
  if (chunk.length === chunkBytes && crc32(chunk.subarray(4, -CHECKSUM_BYTES)) !== chunk.readUInt32BE(chunkBytes - 4)) {
    yield remove(chunkBytes);
    return false;
  }
  const orientation = orientationOf(chunk.subarray(HEADER_BYTES, HEADER_BYTES + lookedAtBytes));
  const kept = orientation === UPRIGHT ? undefined : pngChunk('eXIf', orientationTiff(orientation));
  if (kept?.length === chunkBytes) yield overwrite(kept);
  else {
    yield remove(chunkBytes);
    if (kept) yield insert(kept);
  }
  return true;
}

function pngChunk(type: string, data: Buffer): Buffer {
  const chunk = Buffer.alloc(HEADER_BYTES + data.length + CHECKSUM_BYTES);
  chunk.writeUInt32BE(data.length, 0);
  chunk.write(type, 4, 'latin1');
  data.copy(chunk, HEADER_BYTES);
  chunk.writeUInt32BE(crc32(chunk.subarray(4, HEADER_BYTES + data.length)), HEADER_BYTES + data.length);
  return chunk;
}
