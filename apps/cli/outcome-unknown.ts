import type { ServiceError } from '../../core/errors.js';
import { EXIT, Failure, withMore } from './exit.js';
import { failureOf } from './failure-of.js';

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
