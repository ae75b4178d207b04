import type { ObjectStore } from '../../core/ports/object-store.js';
import { TOKENS } from '../../core/ports/tokens.js';
import { provideModule } from '../provide.js';

/** Objects in an S3 bucket. */
export function minioModule(objects: ObjectStore) {
  return provideModule((provide) => {
    provide(TOKENS.objects, [], () => objects);
  });
}
