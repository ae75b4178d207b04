import { readImageHeader, type ImageHeader } from './image-header.js';

/**
 * A decoder that yields rows and the code that shrinks them hold this many rows, and never more than each row twice.
 */
const ROWS_HELD = 1_600;

/**
 * The most memory that decoding a picture takes while it is shrunk, in bytes. It follows from the header alone, so that
 * it can be bounded before anything is decoded: the number of pixels alone says little, as a decoder yields most
 * pictures row by row and must hold others completely.
 */
export function decodeBytes({ widthPx, heightPx, rowPixelBytes, heldBytes }: ImageHeader): number {
  return heldBytes + widthPx * rowPixelBytes * Math.min(heightPx * 2, ROWS_HELD);
}

/** The bytes of the alpha channel, which is held while it is searched: two per pixel at most. */
export function alphaBytes({ widthPx, heightPx }: ImageHeader): number {
  return widthPx * heightPx * 2;
}

/**
 * `decodeBytes` for the first bytes of a file: `Infinity` while they do not determine it, 0 for a file that is not a
 * picture.
 */
export function decodeBytesOf(head: Uint8Array): number {
  const header = readImageHeader(head);
  if (header === 'more') return Infinity;
  return header === 'none' ? 0 : decodeBytes(header);
}
