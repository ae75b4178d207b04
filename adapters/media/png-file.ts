import { setImmediate } from 'node:timers/promises';
import { crc32, inflateSync } from 'node:zlib';
import { orientationOf, swapsSides, UPRIGHT } from './cleaning/exif-orientation.js';
import { BROKEN, type ContainerEnd, viewOf } from './container-end.js';

export const PNG_SIGNATURE_BYTES = 8;
const LENGTH_BYTES = 4;
const TYPE_BYTES = 4;
export const CHECKSUM_BYTES = 4;

export const IHDR = typeNamed('IHDR');
export const PLTE = typeNamed('PLTE');
export const IDAT = typeNamed('IDAT');
export const IEND = typeNamed('IEND');
export const ACTL = typeNamed('acTL');
export const EXIF = typeNamed('eXIf');
export const PHYS = typeNamed('pHYs');
export const TEXT = typeNamed('tEXt');
export const ZTXT = typeNamed('zTXt');
export const ITXT = typeNamed('iTXt');

/** The place of a chunk: a file can have millions, so that none is copied before it is needed. */
export interface PngChunk {
  /** The four letters of its name as a number. */
  readonly type: number;
  readonly typeAt: number;
  readonly contentAt: number;
  /** The end of the content, where its checksum, of type and content, begins. */
  readonly checksumAt: number;
  /** The offset of the next chunk. */
  readonly end: number;
}

/** The chunks of a file that begins with a PNG's signature, up to the first that is not whole. Checksums are not checked. */
export function* pngChunks(bytes: Buffer): Generator<PngChunk> {
  for (let at = PNG_SIGNATURE_BYTES; at + LENGTH_BYTES + TYPE_BYTES + CHECKSUM_BYTES <= bytes.length;) {
    const typeAt = at + LENGTH_BYTES;
    const contentAt = typeAt + TYPE_BYTES;
    const checksumAt = contentAt + bytes.readUInt32BE(at);
    const end = checksumAt + CHECKSUM_BYTES;
    if (end > bytes.length) return;
    yield { type: bytes.readUInt32BE(typeAt), typeAt, contentAt, checksumAt, end };
    at = end;
  }
}

function typeNamed(name: string): number {
  return Buffer.from(name, 'latin1').readUInt32BE(0);
}

/** The number of chunks after which other work of the process may run. An ordinary picture has fewer. */
export const CHUNKS_A_TURN = 2 ** 14;

/**
 * The memory that compressed texts may take in a decoder, which keeps them all. Each takes 8 MiB at most, and no more than deflate
 * can make of its bytes.
 */
const MAX_TEXT_BYTES = 32 * 1024 * 1024;
const MOST_OF_ONE_BYTES = 8 * 1024 * 1024;
const MOST_TIMES = 1_032;
const KEYWORD_BYTES = 80;

const LONG_TEXTS: ContainerEnd = {
  complete: false,
  invalid: 'The image has compressed texts that may take more memory than is allowed.',
};

/**
 * Walks the chunks up to IEND; an animation's own chunk has the number of frames. Refuses compressed texts that would make a
 * decoder hold much more than the file.
 */
export async function pngEnd(bytes: Uint8Array): Promise<ContainerEnd> {
  const view = viewOf(bytes);
  let frames = 1;
  let walked = 0;
  let textBytes = 0;
  let hasPixels = false;
  let arePixelsOver = false;
  for (const { type, contentAt, checksumAt, end } of pngChunks(view)) {
    walked += 1;
    if (walked % CHUNKS_A_TURN === 0) await setImmediate();
    const contentBytes = checksumAt - contentAt;
    if (type === ZTXT || (type === ITXT && isCompressed(view, contentAt, checksumAt)))
      textBytes += Math.min(MOST_OF_ONE_BYTES, contentBytes * MOST_TIMES);
    if (textBytes > MAX_TEXT_BYTES) return LONG_TEXTS;
    hasPixels ||= type === IDAT;
    // A decoder takes no pixels behind another chunk.
    if (type === IDAT && arePixelsOver) return BROKEN;
    arePixelsOver = hasPixels && type !== IDAT;
    if (type === ACTL && contentBytes >= 4) frames = Math.max(1, view.readUInt32BE(contentAt));
    if (type === IEND)
      return contentBytes === 0
        ? { complete: true, byteSize: end, frames, isTurned: swapsSides(pngOrientation(bytes)) }
        : BROKEN;
  }
  return BROKEN;
}

/** The orientation in which browsers show a PNG: that of the first EXIF chunk before the pixels whose checksum is right. */
export function pngOrientation(bytes: Uint8Array): number {
  const view = viewOf(bytes);
  for (const chunk of pngChunks(view)) {
    if (chunk.type === IDAT) break;
    if (chunk.type === EXIF && hasChecksum(view, chunk))
      return orientationOf(view.subarray(chunk.contentAt, chunk.checksumAt));
  }
  return UPRIGHT;
}

/** Whether an `iTXt` chunk is compressed: its flag is after the keyword. */
function isCompressed(view: Buffer, from: number, to: number): boolean {
  const end = view.subarray(from, Math.min(to, from + KEYWORD_BYTES)).indexOf(0);
  return end < 0 || view[from + end + 1] !== 0;
}

function hasChecksum(view: Buffer, { typeAt, checksumAt }: PngChunk): boolean {
  return crc32(view.subarray(typeAt, checksumAt)) === view.readUInt32BE(checksumAt);
}

/** Chunks without which there is no picture: a decoder refuses one whose checksum is wrong. IEND has no content. */
const CRITICAL: ReadonlySet<number> = new Set([IHDR, PLTE, IDAT]);

/** Whether the pixels arrived as they were written, as far as checksums tell. */
export function hasSoundChunks(bytes: Uint8Array): boolean {
  const view = viewOf(bytes);
  for (const chunk of pngChunks(view)) if (CRITICAL.has(chunk.type) && !hasChecksum(view, chunk)) return false;
  return true;
}

/** More than a decoder reads of the first chunk of pixels to tell the size. */
const PIXEL_BYTES = 64;
const TEXTS = new Set([TEXT, ITXT, ZTXT]);

/**
 * The chunks of a PNG before its pixels, and the first bytes of the pixels, without texts: a decoder keeps these,
 * inflated.
 */
export function pngHead(bytes: Uint8Array): Uint8Array {
  const view = viewOf(bytes);
  const parts = [view.subarray(0, PNG_SIGNATURE_BYTES)];
  let from = PNG_SIGNATURE_BYTES;
  for (const { type, contentAt, end } of pngChunks(view)) {
    if (type === IDAT) return Buffer.concat([...parts, view.subarray(from, Math.min(end, contentAt + PIXEL_BYTES))]);
    if (!TEXTS.has(type)) parts.push(view.subarray(from, end));
    from = end;
  }
  return Buffer.concat(parts);
}

/** The most decompressed bytes that are checked on the calling thread: 64 x 64 pixels of four channels of a byte. */
const MAX_ROW_BYTES = 64 * (1 + 64 * 4);
/** Compressed data of so many bytes, were they noise, and all other chunks are shorter than this. */
const MAX_FILE_BYTES = MAX_ROW_BYTES + 4_096;
const HEADER_DATA_BYTES = 13;
const DENSITY_DATA_BYTES = 9;
/** Channels by colour type. One with a palette is left to the decoder: its pixels may name colours that it does not have. */
const CHANNELS: Readonly<Record<number, number>> = { 0: 1, 2: 3, 4: 2, 6: 4 };
const FILTERS = 5;
/** The beginning of an `iTXt` chunk with XMP: the keyword, and that the text is neither compressed nor in a language. */
export const XMP_PREFIX = Buffer.from('XML:com.adobe.xmp\0\0\0\0\0', 'latin1');

/**
 * Whether these bytes, which begin with a PNG's signature, are a small PNG in which a decoder finds no fault. For a few pixels a
 * thread of libvips costs many times what this does. `false` says nothing: the picture may be larger, of another form, or damaged.
 *
 * Everything that can be wrong with a PNG of eight bits a channel, without interlacing and without a palette, is checked (PNG
 * third edition, 5 to 10): checksums, which chunks there are, the compressed data, their length, and the filter of each row. Any
 * values of pixels are a picture.
 */
export function isSoundSmallPng(bytes: Uint8Array): boolean {
  if (bytes.byteLength > MAX_FILE_BYTES) return false;
  const view = viewOf(bytes);
  const data: Buffer[] = [];
  let header: Buffer | undefined;
  let hasDensity = false;
  let hasMark = false;
  for (const { type, typeAt, contentAt, checksumAt } of pngChunks(view)) {
    if (crc32(view.subarray(typeAt, checksumAt)) !== view.readUInt32BE(checksumAt)) return false;
    const content = view.subarray(contentAt, checksumAt);
    if (header === undefined) {
      if (type !== IHDR) return false;
      header = content;
    } else if (type === IDAT) data.push(content);
    else if (type === IEND) return areRows(data, header);
    else if (type === ITXT && !hasMark && data.length === 0 && isXmp(content)) hasMark = true;
    // The only other chunk that encoders usually write: once, and before the data.
    else if (type !== PHYS || content.length !== DENSITY_DATA_BYTES || hasDensity || data.length > 0) return false;
    else hasDensity = true;
  }
  return false;
}

/** An XMP packet, such as our mark, as a text that is not compressed. */
function isXmp(content: Buffer): boolean {
  return content.indexOf(XMP_PREFIX) === 0 && !content.includes(0, XMP_PREFIX.length);
}

function areRows(data: readonly Buffer[], header: Buffer): boolean {
  const rowBytes = rowBytesOf(header);
  if (rowBytes === undefined) return false;
  const byteCount = header.readUInt32BE(4) * rowBytes;
  if (byteCount === 0 || byteCount > MAX_ROW_BYTES) return false;
  const rows = inflated(data.length === 1 ? data[0]! : Buffer.concat(data), byteCount);
  if (rows === undefined) return false;
  for (let at = 0; at < byteCount; at += rowBytes) if (rows[at]! >= FILTERS) return false;
  return true;
}

/** The bytes of a row with its filter, or undefined where the picture has another form than those that are checked here. */
function rowBytesOf(header: Buffer): number | undefined {
  if (header.length !== HEADER_DATA_BYTES) return undefined;
  const widthPx = header.readUInt32BE(0);
  const [bitDepth, colourType, compression, filter, interlacing] = header.subarray(8);
  const channels = CHANNELS[colourType ?? 0];
  if (widthPx === 0 || channels === undefined || bitDepth !== 8) return undefined;
  return compression === 0 && filter === 0 && interlacing === 0 ? 1 + widthPx * channels : undefined;
}

/** The decompressed data, or undefined if their size differs from this number of bytes. */
function inflated(data: Buffer, byteCount: number): Buffer | undefined {
  try {
    const rows = inflateSync(data, { maxOutputLength: byteCount });
    return rows.length === byteCount ? rows : undefined;
  } catch {
    return undefined;
  }
}
