import { orientationOf, orientationTiff, UPRIGHT } from './exif-orientation.js';

const APP0 = 0xe0;
const APP1 = 0xe1;
const APP2 = 0xe2;
const APP11 = 0xeb;
const APP14 = 0xee;
const APP15 = 0xef;
/** States a height that decoders take from elsewhere; they skip it. */
const DEFINE_LINES = 0xdc;
const COMMENT = 0xfe;

/** Marker and length. */
const HEADER_BYTES = 4;
const EXIF = 'Exif\0\0';
/** Where the width and height of the thumbnail stand that may follow. */
const JFIF_THUMBNAIL_AT = 12;

/** The application segments that say how to show the picture: their beginning, and the most bytes of their content. */
const KEPT: Readonly<Record<number, { readonly start: string; readonly byteCount: number }>> = {
  [APP0]: { start: 'JFIF\0', byteCount: 14 },
  [APP2]: { start: 'ICC_PROFILE\0', byteCount: Infinity },
  [APP14]: { start: 'Adobe', byteCount: 12 },
};

/** Decides about the segments of one file that may be metadata, in their order. */
export class JpegSegments {
  /** Whether anything was removed or replaced. */
  hasChanged = false;
  #hasExif = false;
  /** The number that the segments of the C2PA manifest have in common. */
  #manifestNumber: number | undefined;

  static mayBeMetadata(marker: number): boolean {
    return (marker >= APP0 && marker <= APP15) || marker === COMMENT || marker === DEFINE_LINES;
  }

  /**
   * What stays of a segment, given with its marker. Readers take the first EXIF segment, whose orientation stays, and
   * ignore others.
   */
  keptOf(segment: Buffer): 'all' | 'nothing' | Buffer {
    const kept = this.#keptOf(segment);
    if (kept !== 'all') this.hasChanged = true;
    return kept;
  }

  #keptOf(segment: Buffer): 'all' | 'nothing' | Buffer {
    const marker = segment[1]!;
    if (marker === APP11) return this.#isManifest(segment) ? 'all' : 'nothing';
    if (marker === APP1 && beginsWith(segment, EXIF) && !this.#hasExif) {
      this.#hasExif = true;
      const orientation = orientationOf(segment.subarray(HEADER_BYTES + EXIF.length));
      return orientation === UPRIGHT ? 'nothing' : exifSegment(orientation);
    }
    const kept = KEPT[marker];
    if (kept === undefined || !beginsWith(segment, kept.start)) return 'nothing';
    return segment.length <= HEADER_BYTES + kept.byteCount ? 'all' : cutTo(segment, kept.byteCount);
  }

  /**
   * JUMBF boxes are split over segments: `JP`, the number of the box, the number of the part, then the box itself. The
   * first part has the box's description, whose type is C2PA's for a manifest.
   */
  #isManifest(segment: Buffer): boolean {
    if (segment.length < 12 || !beginsWith(segment, 'JP')) return false;
    const number = segment.readUInt16BE(6);
    const isFirstPart = segment.readUInt32BE(8) === 1;
    if (isFirstPart && this.#manifestNumber === undefined && segment.toString('latin1', 24, 32) === 'jumdc2pa')
      this.#manifestNumber = number;
    return number === this.#manifestNumber;
  }
}

function beginsWith(segment: Buffer, start: string): boolean {
  return segment.toString('latin1', HEADER_BYTES, HEADER_BYTES + start.length) === start;
}

function exifSegment(orientation: number): Buffer {
  return segmentOf(APP1, Buffer.concat([Buffer.from(EXIF, 'latin1'), orientationTiff(orientation)]));
}

/** The first bytes of a segment's content. What JFIF has more of is a thumbnail. */
function cutTo(segment: Buffer, byteCount: number): Buffer {
  const content = Buffer.from(segment.subarray(HEADER_BYTES, HEADER_BYTES + byteCount));
  if (segment[1] === APP0) content.fill(0, JFIF_THUMBNAIL_AT);
  return segmentOf(segment[1]!, content);
}

function segmentOf(marker: number, content: Buffer): Buffer {
  const header = Buffer.from([0xff, marker, 0, 0]);
  header.writeUInt16BE(2 + content.length, 2);
  return Buffer.concat([header, content]);
}
