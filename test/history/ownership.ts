import type { Finding } from './finding.js';
import { canonical, textOf } from './values.js';

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
