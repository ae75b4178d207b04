import { CallOver, type Cancellation } from '../core/cancellation.js';

/** Waits at most so many milliseconds, and then throws what `tooLate` makes; the operation itself goes on. */
export async function within<T>(timeoutMs: number, operation: () => Promise<T>, tooLate: () => Error): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(tooLate()), timeoutMs);
  });
  try {
    return await Promise.race([operation(), late]);
  } finally {
    clearTimeout(timer);
  }
}

/**
 * A read that ends with `CallOver` when its call is over. The command that was sent goes on: to abort it, drivers close its
 * connection or open another one, so that many impatient callers of a slow server would make it work still more.
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
