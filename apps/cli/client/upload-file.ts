import { ApiError, TransferError, type Darkroom } from '../../../clients/typescript/src/index.js';
import { Failure } from '../exit.js';
import { clientFailure } from './client-failure.js';
import type { ReferenceFile } from './reference-file.js';

/**
 * Uploads one file and answers the id that a generation refers to it by. `intent` names the generation it is for: the
 * same intent again finds the same upload and sends only what is missing. A failure says which file it is about.
 */
export async function uploadFile(
  client: Darkroom,
  { path, role, filename, mediaType, bytes }: ReferenceFile,
  intent: string,
  signal?: AbortSignal,
): Promise<string> {
  try {
    const reference = { file: bytes, role, filename, mediaType };
    return await client.upload(reference, { intent, signal, maxBytes: bytes.byteLength });
  } catch (error) {
    if (error instanceof TransferError) throw new Failure(`${path} was not uploaded: ${error.reason}.`);
    const failure = clientFailure(error);
    if (!(error instanceof ApiError) || !(failure instanceof Failure)) throw failure;
    throw new Failure(`${path}: ${failure.message}`, failure.exitCode, failure.details);
  }
}
