import { ServiceError, StoreUnavailable, type ErrorCode } from '../../core/errors.js';
import { CatalogInvalid } from '../../adapters/catalog-file/file-catalog.js';
import { ConfigInvalid } from '../config/config.js';
import { clientFailure } from './client/client-failure.js';
import { Interrupted } from './client/interruption.js';
import { EXIT, Failure, sentenceOf } from './exit.js';
import { printable } from '../logging/printable.js';

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
