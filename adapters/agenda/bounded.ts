import type { Clock } from '../../core/ports/clock.js';
import { StoreUnavailable } from '../../core/errors.js';

/** The answer, or `StoreUnavailable` when the server refused or did not answer within `timeoutMs`. */
export async function bounded<T>(clock: Clock, timeoutMs: number, asked: Promise<T>): Promise<T> {
  let cancel: () => void = () => undefined;
  const late = new Promise<never>((_, reject) => {
    cancel = clock.after(timeoutMs, () => reject(new Error(`No answer within ${timeoutMs} ms.`)));
  });
  try {
    return await Promise.race([asked, late]);
  } catch (error) {
    throw new StoreUnavailable('The wake-ups in MongoDB cannot be reached.', error);
  } finally {
    cancel();
  }
}
