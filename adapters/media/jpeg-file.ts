import { standsAlone } from '../../core/media/image-header.js';
import { orientationOf, swapsSides, UPRIGHT } from './cleaning/exif-orientation.js';
import { BROKEN, type ContainerEnd, viewOf } from './container-end.js';

export const START_OF_IMAGE = 0xd8;
export const END_OF_IMAGE = 0xd9;
export const START_OF_SCAN = 0xda;

/** A frame header that says that its scans are coded arithmetically. */
export function isArithmetic(marker: number): boolean {
  return (marker >= 0xc9 && marker <= 0xcb) || (marker >= 0xcd && marker <= 0xcf);
}

/**
 * The next marker's place in entropy-coded data: an 0xff that is neither stuffed nor a restart marker. The length of the
 * view where there is none; a last 0xff alone is none.
 */
export function afterScan(view: Buffer, from: number): number {
  let at = view.indexOf(0xff, from);
  while (at !== -1 && at + 1 < view.length) {
    const following = view[at + 1]!;
    if (following !== 0x00 && following !== 0xff && !standsAlone(following)) return at;
    at += following === 0xff ? 1 : 2;
    // A search costs as much as a dozen steps.
    if (view[at] !== 0xff) at = view.indexOf(0xff, at);
  }
  return view.length;
}

/** A decoder goes through all pixels for each scan, however short it is. Encoders write some ten of them. */
export const MAX_SCANS = 100;

const refused = (invalid: string): ContainerEnd => ({ complete: false, invalid });
const MANY_SCANS = refused(`The image has more than ${MAX_SCANS} scans.`);
const SEND_BASELINE = 'send a baseline or progressive JPEG with 8 bits per sample';
/** Almost no program reads those, and a scan of nothing takes a byte. */
const ARITHMETIC = refused('The image is coded arithmetically, which few programs read.');
const LOSSLESS = refused(`The image is a lossless or hierarchical JPEG, which few programs read; ${SEND_BASELINE}.`);
const JPEG_LS = refused(`The image is a JPEG-LS, which few programs read; ${SEND_BASELINE}.`);
const NO_HEIGHT = refused('The JPEG does not state its height before its pixels; send one that does.');

export const APP0 = 0xe0;
export const APP1 = 0xe1;
export const APP14 = 0xee;
const APP15 = 0xef;
export const COMMENT = 0xfe;
const FRAME_OF_JPEG_LS = 0xf7;
const PROGRESSIVE = 0xc2;
/** Baseline, extended and progressive frames of Huffman codes. */
const FRAMES_READ: ReadonlySet<number> = new Set([0xc0, 0xc1, PROGRESSIVE]);
/** Lossless frames, and those of a hierarchy of pictures. */
const OTHER_FRAMES: ReadonlySet<number> = new Set([0xc3, 0xc5, 0xc6, 0xc7]);
/** Tables, their parameters, and the number of lines, which decoders skip. */
const TABLES: ReadonlySet<number> = new Set([0xc4, 0xdb, 0xdc, 0xdd]);
const MAX_SCAN_COMPONENTS = 4;
const LAST_COEFFICIENT = 63;
const MAX_LOW_BIT = 13;
export const EXIF = 'Exif\0';
/** The text, and a byte after it that readers ignore. */
export const EXIF_BYTES = 6;

interface Segment {
  readonly marker: number;
  /** The offset of the last 0xff before the marker. */
  readonly at: number;
  /** The offset after the length. */
  readonly contentAt: number;
  readonly contentEnd: number;
  /** Behind the coded data of a scan; for others, as `contentEnd`. */
  readonly end: number;
}

/**
 * The segments up to the end-of-image marker, which is the last. Bytes between segments that are not a marker are skipped, as
 * decoders skip them. Ends without that marker where a segment is not whole.
 */
function* segmentsOf(view: Buffer): Generator<Segment> {
  for (let at = 2; at + 1 < view.length;) {
    const marker = view[at + 1]!;
    if (view[at] !== 0xff) {
      at = view.indexOf(0xff, at);
      if (at === -1) return;
    } else if (marker === 0x00) at += 2;
    else if (marker === 0xff) at += 1;
    else if (standsAlone(marker)) at += 2;
    else {
      const isAlone = marker === END_OF_IMAGE || marker === START_OF_IMAGE;
      if (isAlone) yield { marker, at, contentAt: at + 2, contentEnd: at + 2, end: at + 2 };
      if (isAlone || at + 4 > view.length) return;
      const segmentBytes = view.readUInt16BE(at + 2);
      const contentEnd = at + 2 + segmentBytes;
      if (segmentBytes < 2 || contentEnd > view.length) return;
      const end = marker === START_OF_SCAN ? afterScan(view, contentEnd) : contentEnd;
      yield { marker, at, contentAt: at + 4, contentEnd, end };
      at = end;
    }
  }
}

/**
 * Walks the segments up to the end-of-image marker of the first picture. Refuses what sharp and browsers do not decode, and scans
 * that take a decoder long.
 */
export function jpegEnd(bytes: Uint8Array): ContainerEnd {
  const view = viewOf(bytes);
  let scans = 0;
  let frame: Frame | undefined;
  for (const segment of segmentsOf(view)) {
    const { marker, end } = segment;
    if (marker === END_OF_IMAGE)
      return scans > 0
        ? { complete: true, byteSize: end, frames: 1, isTurned: swapsSides(jpegOrientation(bytes)) }
        : BROKEN;
    if (isArithmetic(marker)) return ARITHMETIC;
    if (OTHER_FRAMES.has(marker)) return LOSSLESS;
    if (marker === FRAME_OF_JPEG_LS && frame === undefined) return JPEG_LS;
    if (FRAMES_READ.has(marker)) {
      const fault = frame === undefined ? frameFault(view, segment) : BROKEN;
      if (fault !== undefined) return fault;
      frame = frameOf(view.subarray(segment.contentAt, segment.contentEnd), marker);
    } else if (marker === START_OF_SCAN) {
      scans += 1;
      if (frame === undefined || !isScanOf(frame, view.subarray(segment.contentAt, segment.contentEnd))) return BROKEN;
      if (scans > MAX_SCANS) return MANY_SCANS;
    } else if (!isMetadata(marker) && !TABLES.has(marker)) return BROKEN;
  }
  return BROKEN;
}

/** The orientation in which browsers show a JPEG: that of the first segment of EXIF data, before the first scan. */
export function jpegOrientation(bytes: Uint8Array): number {
  const view = viewOf(bytes);
  for (const segment of segmentsOf(view)) {
    if (segment.marker === START_OF_SCAN) break;
    if (isExif(view, segment)) return orientationOf(view.subarray(segment.contentAt + EXIF_BYTES, segment.contentEnd));
  }
  return UPRIGHT;
}

function frameFault(view: Buffer, { contentAt, contentEnd }: Segment): ContainerEnd | undefined {
  if (contentEnd < contentAt + 6) return BROKEN;
  const [bits, heightPx, components] = [view[contentAt]!, view.readUInt16BE(contentAt + 1), view[contentAt + 5]!];
  if (bits !== 8)
    return refused(`The image is a JPEG with ${bits} bits per sample, which few programs read; ${SEND_BASELINE}.`);
  if (heightPx === 0) return NO_HEIGHT;
  if (components !== 1 && components !== 3 && components !== 4)
    return refused(`The image is a JPEG of ${components} components; send one of 1, 3 or 4 components.`);
  return contentEnd < contentAt + 6 + 3 * components ? BROKEN : undefined;
}

interface Frame {
  readonly isProgressive: boolean;
  readonly components: readonly number[];
}

function frameOf(content: Buffer, marker: number): Frame {
  const components = Array.from({ length: content[5]! }, (_, index) => content[6 + 3 * index]!);
  return { isProgressive: marker === PROGRESSIVE, components };
}

/**
 * Whether decoders accept the header of a scan (ITU-T T.81, B.2.3 and G.1.1.1). They fail at one that they do not accept, so
 * `withoutOddities` must not see it: it could leave the scan out, and with it the fault.
 */
function isScanOf(frame: Frame, scan: Buffer): boolean {
  const count = scan[0] ?? 0;
  if (count < 1 || count > MAX_SCAN_COMPONENTS || scan.length !== 2 * count + 4) return false;
  // Some encoders give all components one identifier, which decoders accept.
  const unused = [...frame.components];
  for (let index = 0; index < count; index += 1) {
    const place = unused.indexOf(scan[1 + 2 * index]!);
    if (place === -1) return false;
    unused.splice(place, 1);
  }
  if (!frame.isProgressive) return true;
  const [from, to, bits] = [scan.at(-3)!, scan.at(-2)!, scan.at(-1)!];
  const [highBit, lowBit] = [bits >> 4, bits & 0x0f];
  const isBand = from === 0 ? to === 0 : from <= to && to <= LAST_COEFFICIENT && count === 1;
  return isBand && lowBit <= MAX_LOW_BIT && (highBit === 0 || lowBit === highBit - 1);
}

function isExif(view: Buffer, { marker, contentAt, contentEnd }: Segment): boolean {
  return marker === APP1 && view.subarray(contentAt, contentEnd).toString('latin1', 0, EXIF.length) === EXIF;
}

/** Segments that no pixel depends on, except for the meaning of its components. */
export function isMetadata(marker: number): boolean {
  return (marker >= APP0 && marker <= APP15) || marker === COMMENT;
}

/** No fault of a header depends on the size, unless it is none. */
const OUTLINE_SIDE_PX = 8;

/**
 * A JPEG with the headers of this one, a few pixels large and without coded data: a decoder finds every fault of the headers in
 * it, and takes next to no time and memory. The bytes are those of a picture whose end `jpegEnd` found.
 */
export function jpegOutline(bytes: Uint8Array): Uint8Array {
  const view = viewOf(bytes);
  const parts: Buffer[] = [view.subarray(0, 2)];
  for (const { marker, at, contentEnd } of segmentsOf(view)) {
    if (isMetadata(marker) && marker !== APP0 && marker !== APP14) continue;
    const part = Buffer.from(view.subarray(at, contentEnd));
    if (FRAMES_READ.has(marker))
      for (const side of [5, 7]) part.writeUInt16BE(Math.min(OUTLINE_SIDE_PX, part.readUInt16BE(side)), side);
    parts.push(part);
  }
  return Buffer.concat(parts);
}

/**
 * Removes from a JPEG, in place, what decoders warn about though no pixel depends on it: bytes between segments,
 * metadata, parameters of scans that a sequential decoder does not use, and scans that do not refine what came before.
 * The result is shorter, and has the same coded data. Undefined where nothing had to change.
 */
export function withoutOddities(bytes: Uint8Array): Uint8Array | undefined {
  const view = viewOf(bytes);
  const progression = new Progression();
  let isProgressive = false;
  let length = 2;
  let hasChanged = false;
  for (const { marker, at, contentAt, contentEnd, end } of segmentsOf(view)) {
    isProgressive ||= marker === PROGRESSIVE;
    const isScan = marker === START_OF_SCAN;
    if (isScan && !isProgressive) hasChanged = makeSequential(view.subarray(contentAt, contentEnd)) || hasChanged;
    const isLeftOut =
      isMetadata(marker) || (isScan && isProgressive && !progression.accepts(view.subarray(contentAt, contentEnd)));
    if (isLeftOut) continue;
    hasChanged ||= at !== length;
    view.copyWithin(length, at, end);
    length += end - at;
  }
  return hasChanged ? bytes.subarray(0, length) : undefined;
}

/** Writes the only parameters that a scan of a sequential frame may have. Returns whether others were there. */
function makeSequential(scan: Buffer): boolean {
  const parameters = scan.subarray(-3);
  if (parameters.length < 3 || (parameters[0] === 0 && parameters[1] === LAST_COEFFICIENT && parameters[2] === 0))
    return false;
  parameters.set([0, LAST_COEFFICIENT, 0]);
  return true;
}

/** The bits of the coefficients that the scans of a progressive frame have given so far (ITU-T T.81, G.1.1.1). */
class Progression {
  /** The lowest bit that is known of each coefficient, by component. */
  readonly #lowBits = new Map<number, number[]>();

  /** Whether a scan continues those before it; only then it counts. */
  accepts(scan: Buffer): boolean {
    const count = scan[0] ?? 0;
    const [from = 0, to = 0, bits = 0] = scan.subarray(1 + 2 * count);
    const components = Array.from({ length: count }, (_, index) => scan[1 + 2 * index] ?? 0);
    for (const component of components) {
      const lowBits = this.#lowBits.get(component) ?? [];
      if (from > 0 && lowBits[0] === undefined) return false;
      for (let at = from; at <= to; at += 1) if ((lowBits[at] ?? 0) !== bits >> 4) return false;
    }
    for (const component of components) {
      const lowBits = this.#lowBits.get(component) ?? [];
      for (let at = from; at <= to; at += 1) lowBits[at] = bits & 0x0f;
      this.#lowBits.set(component, lowBits);
    }
    return true;
  }
}
