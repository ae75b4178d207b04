import type { HttpError } from '../http-error.js';

/** Makes the error for a body that is invalid or too large. */
export type ReadFailure = (kind: 'bad-answer' | 'too-large', what: string) => HttpError;
