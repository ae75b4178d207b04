import type { JsonObject } from '../../core/json.js';
import type { Finding } from './finding.js';
import { canonical } from './values.js';

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
