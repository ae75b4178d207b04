import { StoreUnavailable } from '../../core/errors.js';
import { collected } from '../fixtures/byte-streams.js';
import type { Interceptor } from '../fixtures/intercepted.js';

/** A process that makes `call` calls on its stores and dies in the next: before it, or `after` it has happened. */
export function cutting(call: number, after: boolean): Interceptor {
  let seen = 0;
  return async (made) => {
    seen += 1;
    if (seen <= call) return made.proceed();
    const done = seen === call + 1 && after ? await made.proceed() : null;
    // Nobody else will close what was opened.
    if (made.name === 'objects.read' && done !== null) await collected(done as AsyncIterable<Uint8Array>);
    throw new StoreUnavailable('The process is gone.');
  };
}
