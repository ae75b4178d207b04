import type { HttpRequest } from '../../../adapters/http/http-request.js';
import { failure } from '../../../adapters/providers/shared/sentences.js';
import { shownStatus, statusMeaning } from '../../../adapters/providers/shared/status-words.js';
import type { JsonObject } from '../../../core/json.js';
import type { ProviderOutput, ProviderReport, Submission, SubmitAnswer } from '../../../core/ports/provider.js';
import { readableAgain } from '../../fixtures/byte-streams.js';

/** The answer to a request. */
export interface Told {
  readonly status: number;
  /** Undefined where the answer has no JSON. */
  readonly body: JsonObject | undefined;
  /** The error of a call whose answer does not report the task's state. */
  readonly failed: (what: string) => Error;
}

export const TASK_ID = /^[a-z0-9-]{1,100}$/;

const PICTURE: ProviderOutput = { kind: 'image', mediaType: 'image/png' };

/** The task as JSON; a reference is sent in hexadecimal as it is read. */
export function bodyOf({
  token,
  prompt,
  outputCount,
  references: [reference],
}: Submission): NonNullable<HttpRequest['body']> {
  const task = JSON.stringify({ token, prompt, count: outputCount });
  if (reference === undefined) return task;
  const [head, tail] = [Buffer.from(`${task.slice(0, -1)},"reference":"`), Buffer.from('"}')];
  const sent = async function* () {
    yield head;
    for await (const piece of await reference.open()) yield Buffer.from(Buffer.from(piece).toString('hex'));
    yield tail;
  };
  return { stream: sent(), byteSize: head.byteLength + 2 * reference.byteSize + tail.byteLength };
}

export function reportOf({ status: httpStatus, body = {}, failed }: Told): ProviderReport {
  const { status } = body;
  if (httpStatus !== 200 || typeof status !== 'string') throw failed('The answer says nothing of the task.');
  switch (statusMeaning(status)) {
    case 'running':
      return { state: 'running' };
    case 'failed':
      return { state: 'failed', failure: failure('output refused') };
    case 'cancelled':
      return { state: 'cancelled', outputs: [] };
    case 'succeeded':
      return { state: 'succeeded', outputs: Array.from({ length: countOf(body) }, () => PICTURE), cost: costOf(body) };
    case undefined:
      return { state: 'running', unknownStatus: shownStatus(status) };
  }
}

export function delivered(told: JsonObject): SubmitAnswer {
  const { pictures } = told;
  if (!Array.isArray(pictures) || pictures.length === 0) throw new Error('The answer has no pictures.');
  const outputs = pictures.map((picture) => {
    if (typeof picture !== 'string') throw new Error('A picture is no text.');
    return { ...PICTURE, bytes: readableAgain(Buffer.from(picture, 'base64')) };
  });
  return { accepted: true, outputs, cost: costOf(told) };
}

export function isNoTask({ status, body }: Told): boolean {
  return status === 404 && codeOf(body) === 'no_such_task';
}

export function idOf({ id }: JsonObject): string {
  if (typeof id !== 'string' || !TASK_ID.test(id)) throw new Error('The answer names no task.');
  return id;
}

function countOf({ pictures }: JsonObject): number {
  if (typeof pictures !== 'number' || !Number.isInteger(pictures)) throw new Error('The answer counts no pictures.');
  return pictures;
}

function costOf({ seconds }: JsonObject): { readonly computeMs: number } {
  if (typeof seconds !== 'number' || !(seconds >= 0)) throw new Error('The answer has no time.');
  return { computeMs: Math.ceil(seconds * 1_000) };
}

export function codeOf(body: unknown): unknown {
  const { error } = (body ?? {}) as { readonly error?: { readonly code?: unknown } };
  return error?.code;
}

export function objectOf(value: unknown): JsonObject {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) throw new Error('The answer is no object.');
  return value as JsonObject;
}
