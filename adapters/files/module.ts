import { TOKENS } from '../../core/ports/tokens.js';
import { provideModule } from '../provide.js';
import type { FileObjectStore } from './file-object-store.js';

/** Objects in an open folder of this machine. */
export function filesModule(objects: FileObjectStore) {
  return provideModule((provide) => {
    provide(TOKENS.objects, [], () => objects);
  });
}
