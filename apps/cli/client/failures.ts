import { CatalogInvalid } from '../../../adapters/catalog-file/file-catalog.js';
import { ApiError, DarkroomError, type GenerationTask } from '../../../clients/typescript/src/index.js';
import { type ErrorCode, ServiceError, StoreUnavailable } from '../../../core/errors.js';
import { ConfigInvalid } from '../../config/config.js';
import { printable } from '../../logging/logged-fields.js';
import { shellWord } from '../../shell-word.js';
import { EXIT, Failure, sentenceOf, withMore } from '../exit.js';
import type { ConnectionOptions } from './connection.js';
import { Interrupted } from './follow-generation.js';

/**
 * Converts an error of the client library for a command: a refusal becomes a failure with the server's own sentence,
 * other errors are returned unchanged.
 */
export function clientFailure(error: unknown): unknown {
  if (error instanceof ApiError) {
    const { code, message, request_id } = error.refusal;
    const sentence = `${printable(message)}${filesHint(code, message)} (${code}, request ${request_id})`;
    return new Failure(sentence, error.status >= 500 ? EXIT.failure : EXIT.refused, { code, message, request_id });
  }
  return error instanceof DarkroomError
    ? new Failure(error.message + serverHint(error.message), EXIT.failure, {}, error.cause)
    : error;
}

function serverHint(message: string): string {
  return message.endsWith(' cannot be reached: nothing listens there.')
    ? ' Start one with darkroom serve, or name another with --url.'
    : '';
}

/** A request lacks a file, which the server's sentence names by the field of the API. */
function filesHint(code: string, message: string): string {
  return code === 'FIELD_REQUIRED' && message.startsWith('reference_upload_ids ')
    ? ' Files are given with --reference, --start-frame and --end-frame.'
    : '';
}

/** The progress of a cancel: not requested, on its way to the server, or accepted by it. */
export type Cancelling = 'no' | 'asked' | 'taken';

const STATES: Readonly<Record<Cancelling, string>> = {
  no: 'continues',
  asked: 'continues unless the server has received the cancel',
  taken: 'is being cancelled',
};

/** Shows where to find the results, for a user who stops before they are on disk. */
export function whereToFind(
  { generation_id, completed_at }: GenerationTask,
  { url }: ConnectionOptions,
  cancelling: Cancelling = 'no',
): string {
  const state = completed_at === undefined ? STATES[cancelling] : 'has ended';
  return `Generation ${generation_id} ${state}; fetch it with: darkroom status ${shellWord(generation_id)} --out <path>${url === undefined ? '' : ` --url ${shellWord(url)}`}`;
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

/** A hint for a user who does not know whether a create was accepted. */
export function unheard(idempotencyKey: string): string {
  return `Whether it was accepted is not known; the same command with --idempotency-key ${shellWord(idempotencyKey)} finds out and does not spend twice.`;
}

/** A create without a response, or with one that does not show what was done, may have been accepted. */
export function createFailure(error: unknown, idempotencyKey: string): unknown {
  const isDecided = error instanceof ApiError && error.status < 500;
  return isDecided
    ? error
    : withMore(clientFailure(error), unheard(idempotencyKey), { idempotency_key: idempotencyKey });
}

/** The codes with which the server refuses an operator's command that has an invalid argument. */
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
 * The failure of an operation that may nevertheless have been done: a try was sent, and its outcome is unknown. The
 * error of the last try concerns only that try, so even a refusal does not mean that the operation was refused.
 */
export class OutcomeUnknown extends Failure {
  constructor(readonly lastTry: ServiceError | Failure) {
    const { message, details } = withMore(failureOf(lastTry), 'Whether it was done is not known.');
    // Otherwise `--json` would show only the server's own sentence for a refusal, and programs would read nothing
    // else.
    super(message, EXIT.failure, details === 'shown' ? details : { ...details, message }, lastTry);
    this.name = 'OutcomeUnknown';
  }
}
