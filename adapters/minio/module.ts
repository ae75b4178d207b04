import { TOKENS } from '../../core/ports/tokens.js';
import { provideModule } from '../provide.js';
import type { MinioObjectStore } from './minio-object-store.js';

/** Objects in an open S3 bucket. */
export function minioModule(objects: MinioObjectStore) {
  return provideModule((provide) => {
    provide(TOKENS.objects, [], () => objects);
  });
}
