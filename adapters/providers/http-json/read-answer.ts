import type { HttpAnswer } from '../../http/http-answer.js';
import { decodedBase64, encodedText } from '../../http/json/base64.js';
import { jsonWithFiles, largeStrings } from '../../http/json/json-with-files.js';

/** An answer in JSON. The outputs in it, if it has any, are not kept. */
export interface ReadAnswer {
  readonly json: unknown;
  /** The type of each output in it by its data URL, in their order; undefined if it does not say. */
  readonly files: readonly (string | undefined)[];
}

/** The limit for an answer without the outputs in it. Some APIs repeat the input. */
export const MAX_JSON_BYTES = 8 * 1024 * 1024;
/** The limit for an answer with the outputs in it, in base64. */
export const MAX_ANSWER_BYTES = 1_536 * 1024 * 1024;
const MAX_FILE_BYTES = 1024 * 1024 * 1024;
const MAX_COUNT = 100;

/** Reads an answer; in little memory also where `filesAt`, a JSON Pointer, leads to outputs in base64. Throws `HttpError`. */
export async function readAnswer(answer: HttpAnswer, filesAt: string | undefined): Promise<ReadAnswer> {
  if (filesAt === undefined) return { json: await answer.json(MAX_JSON_BYTES), files: [] };
  const files: (string | undefined)[] = [];
  const json = await jsonWithFiles(
    answer,
    { at: [filesAt], maxJsonBytes: MAX_JSON_BYTES, maxCount: MAX_COUNT, maxFileBytes: MAX_FILE_BYTES },
    async ({ mediaType }) => void files.push(mediaType),
  );
  return { json, files };
}

/** Streams the bytes of one output in a response. Throws `HttpError`, also if the output does not exist. */
export async function* fileIn(answer: HttpAnswer, filesAt: string, index: number): AsyncGenerator<Uint8Array> {
  const fail = (kind: 'bad-answer' | 'too-large', what: string) => answer.error(kind, what);
  const strings = largeStrings(
    answer.jsonBody(),
    { at: [filesAt], maxJsonBytes: MAX_JSON_BYTES, maxCount: MAX_COUNT },
    fail,
  );
  try {
    for (let count = 0; ; count += 1) {
      const { done, value } = await strings.next();
      if (done === true) throw fail('bad-answer', `The task has no output ${index + 1}.`);
      if (count < index) continue;
      const { text } = await encodedText(value.text, fail);
      yield* decodedBase64(text, MAX_FILE_BYTES, fail);
      return;
    }
  } finally {
    await strings.return(undefined);
  }
}
