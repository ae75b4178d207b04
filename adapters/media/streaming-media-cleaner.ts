import type { Cleaning, CleanOptions, MediaCleaner } from '../../core/ports/media.js';
import {
  CleaningPass,
  edited,
  type Edits,
  keep,
  look,
  type Patch,
  replace,
  type SecondPass,
} from './cleaning/edits.js';
import { jpegEdits } from './cleaning/jpeg-edits.js';
import { mp4Edits } from './cleaning/mp4-edits.js';
import { pngEdits } from './cleaning/png-edits.js';
import { webpEdits } from './cleaning/webp-edits.js';

const SNIFFED_BYTES = 12;
const PNG = '\x89PNG\r\n\x1a\n';
const JPEG = '\xff\xd8';

/** The edits of whatever file this is; none where it is not one that can be delivered. */
export function* mediaEdits(pass: CleaningPass): Edits {
  const head = (yield look(SNIFFED_BYTES)).toString('latin1', 0, SNIFFED_BYTES);
  if (head.startsWith(PNG)) yield* pngEdits(pass);
  else if (head.startsWith(JPEG)) yield* jpegEdits(pass);
  else if (head.startsWith('RIFF') && head.endsWith('WEBP')) yield* webpEdits(pass);
  else if (head.startsWith('ftyp', 4)) yield* mp4Edits(pass);
}

/** Takes back what a pass has written for the mark, in any format. */
export function* undoEdits(patches: readonly Patch[]): Edits {
  let undone = 0;
  for (const { at, writtenBytes, had } of patches) {
    yield keep(at - undone);
    yield replace(writtenBytes, had);
    undone = at + writtenBytes;
  }
}

/** Cleans files as they pass, without a decoder: see `cleaning/` for what stays of each format. */
export class StreamingMediaCleaner implements MediaCleaner {
  clean(bytes: AsyncIterable<Uint8Array>, options: CleanOptions | SecondPass): Cleaning {
    const pass = new CleaningPass(options);
    const patches = options.manifests === 'restore' && 'patches' in options ? options.patches : undefined;
    const edits = patches === undefined ? mediaEdits(pass) : undoEdits(patches);
    return { bytes: edited(bytes, edits, pass), secondPass: () => pass.secondPass() };
  }
}
