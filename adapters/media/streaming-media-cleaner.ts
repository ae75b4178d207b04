import type { CleanOptions, Cleaning, MediaCleaner } from '../../core/ports/media-cleaner.js';
import { CleaningPass, type SecondPass } from './cleaning/cleaning-pass.js';
import { edited } from './cleaning/edited-bytes.js';
import { mediaEdits, undoEdits } from './cleaning/media-edits.js';

/** Cleans files as they pass, without a decoder: see `cleaning/` for what stays of each format. */
export class StreamingMediaCleaner implements MediaCleaner {
  clean(bytes: AsyncIterable<Uint8Array>, options: CleanOptions | SecondPass): Cleaning {
    const pass = new CleaningPass(options);
    const patches = options.manifests === 'restore' && 'patches' in options ? options.patches : undefined;
    const edits = patches === undefined ? mediaEdits(pass) : undoEdits(patches);
    return { bytes: edited(bytes, edits, pass), secondPass: () => pass.secondPass() };
  }
}
