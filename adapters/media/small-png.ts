import { crc32, inflateSync } from 'node:zlib';
import { viewOf } from './container-end.js';
import { IDAT, IEND, IHDR, PHYS, pngChunks } from './png-chunks.js';

/** The most decompressed bytes that are checked on the calling thread: 64 x 64 pixels of four channels of a byte. */
const MAX_ROW_BYTES = 64 * (1 + 64 * 4);
/** Compressed data of so many bytes, were they noise, and all other chunks are shorter than this. */
const MAX_FILE_BYTES = MAX_ROW_BYTES + 4_096;
const HEADER_DATA_BYTES = 13;
const DENSITY_DATA_BYTES = 9;
/** Channels by colour type. One with a palette is left to the decoder: its pixels may name colours that it does not have. */
const CHANNELS: Readonly<Record<number, number>> = { 0: 1, 2: 3, 4: 2, 6: 4 };
const FILTERS = 5;

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
  for (const { type, typeAt, contentAt, checksumAt } of pngChunks(view)) {
    if (crc32(view.subarray(typeAt, checksumAt)) !== view.readUInt32BE(checksumAt)) return false;
    const content = view.subarray(contentAt, checksumAt);
    if (header === undefined) {
      if (type !== IHDR) return false;
      header = content;
    } else if (type === IDAT) data.push(content);
    else if (type === IEND) return areRows(data, header);
    // The only other chunk that encoders usually write: once, and before the data.
    else if (type !== PHYS || content.length !== DENSITY_DATA_BYTES || hasDensity || data.length > 0) return false;
    else hasDensity = true;
  }
  return false;
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

/** The decompressed data, or undefined where they are not of exactly so many bytes. */
function inflated(data: Buffer, byteCount: number): Buffer | undefined {
  try {
    const rows = inflateSync(data, { maxOutputLength: byteCount });
    return rows.length === byteCount ? rows : undefined;
  } catch {
    return undefined;
  }
}
