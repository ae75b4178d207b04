import { type Edits, look } from './edits.js';
import { jpegEdits } from './jpeg-edits.js';
import { mp4Edits } from './mp4-edits.js';
import { pngEdits } from './png-edits.js';
import { webpEdits } from './webp-edits.js';

const SNIFFED_BYTES = 12;
const PNG = '\x89PNG\r\n\x1a\n';
const JPEG = '\xff\xd8\xff';

/** The edits of whatever file this is; none where it is not one that can be delivered. */
export function* mediaEdits(): Edits {
  const head = (yield look(SNIFFED_BYTES)).toString('latin1', 0, SNIFFED_BYTES);
  if (head.startsWith(PNG)) yield* pngEdits();
  else if (head.startsWith(JPEG)) yield* jpegEdits();
  else if (head.startsWith('RIFF') && head.endsWith('WEBP')) yield* webpEdits();
  else if (head.startsWith('ftyp', 4)) yield* mp4Edits();
}
