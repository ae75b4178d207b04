import type { OpenObjects } from '../../adapters/driver.js';

/** Throws what the store throws. */
export function identityOf(objects: OpenObjects): Promise<string> {
  if (objects.identity === undefined)
    throw new Error('The driver of these objects provides no identity for them, and they are not in the data folder.');
  return objects.identity();
}
