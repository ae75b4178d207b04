import { CallOver, type Cancellation } from '../core/cancellation.js';

/** Waits at most `timeoutMs`, then throws the error that `tooLate` returns; the operation itself is not cancelled. */
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
 * A read that ends with `CallOver` when its call is over. The command that was sent is not
 * aborted: drivers close its connection or open another one for that, so many impatient callers would load a slow server further.
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
