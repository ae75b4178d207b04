import type { ServiceError } from '../../../core/errors.js';

/** Stands where a request would, of a call that is refused for it, or without a look at it. */
export class RefusedRequest {
  constructor(readonly refusal: ServiceError) {}
}
