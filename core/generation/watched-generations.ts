import type { GenerationStore } from '../ports/generation-store.js';
import type { GenerationWatch } from './generation-watch.js';

/** The store, which tells the watch of this process what is written through it. */
export function watchedGenerations(store: GenerationStore, watch: Pick<GenerationWatch, 'written'>): GenerationStore {
  return {
    insert: (record) => store.insert(record),
    read: (generationId, call) => store.read(generationId, call),
    async replace(next, expectedVersion) {
      const outcome = await store.replace(next, expectedVersion);
      if (outcome === 'applied') watch.written(next);
      return outcome;
    },
    remove: (generationId, expectedVersion) => store.remove(generationId, expectedVersion),
    due: (now, limit, after) => store.due(now, limit, after),
    list: (wanted, page, call) => store.list(wanted, page, call),
    uncharged: (accountId, call) => store.uncharged(accountId, call),
  };
}
