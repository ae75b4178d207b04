import type { ListedHosts } from '../../http/allow-list.js';
import { answerAddress } from '../../http/http-answer.js';
import { HttpError } from '../../http/http-error.js';
import { valuesAt } from '../shared/pointer-values.js';
import type { HttpJsonSettings } from './http-json-settings.js';
import { isSegments, keepsSlashes } from './path-template.js';

/** A task of the API, as a reference keeps it. */
export interface RemoteTask {
  readonly id: string;
  /** The addresses that the answer to the submission gave; those of the instance's own origin without it. */
  readonly poll?: string;
  readonly cancel?: string;
}

export interface AnswerPlaces {
  readonly base: string;
  /** Hosts beside the instance's own that answers may point to. */
  readonly hosts: ListedHosts;
}

const LONGEST_REFERENCE = 1_000;

/** A task's id in an answer; undefined where there is none that may be used. */
export function idAt(answer: unknown, pointer: string, settings: HttpJsonSettings): string | undefined {
  const id = idTextAt(answer, pointer);
  return id !== undefined && isTaskId(id, settings) ? id : undefined;
}

/** The id of a task's result in the answer about its state; undefined where there is none that may be used. */
export function resultIdAt(answer: unknown, { result }: HttpJsonSettings): string | undefined {
  if (result?.id === undefined) return undefined;
  const id = idTextAt(answer, result.id);
  return id !== undefined && isId(id, result.id_pattern, keepsSlashes(result.path, 'result_id')) ? id : undefined;
}

function idTextAt(answer: unknown, pointer: string): string | undefined {
  const [value] = valuesAt(answer, pointer);
  const id = typeof value === 'number' && Number.isSafeInteger(value) ? String(value) : value;
  return typeof id === 'string' ? id : undefined;
}

/** The reference of a task that an answer to its submission names; undefined where it does not name one in full. */
export function referenceIn(answer: unknown, settings: HttpJsonSettings, places: AnswerPlaces): string | undefined {
  const id = idAt(answer, settings.submit.id, settings);
  if (id === undefined) return undefined;
  if (!hasAddresses(settings)) return id;
  const poll = addressAt(answer, settings.poll.address, places);
  if (settings.poll.address !== undefined && poll === undefined) return undefined;
  // Without an address to cancel at, a task can still be followed.
  const cancel = addressAt(answer, settings.cancel?.address, places);
  const reference = JSON.stringify({
    id,
    ...(poll === undefined ? {} : { poll }),
    ...(cancel === undefined ? {} : { cancel }),
  });
  return reference.length > LONGEST_REFERENCE ? undefined : reference;
}

/** The task of a reference; undefined for a text that is none. */
export function taskOf(reference: string, settings: HttpJsonSettings): RemoteTask | undefined {
  if (reference.length > LONGEST_REFERENCE) return undefined;
  if (!hasAddresses(settings)) return isTaskId(reference, settings) ? { id: reference } : undefined;
  const read = objectOf(reference);
  const { id, poll, cancel } = read ?? {};
  if (typeof id !== 'string' || !isTaskId(id, settings)) return undefined;
  if (settings.poll.address !== undefined && typeof poll !== 'string') return undefined;
  return {
    id,
    ...(typeof poll === 'string' ? { poll } : {}),
    ...(typeof cancel === 'string' ? { cancel } : {}),
  };
}

/** An address at a place of an answer that may be called; undefined where there is none. */
export function addressAt(
  answer: unknown,
  pointer: string | undefined,
  { base, hosts }: AnswerPlaces,
): string | undefined {
  const [value] = pointer === undefined ? [] : valuesAt(answer, pointer);
  try {
    const { url, isOwnOrigin } = answerAddress(value, { base, hosts });
    return isOwnOrigin ? url.slice(new URL(url).origin.length) : url;
  } catch (error) {
    if (error instanceof HttpError) return undefined;
    throw error;
  }
}

function hasAddresses({ poll, cancel }: HttpJsonSettings): boolean {
  return poll.address !== undefined || cancel?.address !== undefined;
}

function isTaskId(text: string, { submit, poll, result, cancel }: HttpJsonSettings): boolean {
  const withSlashes = [poll, result, cancel].some((route) => keepsSlashes(route?.path, 'id'));
  return isId(text, submit.id_pattern, withSlashes);
}

function isId(text: string, pattern: string, withSlashes: boolean): boolean {
  if (!/^[\x21-\x7e]{1,200}$/.test(text) || /^\.{1,2}$/.test(text)) return false;
  return (!withSlashes || isSegments(text)) && new RegExp(`^(?:${pattern})$`, 'u').test(text);
}

function objectOf(text: string): Readonly<Record<string, unknown>> | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : undefined;
  } catch {
    return undefined;
  }
}
