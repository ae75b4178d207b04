import { formatFault } from '../../../core/media/format-fault.js';
import type { ProviderCall, ProviderOutput } from '../../../core/ports/provider.js';
import { answerAddress } from '../../http/answer-address.js';
import { HttpError } from '../../http/http-error.js';
import { ListedHosts } from '../../http/listed-hosts.js';
import type { Connection } from './connection.js';

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
  /** Where they may be. */
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

/** The addresses among the values of an answer whose files may be fetched and can be delivered, in order. */
export function usableAddresses(files: ResultFiles, values: readonly unknown[]): readonly string[] {
  return values.filter((value) => isResultAddress(files, value)).filter((address) => isDelivered(extensionOf(address)));
}

function isDelivered(extension: string): boolean {
  return !OTHER_FILES.test(extension) && formatFault(extension) === undefined;
}

/** What a file is by the end of its address; `otherwise` where that says nothing. */
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

/** The bytes of a file. No redirect is followed. Throws `HttpError`, also for an answer that declares a page or another text. */
export async function resultBytes(
  { connection, hosts, sendsKey = false }: ResultFiles,
  address: string,
  { signal }: ProviderCall,
): Promise<AsyncIterable<Uint8Array>> {
  const { url, isOwnOrigin } = answerAddress(address, { base: connection.base, hosts });
  const answer = await connection.client.request({
    method: 'GET',
    url,
    hasSecretPath: !isOwnOrigin,
    headers: sendsKey && isOwnOrigin ? connection.credentials : {},
    signal,
    limits: { maxBodyBytes: MAX_RESULT_BYTES, totalTimeoutMs: LONGEST_FETCH_MS, maxDecompressionRatio: 2_000 },
  });
  const isText = /^(?:text\/|application\/(?:json|xhtml))/i.test(answer.header('content-type')?.trim() ?? '');
  if (answer.status === 200 && !isText) return answer.body();
  answer.discard();
  const what = isText ? 'is a text' : `has status ${answer.status}`;
  throw answer.error('bad-answer', `The answer for a result ${what}.`);
}
