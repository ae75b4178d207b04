import type { GenerationStore } from '../ports/generation-store.js';
import type { GenerationRecord } from './generation.js';

/** The store, which tells the watches of this process what is written through it. */
export function watchedGenerations(
  store: GenerationStore,
  ...watches: readonly { written(record: GenerationRecord): void }[]
): GenerationStore {
  const written = (record: GenerationRecord): void => {
    for (const watch of watches) watch.written(record);
  };
  return {
    async insert(record) {
      const outcome = await store.insert(record);
      if (outcome.inserted) written(record);
      return outcome;
    },
    read: (generationId, call) => store.read(generationId, call),
    async replace(next, expectedVersion) {
      const outcome = await store.replace(next, expectedVersion);
      if (outcome === 'applied') written(next);
      return outcome;
    },
    remove: (generationId, expectedVersion) => store.remove(generationId, expectedVersion),
    due: (now, limit, after) => store.due(now, limit, after),
    list: (wanted, page, call) => store.list(wanted, page, call),
    uncharged: (accountId, call) => store.uncharged(accountId, call),
  };
}
