/** Removes descriptive metadata from media, so that a delivered file does not say with which prompt it was made. */
export interface MediaCleaner {
  /**
   * The same PNG, JPEG, WebP or MP4 without its texts, EXIF, XMP and other descriptive metadata. Pixels, colours, samples,
   * orientation and C2PA manifests stay, and cleaning again changes nothing. Other bytes pass through unchanged; so does
   * the rest of a file from where its structure cannot be read, which `MediaProbe` then refuses. It holds some hundred
   * KiB, and the chunk it was given twice, whatever the size of the file, and never throws for the bytes. A failure of their
   * source is passed on, and the source is closed when the reader stops early.
   */
  clean(bytes: AsyncIterable<Uint8Array>): AsyncIterable<Uint8Array>;
}
