import type { CleanOptions, Cleaning, MediaCleaner } from '../../core/ports/media-cleaner.js';
import { edited } from './cleaning/edited-bytes.js';
import { mediaEdits } from './cleaning/media-edits.js';

/** Cleans files as they pass, without a decoder: see `cleaning/` for what stays of each format. */
export class StreamingMediaCleaner implements MediaCleaner {
  clean(bytes: AsyncIterable<Uint8Array>, _options: CleanOptions): Cleaning {
    return { bytes: edited(bytes, mediaEdits()), secondPass: () => undefined };
  }
}
