import { CatalogInvalid } from '../../../adapters/catalog-file/file-catalog.js';
import { ApiError, DarkroomError, type GenerationTask } from '../../../clients/typescript/src/index.js';
import { type ErrorCode, ServiceError, StoreUnavailable } from '../../../core/errors.js';
import { ConfigInvalid } from '../../config/config.js';
import { printable } from '../../logging/logged-fields.js';
import { EXIT, Failure, sentenceOf, withMore } from '../exit.js';
import type { ConnectionOptions } from './connection.js';
import { Interrupted } from './follow-generation.js';

/** What the client library throws as a command tells it: a refusal with the server's own sentence; anything else as it is. */
export function clientFailure(error: unknown): unknown {
  if (error instanceof ApiError) {
    const { code, message, request_id } = error.refusal;
    const sentence = `${printable(message)} (${code}, request ${request_id})`;
    return new Failure(sentence, error.status >= 500 ? EXIT.failure : EXIT.refused, { code, message, request_id });
  }
  return error instanceof DarkroomError ? new Failure(error.message, EXIT.failure, {}, error.cause) : error;
}

/** How far a cancel has come: not asked for, on its way to the server, or taken by it. */
export type Cancelling = 'no' | 'asked' | 'taken';

const STATES: Readonly<Record<Cancelling, string>> = {
  no: 'continues',
  asked: 'continues unless the server has received the cancel',
  taken: 'is being cancelled',
};

/** Tells a user who stops before the results are on the disk where to find them. */
export function whereToFind(
  { generation_id, completed_at }: GenerationTask,
  { url }: ConnectionOptions,
  cancelling: Cancelling = 'no',
): string {
  const state = completed_at === undefined ? STATES[cancelling] : 'has ended';
  return `Generation ${generation_id} ${state}; fetch it with: npx darkroom status ${generation_id} --out <path>${url === undefined ? '' : ` --url ${url}`}`;
}

/** A failure after the acceptance ends with where the generation is to be found. */
export function cutShort(
  error: unknown,
  task: GenerationTask,
  options: ConnectionOptions,
  cancelling: Cancelling = 'no',
): Failure {
  return withMore(clientFailure(error), whereToFind(task, options, cancelling), { generation_id: task.generation_id });
}

/** What to do when it is not known whether a create was accepted. */
export function unheard(idempotencyKey: string): string {
  return `Whether it was accepted is not known; the same command with --idempotency-key ${idempotencyKey} finds out and does not spend twice.`;
}

/** A create without an answer, or with one that says nothing about what was done, may have been accepted. */
export function createFailure(error: unknown, idempotencyKey: string): unknown {
  const isDecided = error instanceof ApiError && error.status < 500;
  return isDecided
    ? error
    : withMore(clientFailure(error), unheard(idempotencyKey), { idempotency_key: idempotencyKey });
}

/** What an operator's command is refused with when an argument is one that cannot be. */
const ARGUMENT_CODES: ReadonlySet<ErrorCode> = new Set(['FIELD_REQUIRED', 'FIELD_INVALID', 'NOT_FOUND']);

/** The message for any error that ends a command. */
export function failureOf(thrown: unknown): Failure {
  const error = clientFailure(thrown);
  if (error instanceof Failure) return error;
  if (error instanceof Interrupted) return new Failure('Interrupted before anything was accepted.', EXIT.cancelled);
  if (error instanceof ServiceError) {
    return new Failure(printable(error.message), ARGUMENT_CODES.has(error.code) ? EXIT.usage : EXIT.failure, {
      code: error.code,
      message: error.message,
    });
  }
  if (error instanceof CatalogInvalid || error instanceof ConfigInvalid) {
    const { faults, message } = error;
    return new Failure(faults.length === 1 ? message : `${faults.length} things are wrong:\n${message}`, EXIT.failure, {
      faults,
    });
  }
  if (error instanceof StoreUnavailable) return new Failure(`The store cannot answer: ${error.message}`);
  return new Failure(sentenceOf(error));
}

/**
 * The failure of an operation that may have been done all the same: a try of it was sent, and its outcome is unknown.
 * The end of the last try concerns that try only, so even a refusal does not mean that the operation was refused.
 */
export class OutcomeUnknown extends Failure {
  constructor(readonly lastTry: ServiceError | Failure) {
    const { message, details } = withMore(failureOf(lastTry), 'Whether it was done is not known.');
    // What `--json` shows of a refusal is the server's own sentence otherwise, which would be all that a program reads.
    super(message, EXIT.failure, details === 'shown' ? details : { ...details, message }, lastTry);
    this.name = 'OutcomeUnknown';
  }
}
