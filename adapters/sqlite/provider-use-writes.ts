import type { Database } from './driver.js';
import { replaceNamed } from './named-writes.js';

export function providerUseWrites(database: Database) {
  return { replaceProviderUse: replaceNamed(database, { table: 'provider_uses', name: 'provider' }) };
}
