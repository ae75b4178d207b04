import type { AcceptanceStore } from '../ports/acceptance-store.js';
import type { GenerationStore } from '../ports/generation-store.js';
import type { GenerationRecord } from './generation.js';

interface Watch {
  written(record: GenerationRecord): void;
}

/** The store, which tells the watches of this process what is written through it. */
export function watchedGenerations(store: GenerationStore, ...watches: readonly Watch[]): GenerationStore {
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

/** The same of what is accepted through the store. */
export function watchedAcceptances(store: AcceptanceStore, ...watches: readonly Watch[]): AcceptanceStore {
  return {
    async accept(batch) {
      const outcome = await store.accept(batch);
      if (outcome.outcome !== 'accepted') return outcome;
      const others = new Set(outcome.existing.map(({ generationId }) => generationId));
      for (const generation of batch.generations)
        if (!others.has(generation.generationId)) for (const watch of watches) watch.written(generation);
      return outcome;
    },
  };
}
