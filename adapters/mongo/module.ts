import { TOKENS } from '../../core/ports/tokens.js';
import { provideModule } from '../provide.js';
import type { MongoStores } from './open-mongo.js';

/** The five stores over one open database. */
export function mongoModule(stores: MongoStores) {
  return provideModule((provide) => {
    provide(TOKENS.accounts, [], () => stores.accounts);
    provide(TOKENS.generations, [], () => stores.generations);
    provide(TOKENS.claims, [], () => stores.claims);
    provide(TOKENS.uploads, [], () => stores.uploads);
    provide(TOKENS.credentials, [], () => stores.credentials);
  });
}
