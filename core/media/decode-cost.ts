import { readImageHeader, type ImageHeader } from './image-header.js';

/**
 * A decoder that yields rows and the code that shrinks them hold this many rows, and never more than each row twice.
 */
const ROWS_HELD = 1_600;

/**
 * The most memory that decoding a picture takes while it is shrunk, in bytes. It follows from the header alone, so that
 * it can be bounded before anything is decoded: pixels on their own say little, as a decoder gives most pictures row by
 * row and must hold others whole.
 */
export function decodeBytes({ widthPx, heightPx, rowPixelBytes, heldBytes }: ImageHeader): number {
  return heldBytes + widthPx * rowPixelBytes * Math.min(heightPx * 2, ROWS_HELD);
}

/** The same for the first bytes of a file: `Infinity` while they do not say, 0 for what is no picture. */
export function decodeBytesOf(head: Uint8Array): number {
  const header = readImageHeader(head);
  if (header === 'more') return Infinity;
  return header === 'none' ? 0 : decodeBytes(header);
}
