import { assert } from '../../../core/assert.js';
import { type Cancellation, throwIfAborted } from '../../../core/cancellation.js';
import type { GenerationSearch, SearchFound, SearchProgress, SearchQuery } from '../../../core/ports/search.js';
import { matchesTerms, type SearchEntry } from '../../../core/search/words.js';

/** An index of generations in this process's memory; null for those that were removed. */
export class MemoryGenerationSearch implements GenerationSearch {
  readonly entries = new Map<string, SearchEntry | null>();
  private progress: SearchProgress | null = null;

  async add(entries: readonly SearchEntry[]): Promise<void> {
    requireFew(entries);
    for (const entry of entries)
      if (!this.entries.has(entry.generationId)) this.entries.set(entry.generationId, structuredClone(entry));
  }

  async remove(generationIds: readonly string[]): Promise<void> {
    requireFew(generationIds);
    for (const id of generationIds) this.entries.set(id, null);
  }

  async forget(generationIds: readonly string[]): Promise<void> {
    requireFew(generationIds);
    for (const id of generationIds) if (this.entries.get(id) === null) this.entries.delete(id);
  }

  async find({ accountId, terms, before, from, limit }: SearchQuery, call?: Cancellation): Promise<SearchFound> {
    throwIfAborted(call);
    assert(terms.length > 0, 'entries are found by at least one term');
    const found = [...this.entries.values()]
      .filter((entry) => entry !== null)
      .filter((entry) => entry.accountId === accountId && matchesTerms(entry.terms, terms))
      .map(({ generationId }) => generationId)
      .filter((id) => id < before && id >= from)
      .toSorted()
      .toReversed();
    const generationIds = found.slice(0, limit);
    const last = generationIds.at(-1);
    return found.length > limit && last !== undefined ? { generationIds, examinedTo: last } : { generationIds };
  }

  async readProgress(): Promise<SearchProgress | null> {
    return this.progress;
  }

  async replaceProgress(next: SearchProgress, expectedVersion: number): Promise<'applied' | 'conflict'> {
    if ((this.progress?.version ?? 0) !== expectedVersion) return 'conflict';
    this.progress = { ...next };
    return 'applied';
  }
}

function requireFew(given: readonly unknown[]): void {
  assert(given.length <= 500, 'at most 500 entries at once');
}

/** Every term that is kept, for tests of what a removal leaves. */
export function termsKept({ entries }: MemoryGenerationSearch): readonly string[] {
  return [...entries.values()].flatMap((entry) => entry?.terms ?? []);
}
