import type { JsonObject } from '../../core/json.js';
import type { Finding } from './finding.js';
import { canonical, textOf } from './values.js';

export type KeyedOperation = 'create' | 'prepare' | 'complete';

/** One text for all requests under a key that are the same to the service. */
export function payloadOf(request: { readonly body: JsonObject; readonly uploadId?: string }): string {
  const { body, uploadId } = request;
  return canonical(uploadId === undefined ? body : [uploadId.toLowerCase(), body]);
}

const EFFECT: Readonly<Record<KeyedOperation, readonly string[]>> = {
  create: ['generation_id'],
  prepare: ['upload_id'],
  complete: ['upload_id', 'media_id'],
};

/** One text of the ids of what a request under a key made, by its answer. */
export function effectOf(operation: KeyedOperation, data: JsonObject = {}): string {
  return canonical(EFFECT[operation].map((member) => data[member]));
}

/** A request under an idempotency key that succeeded. */
export interface KeyedSuccess {
  /** The request in a sentence. */
  readonly told: string;
  readonly key: string;
  readonly payload: string;
  readonly effect: string;
}

/** Invariant 11: all that succeeds under one key is one request with one effect. */
export function* checkEffect(first: KeyedSuccess, next: KeyedSuccess): Iterable<Finding> {
  const { told, key } = next;
  if (next.effect !== first.effect)
    yield {
      invariant: 11,
      sentence: `key ${key} was answered with ${next.effect}, and before with ${first.effect}: ${told}; ${first.told}`,
    };
  if (next.payload !== first.payload)
    yield {
      invariant: 11,
      sentence: `key ${key} was answered for another request than the one it was first used with: ${told}; ${first.told}`,
    };
}

/** Invariant 11: a request is refused for another payload only if another one was sent. */
export function* checkMismatch(told: string, key: string, payloads: ReadonlySet<string>): Iterable<Finding> {
  if (payloads.size > 1) return;
  yield {
    invariant: 11,
    sentence: `${told} was refused as another request than key ${key} was used with, and there was only ever this one`,
  };
}

/** A request under a key, as far as it may have made something. */
export interface PossibleOrigin {
  /**
   * Its client knows that it made nothing: every arrival of it was refused for certain, or, once all is at rest, its
   * client was never told of what it should have made.
   */
  readonly madeNothing: boolean;
}

/** Invariants 11 and 13: what stands under a key was made by a request under that key, and what is refused makes nothing. */
export function* checkOrigin(what: string, key: string, requests: readonly PossibleOrigin[]): Iterable<Finding> {
  if (requests.length === 0)
    yield { invariant: 11, sentence: `${what} was made under key ${key}, which no client sent` };
  else if (requests.every(({ madeNothing }) => madeNothing))
    yield { invariant: 13, sentence: `${what} was made under key ${key}, and every request under it was refused` };
}

const REACHES_ALL_WITHIN_MS = 5_000;

/**
 * What an answer says of the API key it was asked with: the key was taken, it is revoked, it is refused for another
 * reason although the request carried it whole; or nothing, because any request may get such an answer, or none came.
 */
export type KeyVerdict = 'taken' | 'revoked' | 'refused' | 'nothing';

/** A request that carried an API key, in milliseconds of one clock. */
export interface KeyUsed {
  /** The request in a sentence. */
  readonly told: string;
  /** When it arrived, at the earliest. */
  readonly arrivedAt: number;
  readonly answeredAt: number;
  readonly verdict: KeyVerdict;
  /** The answer in a word. */
  readonly answer: string;
}

export interface Revocation {
  readonly askedAt: number;
  /** When an operator was first told that it is done. Absent as long as nobody was. */
  readonly doneAt?: number;
}

/** Invariant 18: a revoked key is refused everywhere within 5 seconds, and no other one is refused. */
export function* checkKeyUsed(used: KeyUsed, revocation: Revocation | undefined): Iterable<Finding> {
  const { told, arrivedAt, answeredAt, verdict, answer } = used;
  const mayBeRevoked = revocation !== undefined && revocation.askedAt <= answeredAt;
  if (verdict === 'refused' || (verdict === 'revoked' && !mayBeRevoked))
    yield { invariant: 18, sentence: `${told} was answered with ${answer}, and its key was good` };
  const lateMs = arrivedAt - (revocation?.doneAt ?? Infinity);
  if (verdict === 'taken' && lateMs > REACHES_ALL_WITHIN_MS)
    yield {
      invariant: 18,
      sentence: `${told} arrived ${Math.round(lateMs)} ms after its key was revoked, and was answered with ${answer}`,
    };
}

/** A request about an id that is not of the App that sent it, and an answer that is about that id. */
export interface ForeignAnswer {
  /** The request in a sentence. */
  readonly told: string;
  readonly operation: 'get' | 'cancel' | 'delete' | 'complete';
  readonly id: string;
  /** The App that it belongs to, if there is such a thing. */
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

/** Invariant 17: every operation has one refusal for what is not the caller's, whether it belongs to somebody or not. */
export class ForeignAnswers {
  private readonly first = new Map<string, { readonly text: string; readonly told: string }>();

  /** Answers are to be shown one after another. */
  *check({ told, operation, id, owner, isSuccess, status, code, message }: ForeignAnswer): Iterable<Finding> {
    if (isSuccess) {
      yield { invariant: 17, sentence: `${told} succeeded, and it belongs to ${textOf(owner)}` };
      return;
    }
    if (code !== REFUSED_WITH[operation])
      yield {
        invariant: 17,
        sentence: `${told} was refused with ${textOf(code)}, and it belongs to ${textOf(owner)}`,
      };
    const text = canonical([status, code, message?.replaceAll(id, 'ID')]);
    const first = this.first.get(operation);
    if (!first) this.first.set(operation, { text, told });
    else if (first.text !== text)
      yield { invariant: 17, sentence: `${told} was answered with ${text}, and ${first.told} with ${first.text}` };
  }
}

/** Invariant 17: `user`, something of App `appId`, refers to uploads of that App only. */
export function* checkReference(
  user: string,
  appId: string,
  uploadId: string,
  owner: string | undefined,
): Iterable<Finding> {
  if (owner === appId) return;
  yield {
    invariant: 17,
    sentence: `${user} of App ${appId} uses upload ${uploadId}, which belongs to ${textOf(owner)}`,
  };
}

/** Invariant 17: an answer is about what was asked for. */
export function* checkSubject(told: string, asked: string, answered: string): Iterable<Finding> {
  if (answered !== asked)
    yield { invariant: 17, sentence: `${told} for generation ${asked} was answered with ${answered}` };
}

/** Invariant 12: a generation that stood before the request was sent is not denied to its App. */
export function* checkDenial(
  told: string,
  code: string | undefined,
  generationId: string,
  stoodBefore: boolean,
): Iterable<Finding> {
  if (stoodBefore)
    yield {
      invariant: 12,
      sentence: `${told} was answered with ${textOf(code)}, and generation ${generationId} stands`,
    };
}
