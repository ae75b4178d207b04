import type { ServiceError } from '../../../core/errors.js';

/** Takes the place of the request of a call that is refused because of it, or before it is read. */
export class RefusedRequest {
  constructor(readonly refusal: ServiceError) {}
}
