import type { JsonObject } from '../../core/json.js';
import { type Finding, finding } from './finding.js';
import { canonical, textOf } from './values.js';

export type KeyedOperation = 'create' | 'prepare' | 'complete';

/** The same text for all requests under a key that are identical to the service. */
export function payloadOf(request: { readonly body: JsonObject; readonly uploadId?: string }): string {
  const { body, uploadId } = request;
  return canonical(uploadId === undefined ? body : [uploadId.toLowerCase(), body]);
}

const EFFECT: Readonly<Record<KeyedOperation, readonly string[]>> = {
  create: ['generation_id'],
  prepare: ['upload_id'],
  complete: ['upload_id', 'media_id'],
};

/** A text of the ids that a request under a key created, from its answer. */
export function effectOf(operation: KeyedOperation, data: JsonObject = {}): string {
  return canonical(EFFECT[operation].map((member) => data[member]));
}

/** A request under an idempotency key that succeeded. */
export interface KeyedSuccess {
  /** Describes the request in a sentence. */
  readonly told: string;
  readonly key: string;
  readonly payload: string;
  readonly effect: string;
}

/** Invariant 11: all successes under one key are one request with one effect. */
export function* checkEffect(first: KeyedSuccess, next: KeyedSuccess): Iterable<Finding> {
  const { told, key } = next;
  if (next.effect !== first.effect)
    yield finding`11: key ${key} was answered with ${next.effect}, and before with ${first.effect}: ${told}; ${first.told}`;
  if (next.payload !== first.payload)
    yield finding`11: key ${key} was answered for another request than the one it was first used with: ${told}; ${first.told}`;
}

/** Invariant 11: a request is refused for another payload only if another one was sent. */
export function* checkMismatch(told: string, key: string, payloads: ReadonlySet<string>): Iterable<Finding> {
  if (payloads.size > 1) return;
  yield finding`11: ${told} was refused as another request than key ${key} was used with, and there was only ever this one`;
}

/** A request under a key that may have created something. */
export interface PossibleOrigin {
  /**
   * Its client knows that it created nothing: every arrival of it was definitely refused, or, once all is at rest, its
   * client never received what it should have created.
   */
  readonly madeNothing: boolean;
}

/**
 * Invariants 11 and 13: a record under a key was created by a request under that key, and a refused request creates
 * nothing.
 */
export function* checkOrigin(what: string, key: string, requests: readonly PossibleOrigin[]): Iterable<Finding> {
  if (requests.length === 0) yield finding`11: ${what} was made under key ${key}, which no client sent`;
  else if (requests.every(({ madeNothing }) => madeNothing))
    yield finding`13: ${what} was made under key ${key}, and every request under it was refused`;
}

const REACHES_ALL_WITHIN_MS = 5_000;

/**
 * An answer's verdict on the request's API key: the key was accepted, it is revoked, or it is refused for another
 * reason although the request carried it whole. `nothing` means that any request may get such an answer, or that none
 * came.
 */
export type KeyVerdict = 'taken' | 'revoked' | 'refused' | 'nothing';

/** A request that carried an API key, in milliseconds of one clock. */
export interface KeyUsed {
  /** Describes the request in a sentence. */
  readonly told: string;
  /** The earliest time at which it may have arrived. */
  readonly arrivedAt: number;
  readonly answeredAt: number;
  readonly verdict: KeyVerdict;
  /** The answer in a word. */
  readonly answer: string;
}

export interface Revocation {
  readonly askedAt: number;
  /** When an operator was first notified that it is done; absent before that. */
  readonly doneAt?: number;
}

/** Invariant 18: a revoked key is refused everywhere within 5 seconds, and no other one is refused. */
export function* checkKeyUsed(used: KeyUsed, revocation: Revocation | undefined): Iterable<Finding> {
  const { told, arrivedAt, answeredAt, verdict, answer } = used;
  const mayBeRevoked = revocation !== undefined && revocation.askedAt <= answeredAt;
  if (verdict === 'refused' || (verdict === 'revoked' && !mayBeRevoked))
    yield finding`18: ${told} was answered with ${answer}, and its key was good`;
  const lateMs = arrivedAt - (revocation?.doneAt ?? Infinity);
  if (verdict === 'taken' && lateMs > REACHES_ALL_WITHIN_MS)
    yield finding`18: ${told} arrived ${Math.round(lateMs)} ms after its key was revoked, and was answered with ${answer}`;
}

/** A request about an id that does not belong to the sending App, and an answer about that id. */
export interface ForeignAnswer {
  /** Describes the request in a sentence. */
  readonly told: string;
  readonly operation: 'get' | 'cancel' | 'delete' | 'complete';
  readonly id: string;
  /** The App that owns the id; undefined if the id does not exist. */
  readonly owner: string | undefined;
  readonly isSuccess: boolean;
  readonly status?: number;
  readonly code?: string | undefined;
  readonly message?: string | undefined;
}

const REFUSED_WITH = {
  get: 'TASK_NOT_FOUND',
  cancel: 'TASK_NOT_FOUND',
  delete: 'TASK_NOT_FOUND',
  complete: 'FIELD_INVALID',
} as const;

/** Invariant 17: every operation has one refusal for ids that are not the caller's, whether or not they exist. */
export class ForeignAnswers {
  private readonly first = new Map<string, { readonly text: string; readonly told: string }>();

  /** Call this for the answers in sequence. */
  *check({ told, operation, id, owner, isSuccess, status, code, message }: ForeignAnswer): Iterable<Finding> {
    if (isSuccess) {
      yield finding`17: ${told} succeeded, and it belongs to ${textOf(owner)}`;
      return;
    }
    if (code !== REFUSED_WITH[operation])
      yield finding`17: ${told} was refused with ${textOf(code)}, and it belongs to ${textOf(owner)}`;
    const text = canonical([status, code, message?.replaceAll(id, 'ID')]);
    const first = this.first.get(operation);
    if (!first) this.first.set(operation, { text, told });
    else if (first.text !== text)
      yield finding`17: ${told} was answered with ${text}, and ${first.told} with ${first.text}`;
  }
}

/** Invariant 17: `user`, a record of App `appId`, refers only to uploads of that App. */
export function* checkReference(
  user: string,
  appId: string,
  uploadId: string,
  owner: string | undefined,
): Iterable<Finding> {
  if (owner === appId) return;
  yield finding`17: ${user} of App ${appId} uses upload ${uploadId}, which belongs to ${textOf(owner)}`;
}

/** Invariant 17: an answer is about the requested id. */
export function* checkSubject(told: string, asked: string, answered: string): Iterable<Finding> {
  if (answered !== asked) yield finding`17: ${told} for generation ${asked} was answered with ${answered}`;
}

/** Invariant 12: a generation that existed before the request was sent is not reported to its App as missing. */
export function* checkDenial(
  told: string,
  code: string | undefined,
  generationId: string,
  stoodBefore: boolean,
): Iterable<Finding> {
  if (stoodBefore) yield finding`12: ${told} was answered with ${textOf(code)}, and generation ${generationId} stands`;
}
