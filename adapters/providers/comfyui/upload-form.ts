import { createHash } from 'node:crypto';
import { extensionOf } from '../../../core/media/media-types.js';
import { type BodyFile, formRequest, type SizedRequest } from '../../http/http-request.js';

/** Reference files that a server keeps for tasks of this service. */
const FOLDER = 'darkroom';

/**
 * The form of `POST /upload/image`. The file has a name by its content, so that equal files are kept once; it is read here for
 * that, and again while it is sent: give it a reference of `WholeReferences`, which notices other bytes.
 */
export async function uploadForm(file: BodyFile): Promise<SizedRequest> {
  const hash = createHash('sha256');
  for await (const piece of await file.open()) hash.update(piece);
  const fileName = `${hash.digest('hex')}.${extensionOf(file.mediaType)}`;
  return formRequest([
    { name: 'type', value: 'input' },
    { name: 'subfolder', value: FOLDER },
    { name: 'image', fileName, file },
  ]);
}
