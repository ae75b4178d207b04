import type { ProviderCall, ProviderCost, Submission, SubmittedOutput } from '../../../core/ports/provider.js';
import type { HttpAnswer } from '../../http/http-answer.js';
import type { SpooledFile, SpooledJson } from '../../http/json/spooled-json.js';
import { fieldsFrom } from '../shared/request-fields.js';
import { resultBytes, type ResultFiles } from '../shared/result-files.js';
import { spooledOutputs, type SpooledOutputs } from '../shared/spooled-outputs.js';
import type { ServerSettings } from './presets.js';
import { memberOf } from '../shared/json-members.js';

export interface ImagesContext {
  readonly settings: ServerSettings;
  readonly submission: Submission;
  readonly call: ProviderCall;
  /** Of one picture, in bytes. */
  readonly maxOutputBytes: number;
  /** Fetches the pictures that are addresses. */
  readonly files: ResultFiles;
}

/** What the answer of the Images API has. */
interface ImagesAnswer {
  readonly data?: unknown;
  readonly output_format?: unknown;
  readonly usage?: unknown;
  readonly inference_time_s?: unknown;
}

/**
 * The pictures of an answer, kept as `spooledOutputs` does it. A picture that is missing from the list is left out. Throws
 * `HttpError` for an answer that is none of the Images API.
 */
export async function deliveredImages(answer: HttpAnswer, context: ImagesContext): Promise<SpooledOutputs> {
  return spooledOutputs(answer, { at: ['/data/*/b64_json'], ...context }, (spooled) => {
    const json = (spooled.json ?? {}) as ImagesAnswer;
    if (!Array.isArray(json.data)) throw answer.error('bad-answer', 'The answer has no list of pictures.');
    const cost = costOf(json);
    return { outputs: outputsIn(json, json.data, spooled, context), ...(cost === undefined ? {} : { cost }) };
  });
}

function outputsIn(
  { output_format: format }: ImagesAnswer,
  data: readonly unknown[],
  { files: spooled }: Pick<SpooledJson, 'files'>,
  { settings, submission, call, files }: ImagesContext,
): readonly SubmittedOutput[] {
  const otherwise = mediaTypeOf(format) ?? sentType(settings, submission) ?? 'image/png';
  return data
    .map((entry, index) => {
      const file = spooled.get(`/data/${index}/b64_json`);
      if (file !== undefined) return file.byteSize === 0 ? undefined : asOutput(file, otherwise);
      return outputAt(memberOf(entry, 'url'), { mediaType: otherwise, files, call });
    })
    .filter((output) => output !== undefined);
}

function asOutput(file: SpooledFile, otherwise: string): SubmittedOutput {
  return { kind: 'image', mediaType: file.mediaType ?? otherwise, bytes: file.bytes };
}

/** Fetched each time it is read: such an address holds for an hour. */
function outputAt(
  address: unknown,
  { mediaType, files, call }: Pick<ImagesContext, 'files' | 'call'> & { readonly mediaType: string },
): SubmittedOutput | undefined {
  if (typeof address !== 'string' || address === '') return undefined;
  return { kind: 'image', mediaType, bytes: { [Symbol.asyncIterator]: () => fetched(address, files, call) } };
}

async function* fetched(address: string, files: ResultFiles, call: ProviderCall): AsyncGenerator<Uint8Array> {
  yield* await resultBytes(files, address, call);
}

const TYPES: ReadonlyMap<unknown, string> = new Map([
  ['png', 'image/png'],
  ['jpeg', 'image/jpeg'],
  ['jpg', 'image/jpeg'],
  ['webp', 'image/webp'],
]);

function mediaTypeOf(format: unknown): string | undefined {
  return TYPES.get(format);
}

/** The format that was asked for. */
function sentType({ fields: { output_format: rule } }: ServerSettings, { parameters }: Submission): string | undefined {
  return rule === undefined ? undefined : mediaTypeOf(fieldsFrom({ format: rule }, parameters)['format']);
}

/** Servers of one's own often count nothing, and say 0. */
function costOf({ usage, inference_time_s: seconds }: ImagesAnswer): ProviderCost | undefined {
  const inputTokens = countOf(memberOf(usage, 'input_tokens'));
  const outputTokens = countOf(memberOf(usage, 'output_tokens'));
  const computeMs = typeof seconds === 'number' ? countOf(Math.round(seconds * 1_000)) : undefined;
  const cost = {
    ...(inputTokens === undefined ? {} : { inputTokens }),
    ...(outputTokens === undefined ? {} : { outputTokens }),
    ...(computeMs === undefined ? {} : { computeMs }),
  };
  return Object.keys(cost).length === 0 ? undefined : cost;
}

function countOf(value: unknown): number | undefined {
  return Number.isSafeInteger(value) && Number(value) > 0 ? Number(value) : undefined;
}
