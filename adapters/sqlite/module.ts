import { TOKENS } from '../../core/ports/tokens.js';
import { provideModule } from '../provide.js';
import type { SqliteStores } from './open-sqlite.js';

/** The five stores over one open data folder. */
export function sqliteModule(stores: SqliteStores) {
  return provideModule((provide) => {
    provide(TOKENS.accounts, [], () => stores.accounts);
    provide(TOKENS.generations, [], () => stores.generations);
    provide(TOKENS.claims, [], () => stores.claims);
    provide(TOKENS.uploads, [], () => stores.uploads);
    provide(TOKENS.credentials, [], () => stores.credentials);
  });
}
