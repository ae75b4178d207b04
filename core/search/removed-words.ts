import type { Generation, GenerationRecord } from '../generation/generation.js';
import type { GenerationSearch } from '../ports/search.js';
import type { GenerationStore } from '../ports/stores.js';

/**
 * Wraps a store so that the words of a generation are removed from the index before its content is removed from the record.
 * The ids are remembered there, so that the indexer cannot add words that it read before. A process that dies between the two
 * leaves content without words, and whoever completes the removal repeats both.
 */
export function withoutRemovedWords(store: GenerationStore, search: GenerationSearch): GenerationStore {
  return {
    insert: store.insert.bind(store),
    async replace(next, expectedVersion) {
      if (!hasContent(next)) await search.remove([next.generationId]);
      return store.replace(next, expectedVersion);
    },
    read: store.read.bind(store),
    async remove(generationId, expectedVersion) {
      // Only tombstones are removed: nobody can read content at the id any more.
      await search.forget([generationId]);
      return store.remove(generationId, expectedVersion);
    },
    due: store.due.bind(store),
    list: store.list.bind(store),
    stored: store.stored.bind(store),
    countOpen: store.countOpen.bind(store),
  };
}

/** Whether its words may be searched. */
export function hasContent(record: GenerationRecord): record is Generation {
  return record.kind === 'generation' && record.contentRemovedAt === undefined && record.deletedAt === undefined;
}
