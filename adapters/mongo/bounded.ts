import { StoreUnavailable } from '../../core/errors.js';
import { storeError } from './store-errors.js';

/**
 * One operation on the server. Throws `StoreUnavailable` when it failed for want of the server or `timeoutMs` are over, in
 * which case it may have happened, or may yet. The driver's own limits end each step of an operation; this one ends their sum.
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
