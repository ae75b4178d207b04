import { CallOver, type Cancellation } from '../../core/cancellation.js';
import { StoreUnavailable } from '../../core/errors.js';
import { storeError } from './store-errors.js';

/**
 * One operation on the server. Throws `StoreUnavailable` when it failed for want of the server or `timeoutMs` are over,
 * in which case it may have happened, or may yet. The driver's own limits end each step of an operation; this one ends
 * their sum.
 */
export async function bounded<T>(timeoutMs: number, operation: () => Promise<T>): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const tooLate = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new StoreUnavailable(`MongoDB did not answer within ${timeoutMs} ms.`)), timeoutMs);
  });
  try {
    return await Promise.race([operation(), tooLate]);
  } catch (error) {
    throw storeError(error);
  } finally {
    clearTimeout(timer);
  }
}

/**
 * A read for as long as its call waits, then `CallOver`. The driver could be told to let go of what it has sent, but it
 * closes the connection to do so: many who lose patience with a slow server would have it accept connections besides.
 */
export async function whileWanted<T>(call: Cancellation, read: Promise<T>): Promise<T> {
  let listenNoMore: () => void = () => undefined;
  const over = new Promise<never>((_, reject) => {
    listenNoMore = call.onOver(() => reject(new CallOver()));
  });
  try {
    return await Promise.race([read, over]);
  } catch (error) {
    // The server may have been first to see that the deadline has passed.
    throw call.isOver ? new CallOver() : error;
  } finally {
    listenNoMore();
  }
}
