import type { ServiceError } from '../../core/errors.js';
import { EXIT, Failure, withMore } from './exit.js';
import { failureOf } from './failure-of.js';

/**
 * The failure of work that may have been done all the same: a try of it was sent, and nobody heard what came of it.
 * What the last try ended with is true of that try alone, so even a refusal is none of the work as a whole.
 */
export class OutcomeUnknown extends Failure {
  constructor(readonly lastTry: ServiceError | Failure) {
    const { message, details } = withMore(failureOf(lastTry), 'Whether it was done is not known.');
    // What `--json` shows of a refusal is the server's own sentence otherwise, which would be all that a program reads.
    super(message, EXIT.failure, details === 'shown' ? details : { ...details, message }, lastTry);
    this.name = 'OutcomeUnknown';
  }
}
