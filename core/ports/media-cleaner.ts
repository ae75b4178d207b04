import type { AiMark } from '../media/ai-mark.js';

export interface CleanOptions {
  /** The mark that the file gets; none when absent. */
  readonly mark?: AiMark;
  /**
   * `keep`: a C2PA manifest that says AI stays, and the file gets no other mark, if nothing else has to change. `drop`: every
   * manifest is removed. `restore`: takes back what a first pass wrote for the mark, where the file has a manifest that stays, or
   * had the mark already; only `secondPass` asks for it.
   */
  readonly manifests: 'keep' | 'drop' | 'restore';
}

export interface Cleaning {
  /** The cleaned file, to be read once. */
  readonly bytes: AsyncIterable<Uint8Array>;
  /**
   * With which options the result has to be cleaned once more, because the stream showed too late what it is; undefined
   * where it is as it should be. To be called once all of `bytes` has been read. After a second pass there is none.
   */
  secondPass(): CleanOptions | undefined;
}

/**
 * Removes descriptive metadata from media, so that a delivered file does not say with which prompt it was made, and writes
 * the mark that says that AI made it.
 */
export interface MediaCleaner {
  /**
   * The same PNG, JPEG, WebP or MP4 without its texts, EXIF, XMP and other descriptive metadata, without bytes after its end,
   * and with exactly one mark, if `options` has one. Pixels, colours, samples and orientation stay. Cleaning again with the
   * same options changes nothing. Other bytes pass through unchanged; so does the rest of a file from where its structure cannot
   * be read, which `MediaProbe` then refuses. It holds some hundred KiB, and the chunk it was given twice, whatever the size
   * of the file, and never throws for the bytes. A failure of their source is passed on, and the source is closed when the
   * reader stops early.
   */
  clean(bytes: AsyncIterable<Uint8Array>, options: CleanOptions): Cleaning;
}
