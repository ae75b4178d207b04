import { StoreUnavailable } from '../../core/errors.js';
import { isDuplicateKey } from './store-errors.js';

const MAX_TRIES = 5;

/**
 * Inserts the first document of a key, or answers the existing one. Between the two operations the existing one may be
 * removed, so that the key is free again: then it tries again, as a refused insert has written nothing.
 */
export async function firstOrExisting<T>(
  insert: () => Promise<unknown>,
  read: () => Promise<T | null>,
): Promise<{ readonly inserted: true } | { readonly inserted: false; readonly existing: T }> {
  for (let tries = 0; tries < MAX_TRIES; tries += 1) {
    try {
      await insert();
      return { inserted: true };
    } catch (error) {
      if (!isDuplicateKey(error)) throw error;
    }
    const existing = await read();
    if (existing !== null) return { inserted: false, existing };
  }
  throw new StoreUnavailable('MongoDB repeatedly reports a duplicate key, but a read does not find the document.');
}
