import { CallOver, type Cancellation } from '../../core/cancellation.js';
import { StoreUnavailable } from '../../core/errors.js';
import { storeError } from './store-errors.js';

/**
 * One operation on the server. Throws `StoreUnavailable` if the server was unavailable or `timeoutMs` are over: the
 * operation may then have happened, or may still happen. The driver's own limits bound each step of an operation; this
 * one bounds their sum.
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
 * A read that ends with `CallOver` when its call is over. The driver could abort a command it has sent, but it closes
 * the connection to do so: many impatient callers of a slow server would make it accept new connections as well.
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
