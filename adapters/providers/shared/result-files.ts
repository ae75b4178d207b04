import { formatFault } from '../../../core/media/image-header.js';
import type { ProviderCall, ProviderOutput } from '../../../core/ports/provider.js';
import { ListedHosts } from '../../http/allow-list.js';
import { answerAddress, type HttpAnswer } from '../../http/http-answer.js';
import { HttpError } from '../../http/http-error.js';
import { decodedBase64, encodedText } from '../../http/json/base64.js';
import type { ReadFailure } from '../../http/json/json-scanner.js';
import { largeStrings } from '../../http/json/json-with-files.js';
import type { Connection } from './connection.js';
import { memberOf } from './json-members.js';
import type { Place } from './pointer-values.js';

/** The media types that are delivered, by the end of a file's name. */
const TYPES: Readonly<Record<string, ProviderOutput>> = {
  png: { kind: 'image', mediaType: 'image/png' },
  jpg: { kind: 'image', mediaType: 'image/jpeg' },
  jpeg: { kind: 'image', mediaType: 'image/jpeg' },
  webp: { kind: 'image', mediaType: 'image/webp' },
  mp4: { kind: 'video', mediaType: 'video/mp4' },
};

/** Core bounds what it stores; this bounds a server that never ends. */
const MAX_RESULT_BYTES = 4 * 1024 ** 3;
const LONGEST_FETCH_MS = 6 * 60 * 60 * 1_000;

/** Files on other hosts than the instance's own, which the answers of a server point to. */
export interface ResultFiles {
  readonly connection: Connection;
  /** The places where they may be. */
  readonly hosts: ListedHosts;
  /** Whether the instance's own origin gets its key with the request; other hosts never do. */
  readonly sendsKey?: boolean;
}

/** Reads a list of hosts out of an option. Throws one sentence, with the option's key, for an entry that cannot be read. */
export function listedHosts(entries: readonly string[], key: string): ListedHosts {
  try {
    return new ListedHosts(entries);
  } catch (error) {
    throw new Error(`${key}: ${(error as RangeError).message}`, { cause: error });
  }
}

/** Whether a value in an answer is the whole address of a file that may be fetched. */
export function isResultAddress({ connection, hosts }: ResultFiles, value: unknown): value is string {
  if (typeof value !== 'string' || !/^https?:\/\//i.test(value)) return false;
  try {
    return answerAddress(value, { base: connection.base, hosts }).url !== '';
  } catch (error) {
    if (error instanceof HttpError) return false;
    throw error;
  }
}

/** Files that models make beside their results. */
const OTHER_FILES = /^(?:json|txt|csv|xml|html?|zip|tar|gz|wav|mp3|ogg|flac|glb|obj|ply|safetensors)$/;

/**
 * The results among the places of an answer that may be fetched and can be delivered, in order: addresses, and data URLs
 * with base64.
 */
export function usableResults(files: ResultFiles, places: readonly Place[]): readonly Result[] {
  return places.map((place) => usableResult(files, place)).filter((result) => result !== undefined);
}

function usableResult(files: ResultFiles, { pointer, value }: Place): Result | undefined {
  // Some models write an object with the address in the place of the address.
  const nested = memberOf(value, 'url');
  if (typeof nested === 'string') return usableResult(files, { pointer: `${pointer}/url`, value: nested });
  if (typeof value !== 'string') return undefined;
  const dataType = dataUrlType(value);
  if (dataType !== undefined)
    return dataType !== '' && formatFault(dataType) !== undefined ? undefined : { pointer, dataType };
  return isResultAddress(files, value) && isDelivered(extensionOf(value)) ? { pointer, address: value } : undefined;
}

/** A result at a place of an answer. `dataType` is empty for a data URL that does not name its type. */
export type Result =
  | { readonly pointer: string; readonly address: string }
  | { readonly pointer: string; readonly dataType: string };

function isDelivered(extension: string): boolean {
  return !OTHER_FILES.test(extension) && formatFault(extension) === undefined;
}

/** The type that a data URL with base64 declares; undefined for any other text. The text may be cut behind its beginning. */
export function dataUrlType(text: string): string | undefined {
  const [, type] = /^\s*data:([^;,]{0,100})(?:;[^;,]{0,100}){0,5};base64,/i.exec(text.slice(0, 1_000)) ?? [];
  return type?.trim().toLowerCase();
}

/** The media type of a result, by its address or its data URL; `otherwise` where that says nothing. */
export function outputOf(result: Result, otherwise: string): ProviderOutput {
  if ('address' in result) return outputAt(result.address, otherwise);
  const mediaType = result.dataType === '' ? otherwise : result.dataType;
  return { kind: mediaType.startsWith('video/') ? 'video' : 'image', mediaType };
}

/** The media type of a file by the end of its address; `otherwise` where that says nothing. */
export function outputAt(address: string, otherwise: string): ProviderOutput {
  const extension = extensionOf(address);
  const known = Object.hasOwn(TYPES, extension) ? TYPES[extension] : undefined;
  return known ?? { kind: otherwise.startsWith('video/') ? 'video' : 'image', mediaType: otherwise };
}

/** In lower case; empty where there is none. */
function extensionOf(address: string): string {
  const [, extension = ''] = /\.([A-Za-z0-9]{1,16})$/.exec(new URL(address).pathname) ?? [];
  return extension.toLowerCase();
}

/** How many redirects of a file are followed: vendors keep files at other hosts than their API. */
export const MAX_FILE_REDIRECTS = 3;

/**
 * The bytes of a file. Redirects are followed, and the key goes to the instance's own origin only. Throws `HttpError`, also
 * for a page or another text in the place of a file.
 */
export async function resultBytes(
  { connection, hosts, sendsKey = false }: ResultFiles,
  address: string,
  { signal }: ProviderCall,
): Promise<AsyncIterable<Uint8Array>> {
  const { url, isOwnOrigin } = answerAddress(address, { base: connection.base, hosts });
  const headers = sendsKey && isOwnOrigin ? connection.credentials : {};
  const answer = await connection.client.request({
    method: 'GET',
    url,
    hasSecretPath: !isOwnOrigin,
    headers,
    signal,
    maxRedirects: MAX_FILE_REDIRECTS,
    limits: { maxBodyBytes: MAX_RESULT_BYTES, totalTimeoutMs: LONGEST_FETCH_MS, maxDecompressionRatio: 2_000 },
  });
  return fileBytes(answer, { hasKey: Object.keys(headers).length > 0 });
}

/** The signatures of pictures and videos near their beginning, in Latin-1. */
const MEDIA_STARTS: readonly (readonly [at: number, text: string])[] = [
  [0, '\x89PNG'],
  [0, '\xff\xd8\xff'],
  [8, 'WEBP'],
  [8, 'AVI '],
  [0, 'GIF8'],
  [4, 'ftyp'],
  [0, '\x1a\x45\xdf\xa3'],
  [0, 'II*\0'],
  [0, 'MM\0*'],
  [0, '\xff\x0a'],
  [4, 'JXL '],
];
const TEXT_START = /^(?:\xef\xbb\xbf)?\s*[<{[]/;
/** No control character: a sentence of a server, as no file of a picture or a video begins. */
const SENTENCE = /^[\t\n\r\x20-\x7e\x80-\xff]*$/;
const TEXT_TYPE = /^(?:text\/|application\/(?:[a-z0-9.-]+\+)?(?:json|xml|xhtml))/i;
const START_BYTES = 64;

/**
 * The bytes of an answer that is a file. Its first bytes decide whether it is one, as servers declare files as anything.
 * `hasKey` says whether its request had the operator's key. Throws `HttpError`.
 */
export async function fileBytes(
  answer: HttpAnswer,
  { hasKey }: { readonly hasKey: boolean },
): Promise<AsyncIterable<Uint8Array>> {
  if (answer.status !== 200) {
    answer.discard();
    const hints = hasKey ? {} : { isAccessRefused: false };
    throw answer.error('bad-answer', `The answer for a result has status ${answer.status}.`, hints);
  }
  const pieces = answer.body()[Symbol.asyncIterator]();
  let start: Buffer = Buffer.alloc(0);
  for (let next = await pieces.next(); next.done !== true; next = await pieces.next()) {
    start = Buffer.concat([start, next.value]);
    if (start.byteLength >= START_BYTES) break;
  }
  const text = start.toString('latin1', 0, START_BYTES);
  const isText =
    TEXT_START.test(text) || SENTENCE.test(text) || TEXT_TYPE.test(answer.header('content-type')?.trim() ?? '');
  if (start.byteLength > 0 && (isMedia(text) || !isText)) return following(start, pieces);
  await pieces.return?.();
  throw answer.error('bad-answer', `The answer for a result ${start.byteLength === 0 ? 'is empty' : 'is a text'}.`);
}

function isMedia(start: string): boolean {
  return MEDIA_STARTS.some(([at, text]) => start.startsWith(text, at));
}

async function* following(start: Uint8Array, rest: AsyncIterator<Uint8Array>): AsyncGenerator<Uint8Array> {
  try {
    yield start;
    for (let next = await rest.next(); next.done !== true; next = await rest.next()) yield next.value;
  } finally {
    await rest.return?.();
  }
}

/** The bytes of a data URL that is in memory. Throws `HttpError`. */
export async function* bytesOfDataUrl(dataUrl: string, answer: HttpAnswer): AsyncGenerator<Uint8Array> {
  const fail: ReadFailure = (kind, what) => answer.error(kind, what);
  async function* whole() {
    yield Buffer.from(dataUrl, 'latin1');
  }
  const { text } = await encodedText(whole(), fail);
  yield* decodedBase64(text, MAX_RESULT_BYTES, fail);
}

/** The limit for an answer without its results; some repeat the input. */
const MAX_JSON_BYTES = 8 * 1024 * 1024;
const MAX_STRINGS = 300;
const REPEATED_INPUT: readonly string[] = ['/input/*', '/input/*/*'];

/** The bytes of the data URL at `pointer`, one of those at the places `at` of an answer, read as they come. Throws `HttpError`. */
export async function* dataUrlBytes(
  answer: HttpAnswer,
  { pointer, at }: { readonly pointer: string; readonly at: string },
): AsyncGenerator<Uint8Array> {
  const fail: ReadFailure = (kind, what) => answer.error(kind, what);
  const places = { at: [at, `${at}/url`, ...REPEATED_INPUT], maxJsonBytes: MAX_JSON_BYTES, maxCount: MAX_STRINGS };
  const strings = largeStrings(answer.jsonBody(), places, fail);
  try {
    for (let next = await strings.next(); next.done !== true; next = await strings.next()) {
      if (next.value.pointer !== pointer) continue;
      const { text } = await encodedText(next.value.text, fail);
      yield* decodedBase64(text, MAX_RESULT_BYTES, fail);
      return;
    }
    throw fail('bad-answer', 'The answer no longer has the result.');
  } finally {
    await strings.return(undefined);
  }
}
