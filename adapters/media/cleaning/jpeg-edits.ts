import { isStartOfFrame, standsAlone } from '../../../core/media/image-header.js';
import {
  afterScan,
  APP0,
  APP1,
  APP14,
  END_OF_IMAGE,
  EXIF,
  EXIF_BYTES,
  isMetadata,
  START_OF_IMAGE,
  START_OF_SCAN,
} from '../jpeg-file.js';
import {
  type CleaningPass,
  type Edits,
  insert,
  insertForMark,
  keep,
  look,
  overwrite,
  remove,
  removeRest,
} from './edits.js';
import { orientationOf, orientationTiff, UPRIGHT } from './exif-orientation.js';

const APP2 = 0xe2;
const APP11 = 0xeb;
/** States a height that decoders take from elsewhere; they skip it. */
const DEFINE_LINES = 0xdc;

/** Marker and length. */
const HEADER_BYTES = 4;
const JFIF = 'JFIF\0';
const XMP = 'http://ns.adobe.com/xap/1.0/\0';

/**
 * Removes comments, the application segments that do not say how to show the picture, and bytes between segments, which
 * decoders skip. The mark is written before the first segment that has to follow it. Corrects values that a decoder
 * warns about and does not use. When no segment can be read in the file, none can be read in the output either.
 */
export function* jpegEdits(pass: CleaningPass): Edits {
  yield keep(2);
  const segments = new JpegSegments(pass);
  for (;;) {
    const head = yield look(HEADER_BYTES);
    const strayBytes = strayBytesIn(head);
    const marker = head[1];
    if (strayBytes > 0) yield remove(strayBytes);
    else if (marker === 0xff) yield keep(fillBytesIn(head));
    else if (marker === END_OF_IMAGE) break;
    else if (marker !== undefined && standsAlone(marker)) yield keep(2);
    else {
      const segmentBytes = segmentBytesIn(head);
      if (segmentBytes === undefined) return;
      yield* segments.edits(marker!, segmentBytes);
      if (marker === START_OF_SCAN) yield* scanEdits();
    }
  }
  yield keep(2);
  yield removeRest();
}

/** Decoders skip what does not begin with 0xff, and 0xff with a zero, as it is in compressed data. */
function strayBytesIn(head: Buffer): number {
  const [first, second] = head;
  if (first === undefined) return 0;
  if (first === 0xff) return second === 0x00 ? 2 : 0;
  const markerAt = head.indexOf(0xff);
  return markerAt === -1 ? head.length : markerAt;
}

/** Any number of these may be before a marker, whose own one is not counted. */
function fillBytesIn(head: Buffer): number {
  let end = 0;
  while (head[end] === 0xff) end += 1;
  return end - 1;
}

function segmentBytesIn(head: Buffer): number | undefined {
  if (head.length < HEADER_BYTES || head[1] === START_OF_IMAGE) return undefined;
  const byteCount = head.readUInt16BE(2);
  return byteCount < 2 ? undefined : 2 + byteCount;
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

/** The application segments that say how to show the picture: their beginning, and the most bytes of their content. */
const KEPT: Readonly<Record<number, { readonly start: string; readonly byteCount: number }>> = {
  [APP0]: { start: JFIF, byteCount: 14 },
  [APP2]: { start: 'ICC_PROFILE\0', byteCount: Infinity },
  [APP14]: { start: 'Adobe', byteCount: 12 },
};

/** Offsets of values that may be corrected, in the content of their segments. */
const JFIF_VERSION_AT = 5;
/** The width and height of a thumbnail, which may follow. */
const JFIF_THUMBNAIL_AT = 12;
const ADOBE_TRANSFORM_AT = 11;
/**
 * The transforms by number of components: YCbCr and YCCK. A decoder takes these for a transform that it does not know.
 */
const ADOBE_TRANSFORMS: Readonly<Record<number, number>> = { 3: 1, 4: 2 };
const ADOBE = Buffer.from('Adobe\0\x64\0\0\0\0\0', 'latin1');

/** The coefficients that a sequential scan states, which are all of them. */
const ALL_COEFFICIENTS = Buffer.of(0, 63, 0);

/** Decides about the segments of one file, in their order. */
class JpegSegments {
  readonly #pass: CleaningPass;
  #hasExif = false;
  /** The number that the segments of the C2PA manifest have in common. */
  #manifestNumber: number | undefined;
  #isSequential = false;
  #components: number | undefined;
  #transform: number | undefined;
  #hasJfif = false;

  constructor(pass: CleaningPass) {
    this.#pass = pass;
  }

  *edits(marker: number, segmentBytes: number): Edits {
    if (isMetadata(marker) || marker === DEFINE_LINES) {
      const segment = (yield look(segmentBytes)).subarray(0, segmentBytes);
      return yield* this.#metadataEdits(segment, segmentBytes);
    }
    yield* this.#markEdits();
    if (isStartOfFrame(marker)) yield* this.#frameEdits(marker);
    if (marker === START_OF_SCAN && this.#isSequential) yield* scanHeaderEdits(segmentBytes);
    else yield keep(segmentBytes);
  }

  *#metadataEdits(segment: Buffer, segmentBytes: number): Edits {
    const kept = this.#keptOf(segment);
    const isLead = kept !== undefined && (beginsWith(kept, APP0, JFIF) || beginsWith(kept, APP1, EXIF));
    if (kept !== undefined && !isLead) yield* this.#markEdits();
    if (kept?.length === segmentBytes) yield overwrite(kept);
    else {
      yield remove(segmentBytes);
      if (kept !== undefined) yield insert(kept);
    }
  }

  *#markEdits(): Edits {
    const { packet, writesMark } = this.#pass;
    if (packet === undefined || !writesMark) return;
    yield insertForMark(segmentOf(APP1, Buffer.concat([Buffer.from(XMP, 'latin1'), packet])));
    this.#pass.isMarked = true;
  }

  /**
   * The bytes of a segment that are kept, with its marker. Readers take the first EXIF segment, whose orientation
   * stays, and ignore others.
   */
  #keptOf(segment: Buffer): Buffer | undefined {
    const marker = segment[1]!;
    if (marker === APP11) return this.#isKeptManifest(segment) ? segment : undefined;
    if (beginsWith(segment, APP1, EXIF) && !this.#hasExif) {
      this.#hasExif = true;
      const orientation = orientationOf(segment.subarray(HEADER_BYTES + EXIF_BYTES));
      return orientation === UPRIGHT ? undefined : exifSegment(orientation);
    }
    const rule = KEPT[marker];
    if (rule === undefined || !beginsWith(segment, marker, rule.start)) return undefined;
    if (marker === APP0) return this.#jfif(segment);
    return marker === APP14 ? this.#adobe(segment) : segment;
  }

  #jfif(segment: Buffer): Buffer {
    this.#hasJfif = true;
    const content = contentOf(segment, APP0);
    // The rest of the content is a thumbnail.
    if (segment.length > HEADER_BYTES + content.length) content.fill(0, JFIF_THUMBNAIL_AT);
    if (content.length > JFIF_VERSION_AT && content[JFIF_VERSION_AT] !== 1) content.set([1, 2], JFIF_VERSION_AT);
    return segmentOf(APP0, content);
  }

  /** One with a transform that no decoder knows is written anew before the frame, which has the number of components. */
  #adobe(segment: Buffer): Buffer | undefined {
    const content = contentOf(segment, APP14);
    const transform = content[ADOBE_TRANSFORM_AT];
    if (transform === undefined) return segmentOf(APP14, content);
    this.#transform = transform;
    if (this.#components !== undefined) content[ADOBE_TRANSFORM_AT] = this.#transformFor(transform, this.#components);
    return transform > 2 && this.#components === undefined ? undefined : segmentOf(APP14, content);
  }

  #transformFor(transform: number, components: number): number {
    const isUnused = this.#hasJfif && components === 3;
    if (transform === 0 || (transform <= 2 && isUnused)) return transform;
    return ADOBE_TRANSFORMS[components] ?? Math.min(transform, 2);
  }

  *#frameEdits(marker: number): Edits {
    const header = yield look(HEADER_BYTES + 6);
    const components = header[HEADER_BYTES + 5];
    this.#components ??= components;
    this.#isSequential = marker === 0xc0 || marker === 0xc1;
    if (this.#transform === undefined || components === undefined) return;
    const transform = this.#transformFor(this.#transform, components);
    if (transform === this.#transform) return;
    const content = Buffer.from(ADOBE);
    content[ADOBE_TRANSFORM_AT] = transform;
    yield insert(segmentOf(APP14, content));
  }

  /**
   * JUMBF boxes are split over segments: `JP`, the number of the box, the number of the part, then the box, whose header is
   * in each part. The first part has the box's description, whose type is C2PA's for a manifest.
   */
  #isKeptManifest(segment: Buffer): boolean {
    if (segment.length < 12 || !beginsWith(segment, APP11, 'JP')) return false;
    const number = segment.readUInt16BE(6);
    const isFirstPart = segment.readUInt32BE(8) === 1;
    const headerBytes = segment.length >= 16 && segment.readUInt32BE(12) === 1 ? 28 : 20;
    const type = segment.toString('latin1', headerBytes + 4, headerBytes + 12);
    if (isFirstPart && this.#manifestNumber === undefined && type === 'jumdc2pa') this.#manifestNumber = number;
    if (number !== this.#manifestNumber || !this.#pass.keepsManifest()) return false;
    this.#pass.scanManifest(segment.subarray(headerBytes));
    return true;
  }
}

/** The header of a scan ends with three bytes that a sequential decoder does not use. */
function* scanHeaderEdits(segmentBytes: number): Edits {
  const head = yield look(HEADER_BYTES + 1);
  const listBytes = HEADER_BYTES + 1 + 2 * (head[HEADER_BYTES] ?? 0);
  const isWellFormed = segmentBytes === listBytes + ALL_COEFFICIENTS.length;
  yield keep(isWellFormed ? listBytes : segmentBytes);
  if (isWellFormed) yield overwrite(ALL_COEFFICIENTS);
}

function beginsWith(segment: Buffer, marker: number, start: string): boolean {
  return segment[1] === marker && segment.toString('latin1', HEADER_BYTES, HEADER_BYTES + start.length) === start;
}

/** A copy of a segment's content, as far as it is kept. */
function contentOf(segment: Buffer, marker: number): Buffer {
  return Buffer.from(segment.subarray(HEADER_BYTES, HEADER_BYTES + KEPT[marker]!.byteCount));
}

function exifSegment(orientation: number): Buffer {
  return segmentOf(
    APP1,
    Buffer.concat([Buffer.from(EXIF.padEnd(EXIF_BYTES, '\0'), 'latin1'), orientationTiff(orientation)]),
  );
}

function segmentOf(marker: number, content: Buffer): Buffer {
  const header = Buffer.from([0xff, marker, 0, 0]);
  header.writeUInt16BE(2 + content.length, 2);
  return Buffer.concat([header, content]);
}
