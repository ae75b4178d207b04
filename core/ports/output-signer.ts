import type { AiMark } from '../media/ai-mark.js';
import type { MediaFacts } from './media.js';

/** A stored output that is complete but for a signature. */
export interface UnsignedFile {
  readonly mediaType: MediaFacts['mediaType'];
  readonly byteSize: number;
  /** The mark in its XMP; absent if it has none. */
  readonly mark?: AiMark;
  /** Opens the bytes; may be called again. */
  open(): Promise<AsyncIterable<Uint8Array>>;
}

/** Signs outputs, such as with a C2PA manifest. It comes with a module: none is built in. */
export interface OutputSigner {
  /**
   * The signed file, which is shown the same and has at most `MAX_SIGNATURE_BYTES` more; null where it stays as it is, as one
   * that already has a manifest does. May throw, or be abandoned after `SIGN_WAIT_MS`: then the output is delivered unsigned,
   * because it is paid for.
   */
  sign(file: UnsignedFile): Promise<AsyncIterable<Uint8Array> | null>;
}

/** The most bytes that a signature adds; they do not count against `maxOutputBytes`. */
export const MAX_SIGNATURE_BYTES = 1024 * 1024;

/** The longest that signing one file may take, with reading and storing it, in milliseconds. */
export const SIGN_WAIT_MS = 30_000;
