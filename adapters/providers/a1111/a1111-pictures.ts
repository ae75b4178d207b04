import type { ProviderCall, Submission, SubmitAnswer, SubmittedOutput } from '../../../core/ports/provider.js';
import type { HttpAnswer } from '../../http/http-answer.js';
import type { SpooledFile } from '../../http/json/json-with-files.js';
import { isObject } from '../shared/json-members.js';
import { refusal } from '../shared/sentences.js';
import { spooledOutputs } from '../shared/spooled-outputs.js';
import { refusalInSuccess } from './a1111-refusal.js';

const PICTURES = '/images/*';
/** More than a picture of 4096 by 4096 pixels has without compression. */
export const MAX_PICTURE_BYTES = 128 * 1024 * 1024;

/** How files of each format begin, in Latin-1. */
const STARTS: readonly (readonly [mediaType: string, start: RegExp])[] = [
  ['image/png', /^\x89PNG\r\n/],
  ['image/jpeg', /^\xff\xd8\xff/],
  ['image/webp', /^RIFF[^]{4}WEBP/],
];
const START_BYTES = 12;

/**
 * The pictures of an answer. An empty list says that the task has ended with none, as when memory was short; a picture
 * that is empty or null is left out. An error in place of the list is a refusal. Throws `HttpError` for an answer that no
 * such server gives.
 */
export async function deliveredPictures(
  answer: HttpAnswer,
  submission: Submission,
  call: ProviderCall,
): Promise<SubmitAnswer> {
  const found: { refused?: SubmitAnswer | undefined } = {};
  const of = { at: [PICTURES], maxOutputBytes: MAX_PICTURE_BYTES, submission, call };
  const delivered = await spooledOutputs(answer, of, async ({ json, files }) => {
    const images = isObject(json) ? json['images'] : undefined;
    if (!Array.isArray(images)) found.refused = refusalInSuccess(json, submission);
    if (found.refused !== undefined) return { outputs: [] };
    if (!Array.isArray(images) || images.some((image) => typeof image !== 'string' && image !== null))
      throw answer.error('bad-answer', 'The answer has no list of pictures.');
    const pictures = [...files.values()].filter(({ byteSize }) => byteSize > 0);
    return { outputs: await Promise.all(pictures.map(outputOf)) };
  });
  if (found.refused !== undefined) return found.refused;
  return delivered.outputs.length === 0 ? refusal('broke') : { accepted: true, ...delivered };
}

/** The answer does not say what its pictures are: the options of the server decide. */
async function outputOf(file: SpooledFile): Promise<SubmittedOutput> {
  const start = await startOf(file);
  const [mediaType] = STARTS.find(([, pattern]) => pattern.test(start)) ?? ['image/png'];
  return { kind: 'image', mediaType, bytes: file.bytes };
}

async function startOf(file: SpooledFile): Promise<string> {
  let start = '';
  for await (const piece of file.bytes) {
    start += Buffer.from(piece.subarray(0, START_BYTES)).toString('latin1');
    if (start.length >= START_BYTES) break;
  }
  return start;
}
