import { MemoryAccountStore } from '../../adapters/memory/memory-account-store.js';
import { MemoryClaimStore } from '../../adapters/memory/memory-claim-store.js';
import { MemoryCredentialStore } from '../../adapters/memory/memory-credential-store.js';
import { MemoryGenerationStore } from '../../adapters/memory/memory-generation-store.js';
import { MemoryObjectStore } from '../../adapters/memory/memory-object-store.js';
import { MemoryUploadStore } from '../../adapters/memory/memory-upload-store.js';
import type { Scheduler } from './scheduler.js';

export type Stores = ReturnType<typeof openStores>;

/** What all processes of a run share, beneath every fault. */
export function openStores(scheduler: Scheduler) {
  return {
    accounts: new MemoryAccountStore(),
    generations: new MemoryGenerationStore(),
    claims: new MemoryClaimStore(),
    uploads: new MemoryUploadStore(),
    credentials: new MemoryCredentialStore(),
    objects: new MemoryObjectStore({ clock: { now: () => scheduler.now, after: (delayMs, callback) => scheduler.after(delayMs, callback) } }),
  };
}
