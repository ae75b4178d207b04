import type { ProviderCost, ProviderReport } from '../../../core/ports/provider.js';
import type { HttpAnswer } from '../../http/http-answer.js';
import { decodedBase64, encodedText } from '../../http/json/base64.js';
import type { ReadFailure } from '../../http/json/json-scanner.js';
import { largeStrings } from '../../http/json/json-with-files.js';
import { isObject } from '../shared/json-members.js';
import { policyRefusalIn } from '../shared/policy-codes.js';
import { failure } from '../shared/sentences.js';
import { shownStatus, statusMeaning } from '../shared/status-words.js';

type Fields = Readonly<Record<string, unknown>>;

/** The place of the pictures in an answer. They come before the state of the job. */
const PICTURES = '/result/images/*/b64_json';
/** More than a picture of 4096 by 4096 pixels has without compression. */
const MAX_PICTURE_BYTES = 128 * 1024 * 1024;
/** Eight pictures, in base64. */
export const MAX_ANSWER_BYTES = 1_536 * 1024 * 1024;
const READING = { at: [PICTURES], maxJsonBytes: 256 * 1024, maxCount: 64 };
const ID = '/id';
const READING_OF_PICTURE = { ...READING, at: [ID, PICTURES], maxCount: READING.maxCount + 1 };

const SPACE = 0x20;
const MEDIA_TYPES: Readonly<Record<string, string>> = { png: 'image/png', jpeg: 'image/jpeg', webp: 'image/webp' };

/** Ids have no other characters. */
export const JOB_ID = /^[A-Za-z0-9_-]{1,128}$/;

/**
 * The state of a job by the answer about it, in memory that does not grow with the pictures in it. Throws `HttpError` for
 * an answer that no sd-server gives.
 */
export async function reportOf(answer: HttpAnswer, reference: string): Promise<ProviderReport> {
  if (answer.status === 404 || answer.status === 410) return reportOfAbsent(answer);
  if (answer.status !== 200) throw unexpected(answer);
  const strings = largeStrings(answer.jsonBody(), READING, (kind, what) => answer.error(kind, what));
  let pictures = 0;
  let job: unknown;
  try {
    let next = await strings.next();
    for (; next.done !== true; next = await strings.next()) if (await isFilled(next.value.text)) pictures += 1;
    job = next.value;
  } finally {
    await strings.return(undefined);
  }
  if (!isObject(job) || job['id'] !== reference) throw unexpected(answer);
  return reportOfJob(job, pictures, answer);
}

/**
 * One picture of a finished job, read as it comes; its end is given once the answer has named the job. Throws `HttpError`,
 * also where there is no such picture, and for the answer about another job.
 */
export async function* pictureOf(
  answer: HttpAnswer,
  { reference, index }: { readonly reference: string; readonly index: number },
): AsyncGenerator<Uint8Array> {
  if (answer.status !== 200) throw unexpected(answer);
  const fail: ReadFailure = (kind, what) => answer.error(kind, what);
  const strings = largeStrings(answer.jsonBody(), READING_OF_PICTURE, fail);
  let isOwn = false;
  let end: Uint8Array | undefined;
  let seen = 0;
  try {
    for (;;) {
      const { done, value } = await strings.next();
      if (done === true) throw answer.error('bad-answer', `The job has no id, or no picture ${index + 1}.`);
      if (value.pointer === ID) {
        isOwn = await isText(value.text, reference);
        if (!isOwn) throw unexpected(answer);
      } else {
        // One that is empty is not counted, as in the report.
        if (seen === index) {
          const { text } = await encodedText(value.text, fail);
          end = yield* allButLast(decodedBase64(text, MAX_PICTURE_BYTES, fail));
          seen += end === undefined ? 0 : 1;
        } else if (await isFilled(value.text)) seen += 1;
      }
      if (!isOwn || end === undefined) continue;
      yield end;
      return;
    }
  } finally {
    await strings.return(undefined);
  }
}

/** Whether there is anything in the place of a picture, also where it is not base64. */
async function isFilled(text: AsyncIterable<Uint8Array>): Promise<boolean> {
  for await (const piece of text) if (piece.some((byte) => byte > SPACE)) return true;
  return false;
}

async function isText(text: AsyncIterable<Uint8Array>, expected: string): Promise<boolean> {
  let read = '';
  for await (const piece of text) {
    read += Buffer.from(piece).toString('latin1');
    if (read.length > expected.length) return false;
  }
  return read === expected;
}

/** Gives all pieces but the last one, which it returns; undefined where there is none. */
async function* allButLast(bytes: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array, Uint8Array | undefined> {
  let last: Uint8Array | undefined;
  for await (const piece of bytes) {
    if (last !== undefined) yield last;
    last = Uint8Array.from(piece);
  }
  return last;
}

/** The server's own word for what is wrong, in a body of its form. */
export function errorOf(body: unknown): string | undefined {
  const error = isObject(body) ? body['error'] : undefined;
  return typeof error === 'string' ? error : undefined;
}

/** The error for an answer that no sd-server gives; its body is given up. */
export function unexpected(answer: HttpAnswer): Error {
  answer.discard();
  return answer.error('bad-answer', `The answer with status ${answer.status} is not that of sd-server.`);
}

/** Ten minutes after its end a job is forgotten, and ten minutes later also that there was one. */
async function reportOfAbsent(answer: HttpAnswer): Promise<ProviderReport> {
  const error = errorOf(await answer.requiredShortJson(READING.maxJsonBytes));
  if (answer.status === 410 && error === 'job expired') return { state: 'failed', failure: failure('broke') };
  if (answer.status === 404 && error === 'job not found') return { state: 'unknown' };
  throw unexpected(answer);
}

function reportOfJob(job: Fields, pictures: number, answer: HttpAnswer): ProviderReport {
  const { status } = job;
  if (typeof status !== 'string' || status === '') throw unexpected(answer);
  switch (statusMeaning(status)) {
    case 'running':
      return { state: 'running' };
    case 'succeeded':
      return reportOfCompleted(job, pictures);
    case 'failed':
      return { state: 'failed', failure: failure(policyRefusalIn(job['error']) ?? 'broke'), ...costOf(job) };
    case 'cancelled':
      return { state: 'cancelled', outputs: [] };
    case undefined:
      return { state: 'running', unknownStatus: shownStatus(status) };
  }
}

function reportOfCompleted(job: Fields, pictures: number): ProviderReport {
  const { images, output_format: format } = isObject(job['result']) ? job['result'] : ({} as Fields);
  const mediaType = typeof format === 'string' && Object.hasOwn(MEDIA_TYPES, format) ? MEDIA_TYPES[format] : undefined;
  if (!Array.isArray(images) || pictures === 0 || mediaType === undefined)
    return { state: 'failed', failure: failure('broke'), ...costOf(job) };
  const outputs = Array.from({ length: pictures }, () => ({ kind: 'image', mediaType }) as const);
  return { state: 'succeeded', outputs, ...costOf(job) };
}

/** The server reports times in whole seconds. */
function costOf({ started, completed }: Fields): { readonly cost?: ProviderCost } {
  if (!isSeconds(started) || !isSeconds(completed) || completed < started) return {};
  return { cost: { computeMs: (completed - started) * 1_000 } };
}

function isSeconds(value: unknown): value is number {
  return Number.isSafeInteger(value) && Number(value) > 0;
}
