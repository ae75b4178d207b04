import type { CleaningPass, Patch } from './cleaning-pass.js';
import { type Edits, keep, look, replace } from './edits.js';
import { jpegEdits } from './jpeg-edits.js';
import { mp4Edits } from './mp4-edits.js';
import { pngEdits } from './png-edits.js';
import { webpEdits } from './webp-edits.js';

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
