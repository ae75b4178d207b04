import type {
  ProviderCall,
  ProviderCost,
  Submission,
  SubmitAnswer,
  SubmittedOutput,
} from '../../../core/ports/provider.js';
import type { HttpAnswer } from '../../http/http-answer.js';
import type { SpooledFile, SpooledJson } from '../../http/json/json-with-files.js';
import type { SubmissionRefusal } from '../../http/submission-outcome.js';
import { isObject, memberOf } from '../shared/json-members.js';
import { fieldsFrom } from '../shared/request-fields.js';
import { resultBytes, type ResultFiles } from '../shared/result-files.js';
import { refusal } from '../shared/sentences.js';
import { spooledOutputs } from '../shared/spooled-outputs.js';
import { refusalInSuccess } from './error-answer.js';
import type { OpenAiInstance } from './openai-instance.js';
import type { ServerSettings } from './presets.js';
import { refusedTask } from './task.js';

export interface ImagesContext {
  readonly settings: ServerSettings;
  readonly submission: Submission;
  readonly call: ProviderCall;
  /** The limit for one picture, in bytes. */
  readonly maxOutputBytes: number;
  /** Fetches the pictures that are addresses. */
  readonly files: ResultFiles;
  readonly instance: Pick<OpenAiInstance, 'name' | 'log'>;
}

/**
 * The place of the entries in an answer. Some servers have one object in the place of the list, or call the list
 * `images`.
 */
const ENTRIES: readonly string[] = ['/data/*', '/data', '/images/*'];
/** Where an entry has its picture: in base64, or by an address. Others than OpenAI write further members. */
const ENCODED: readonly string[] = ['b64_json', 'b64'];
const ADDRESSES: readonly string[] = ['url', 'url/url', 'image_url', 'image_url/url'];

const PLACES = { at: placesOf(ENCODED), addressesAt: placesOf(ADDRESSES) };

/** Words such as None and null are base64 as well. A member with more than that goes before them. */
const LONGEST_WORD_BYTES = 3;

/** The used parts of an answer of the Images API. */
interface ImagesAnswer {
  readonly data?: unknown;
  readonly images?: unknown;
  readonly output_format?: unknown;
  readonly usage?: unknown;
  readonly inference_time_s?: unknown;
}

/**
 * The pictures of an answer, kept as `spooledOutputs` does it, or the refusal that it has instead. A picture that is missing
 * from the list is left out. Throws `HttpError` for an answer that is none of the Images API.
 */
export async function deliveredImages(answer: HttpAnswer, context: ImagesContext): Promise<SubmitAnswer> {
  const { submission, instance } = context;
  const found: { refused?: SubmissionRefusal | 'withheld' | undefined } = {};
  const { cost, ...delivered } = await spooledOutputs(answer, { ...PLACES, ...context }, (spooled) => {
    const json = (spooled.json ?? {}) as ImagesAnswer;
    const entries = entriesIn(json);
    const outputs = outputsIn(json, entries, spooled, context);
    if (outputs.length === 0) {
      found.refused = refusalOf(json, [...entries.values()], context);
      if (found.refused === undefined && !Array.isArray(json.data))
        throw answer.error('bad-answer', 'The answer has no list of pictures.');
    }
    const known = costOf(json);
    return { outputs, ...(known === undefined ? {} : { cost: known }) };
  });
  const costs = cost === undefined ? {} : { cost };
  if (found.refused === undefined) return { accepted: true, ...delivered, ...costs };
  return found.refused === 'withheld'
    ? refusal('output refused', costs)
    : refusedTask(found.refused, submission, instance, cost);
}

function placesOf(members: readonly string[]): readonly string[] {
  return ENTRIES.flatMap((entry) => members.map((member) => `${entry}/${member}`));
}

/** The entries of an answer, by their places. */
function entriesIn({ data, images }: ImagesAnswer): ReadonlyMap<string, unknown> {
  const listed = (place: string, list: unknown) =>
    Array.isArray(list) ? list.map((entry: unknown, index) => [`${place}/${index}`, entry] as const) : [];
  const entries = listed('/data', data);
  if (entries.length > 0) return new Map(entries);
  return new Map(isObject(data) ? [['/data', data]] : listed('/images', images));
}

/** Why there are no pictures, according to the response or an entry of its list; `withheld` without an error. */
function refusalOf(
  json: ImagesAnswer,
  data: readonly unknown[],
  { settings, submission: sent }: ImagesContext,
): SubmissionRefusal | 'withheld' | undefined {
  const isFinal = settings.server_errors === 'final';
  for (const body of [json, ...data.slice(0, 10)]) {
    const found = refusalInSuccess(body, { sent, isFinal });
    if (found !== undefined) return found;
  }
  // xAI: https://docs.x.ai/docs/guides/image-generations.
  return data.some((entry) => memberOf(entry, 'respect_moderation') === false) ? 'withheld' : undefined;
}

function outputsIn(
  { output_format: format }: ImagesAnswer,
  entries: ReadonlyMap<string, unknown>,
  { files: spooled }: Pick<SpooledJson, 'files'>,
  { settings, submission, call, files }: ImagesContext,
): readonly SubmittedOutput[] {
  const otherwise = mediaTypeOf(format) ?? sentType(settings, submission) ?? 'image/png';
  return [...entries.keys()]
    .map((place) => {
      const found = [...ENCODED, ...ADDRESSES].map((member) => spooled.get(`${place}/${member}`));
      // Empty members stand beside the one that has the picture.
      const isPicture = (one: SpooledFile | undefined) =>
        isFilled(one?.address) || (one?.byteSize ?? 0) > LONGEST_WORD_BYTES;
      const file = found.find(isPicture) ?? found.find((one) => one !== undefined && one.byteSize > 0);
      if (file?.address !== undefined) return outputAt(file.address, { mediaType: otherwise, files, call });
      return file === undefined ? undefined : asOutput(file, otherwise);
    })
    .filter((output) => output !== undefined);
}

function isFilled(address: string | undefined): boolean {
  return address !== undefined && address !== '';
}

function asOutput({ mediaType = '', bytes }: SpooledFile, otherwise: string): SubmittedOutput {
  return { kind: 'image', mediaType: mediaType.startsWith('image/') ? mediaType : otherwise, bytes };
}

/** Fetched each time it is read: such an address holds for an hour. */
function outputAt(
  address: string,
  { mediaType, files, call }: Pick<ImagesContext, 'files' | 'call'> & { readonly mediaType: string },
): SubmittedOutput {
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

/** The requested format. */
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
