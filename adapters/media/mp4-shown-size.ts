import { contentsOf } from './mp4-box.js';
import { type KnownParts, moviesIn, sampleEntriesOf, type SampleEntryBox, trackIdOf } from './mp4-outline.js';

interface Size {
  readonly widthPx: number;
  readonly heightPx: number;
}

export interface ShownSize {
  /** The pixels of a decoded picture. */
  readonly stored: Size;
  /** In square pixels, after the rotation that the file specifies. */
  readonly shown: Size;
}

/** One, as a fixed-point number of a matrix. */
const UNIT = 0x10000;
/** Scales that differ by less are taken for equal. */
const MIN_SCALE_DIFFERENCE = 0.01;
const FIELDS_BYTES = 78;

/**
 * The size of the pictures of a track as Chromium shows them (`videoWidth` and `videoHeight`), found out by files of every kind.
 * The decoded size is that of the coded pictures, where the sample entry has their header. The shape of a pixel is the one of the
 * `pasp` box; else the scale of the matrix; else what the track header says of another size than the sample entry; else what the
 * coded pictures say. The side that the shape makes longer grows, and is rounded. Only exact quarter turns swap the sides.
 */
export function shownSizeOf(known: KnownParts, trackId: number, described: Size): ShownSize {
  for (const moov of moviesIn(known)) {
    const trak = contentsOf([moov], ['trak']).find((track) => trackIdOf(track) === trackId);
    const entry = trak === undefined ? undefined : sampleEntriesOf(trak)[0];
    if (trak === undefined || entry === undefined) continue;
    const coded = codedPictures(entry);
    const stored = coded?.size ?? described;
    const { matrix, size: inHeader } = headerOf(moov, trak);
    const shape =
      shapeInBox(entry) ??
      scaleOf(matrix) ??
      shapeByHeader(inHeader, sizeInEntry(entry) ?? described) ??
      (coded === undefined || !(coded.shape > 0) ? 1 : coded.shape);
    const shown = stretched(stored, shape);
    return { stored, shown: isQuarterTurn(matrix) ? { widthPx: shown.heightPx, heightPx: shown.widthPx } : shown };
  }
  return { stored: described, shown: described };
}

function stretched({ widthPx, heightPx }: Size, shape: number): Size {
  return shape >= 1
    ? { widthPx: Math.round(widthPx * shape), heightPx }
    : { widthPx, heightPx: Math.round(heightPx / shape) };
}

function sizeInEntry({ content }: SampleEntryBox): Size | undefined {
  return content.length < FIELDS_BYTES
    ? undefined
    : { widthPx: content.readUInt16BE(24), heightPx: content.readUInt16BE(26) };
}

/** A shape of 0, or without a denominator, says nothing. */
function shapeInBox({ boxes }: SampleEntryBox): number | undefined {
  const content = boxes.find(({ type }) => type === 'pasp')?.content;
  if (content === undefined || content.length < 8) return undefined;
  const shape = content.readInt32BE(0) / content.readInt32BE(4);
  return shape > 0 && Number.isFinite(shape) ? shape : undefined;
}

type Matrix = readonly [a: number, b: number, c: number, d: number];
const IDENTITY: Matrix = [UNIT, 0, 0, UNIT];

function headerOf(moov: Buffer, trak: Buffer): { readonly matrix: Matrix; readonly size: Size } {
  const [mvhd] = contentsOf([moov], ['mvhd']);
  const [tkhd] = contentsOf([trak], ['tkhd']);
  const at = tkhd?.[0] === 1 ? 52 : 40;
  const hasSize = tkhd !== undefined && tkhd.length >= at + 44;
  return {
    matrix: product(matrixAt(tkhd, at), matrixAt(mvhd, mvhd?.[0] === 1 ? 48 : 36)),
    // Fractions of a pixel are ignored.
    size: hasSize
      ? { widthPx: tkhd.readUInt16BE(at + 36), heightPx: tkhd.readUInt16BE(at + 40) }
      : { widthPx: 0, heightPx: 0 },
  };
}

/** Its part that turns and scales. */
function matrixAt(header: Buffer | undefined, at: number): Matrix {
  if (header === undefined || header.length < at + 20) return IDENTITY;
  return [header.readInt32BE(at), header.readInt32BE(at + 4), header.readInt32BE(at + 12), header.readInt32BE(at + 16)];
}

function product(first: Matrix, second: Matrix): Matrix {
  const entry = (row: 0 | 2, column: 0 | 1): number =>
    Math.trunc((first[row] * second[column] + first[row === 0 ? 1 : 3] * second[column === 0 ? 2 : 3]) / UNIT);
  return [entry(0, 0), entry(0, 1), entry(2, 0), entry(2, 1)];
}

function isQuarterTurn([a, b, c, d]: Matrix): boolean {
  return a === 0 && d === 0 && Math.abs(b) === Math.abs(c) && Math.abs(b) >= UNIT;
}

function scaleOf([a, b, c, d]: Matrix): number | undefined {
  const scale = Math.hypot(a, c) / Math.hypot(b, d);
  return scale > 0 && Number.isFinite(scale) && Math.abs(scale - 1) > MIN_SCALE_DIFFERENCE ? scale : undefined;
}

function shapeByHeader(inHeader: Size, inEntry: Size): number | undefined {
  if (inHeader.widthPx === inEntry.widthPx && inHeader.heightPx === inEntry.heightPx) return undefined;
  const shape = (inEntry.heightPx * inHeader.widthPx) / (inEntry.widthPx * inHeader.heightPx);
  return shape > 0 && Number.isFinite(shape) ? shape : undefined;
}

interface CodedPictures {
  readonly size: Size;
  /** 0 where they do not say. */
  readonly shape: number;
}

/** The header of H.264 pictures in a sample entry. */
function codedPictures({ boxes }: SampleEntryBox): CodedPictures | undefined {
  const avcC = boxes.find(({ type }) => type === 'avcC')?.content;
  if (avcC === undefined || avcC.length < 8 || (avcC[5]! & 0x1f) === 0) return undefined;
  const sequence = avcC.subarray(8, 8 + avcC.readUInt16BE(6));
  try {
    return sequenceParameters(new BitReader(withoutEmulation(sequence.subarray(1))));
  } catch (error) {
    if (error instanceof RangeError) return undefined;
    throw error;
  }
}

/** Removes the bytes that prevent a start code within coded data (ITU-T H.264, 7.4.1). */
function withoutEmulation(bytes: Buffer): Buffer {
  return Buffer.from(
    bytes.filter((byte, at) => !(byte === 3 && at >= 2 && bytes[at - 1] === 0 && bytes[at - 2] === 0)),
  );
}

class BitReader {
  #at = 0;

  constructor(private readonly bytes: Buffer) {}

  /** Throws RangeError behind the end. */
  bits(count: number): number {
    let value = 0;
    for (let left = count; left > 0; left -= 1, this.#at += 1) {
      const byte = this.bytes[this.#at >> 3];
      if (byte === undefined) throw new RangeError('There are no more bits.');
      value = value * 2 + ((byte >> (7 - (this.#at & 7))) & 1);
    }
    return value;
  }

  /** A number by Exp-Golomb (ITU-T H.264, 9.1). */
  number(): number {
    let zeros = 0;
    while (this.bits(1) === 0) {
      zeros += 1;
      if (zeros > 32) throw new RangeError('The number is too long.');
    }
    return 2 ** zeros - 1 + this.bits(zeros);
  }

  signed(): number {
    const value = this.number();
    return value % 2 === 1 ? (value + 1) / 2 : -value / 2;
  }
}

/** Profiles whose header says more of colours (ITU-T H.264, 7.3.2.1.1). */
const WITH_COLOURS: ReadonlySet<number> = new Set([100, 110, 122, 244, 44, 83, 86, 118, 128, 138, 139, 134, 135]);
/** The ratios by index (ITU-T H.264, table E-1); index 0 states none. */
const SHAPES = [
  0,
  1,
  12 / 11,
  10 / 11,
  16 / 11,
  40 / 33,
  24 / 11,
  20 / 11,
  32 / 11,
  80 / 33,
  18 / 11,
  15 / 11,
  64 / 33,
  160 / 99,
  4 / 3,
  3 / 2,
  2,
];
const STATED_SHAPE = 255;

function sequenceParameters(reader: BitReader): CodedPictures | undefined {
  const profile = reader.bits(8);
  reader.bits(16);
  reader.number();
  const chroma = WITH_COLOURS.has(profile) ? skipColours(reader) : 1;
  reader.number();
  const orderType = reader.number();
  if (orderType === 0) reader.number();
  else if (orderType === 1) {
    reader.bits(1);
    reader.signed();
    reader.signed();
    for (let left = reader.number(); left > 0; left -= 1) reader.signed();
  }
  reader.number();
  reader.bits(1);
  const [unitsAcross, unitsDown] = [reader.number() + 1, reader.number() + 1];
  const isOfFrames = reader.bits(1) === 1;
  if (!isOfFrames) reader.bits(1);
  reader.bits(1);
  const cut =
    reader.bits(1) === 1 ? [reader.number(), reader.number(), reader.number(), reader.number()] : [0, 0, 0, 0];
  const cutX = chroma === 1 || chroma === 2 ? 2 : 1;
  const cutY = (chroma === 1 ? 2 : 1) * (isOfFrames ? 1 : 2);
  const size = {
    widthPx: unitsAcross * 16 - (cut[0]! + cut[1]!) * cutX,
    heightPx: unitsDown * 16 * (isOfFrames ? 1 : 2) - (cut[2]! + cut[3]!) * cutY,
  };
  if (size.widthPx < 1 || size.heightPx < 1) return undefined;
  return { size, shape: reader.bits(1) === 1 && reader.bits(1) === 1 ? shapeIn(reader) : 0 };
}

function shapeIn(reader: BitReader): number {
  const index = reader.bits(8);
  if (index !== STATED_SHAPE) return SHAPES[index] ?? 0;
  const [width, height] = [reader.bits(16), reader.bits(16)];
  return height === 0 ? 0 : width / height;
}

/** Returns how colours are sampled: 0 none, 1 halved both ways, 2 halved across, 3 in full. */
function skipColours(reader: BitReader): number {
  const chroma = reader.number();
  const isInPlanes = chroma === 3 && reader.bits(1) === 1;
  reader.number();
  reader.number();
  reader.bits(1);
  if (reader.bits(1) === 1) skipScaling(reader, chroma === 3 ? 12 : 8);
  return isInPlanes ? 0 : chroma;
}

function skipScaling(reader: BitReader, lists: number): void {
  for (let list = 0; list < lists; list += 1) {
    if (reader.bits(1) === 0) continue;
    let [last, next] = [8, 8];
    for (let left = list < 6 ? 16 : 64; left > 0; left -= 1) {
      if (next !== 0) next = (last + reader.signed() + 256) % 256;
      last = next === 0 ? last : next;
    }
  }
}

/** The shortest `colr` boxes that are complete, by what is in them. */
const COLOUR_BYTES: Readonly<Record<string, number>> = { nclx: 11, nclc: 10 };

/**
 * Renames, in place, the colour boxes of sample entries that are shorter than their kind is: players skip what they lack, while
 * mediabunny reads behind them and fails.
 */
export function hideShortColours(known: KnownParts): void {
  for (const trak of contentsOf(moviesIn(known), ['trak']))
    for (const { boxes } of sampleEntriesOf(trak))
      for (const { type, content } of boxes) {
        const needed = COLOUR_BYTES[content.toString('latin1', 0, 4)] ?? 4;
        if (type !== 'colr' || content.length >= needed) continue;
        Buffer.from(content.buffer, content.byteOffset - 4, 4).write('free', 'latin1');
      }
}
