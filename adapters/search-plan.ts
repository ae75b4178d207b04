import { assert } from '../core/assert.js';
import type { SearchFound, SearchQuery } from '../core/ports/search.js';
import { matchesTerms, type SearchTerm } from '../core/search/words.js';

/** The most entries with a term that are read and sorted; with more, entries are read in their order instead. */
const MAX_SORTED = 2_000;
/** Entries that are examined in their order at a time, and how often for one page. */
const EXAMINED_AT_ONCE = 5_000;
const MAX_EXAMINATIONS = 4;

export interface IndexedEntry {
  readonly generationId: string;
  readonly terms: readonly string[];
}

export interface Examined {
  /** Ids of entries with all the terms, newest first. */
  readonly generationIds: readonly string[];
  /** The last entry that was examined, if there are more. */
  readonly examinedTo?: string;
}

/** How a store reads the entries of the account of a query. */
export interface IndexReads {
  /** The number of times that entries have the term, counted up to `most`. */
  count(term: SearchTerm, most: number): Promise<number>;
  /** The entries with a term, which are at most `most`, in any order, each perhaps more than once. */
  entriesWith(term: SearchTerm, most: number): Promise<readonly IndexedEntry[]>;
  /** Those that match among the `most` newest entries in the range, of which at most `limit`. */
  examine(range: Pick<SearchQuery, 'before' | 'from' | 'limit'>, most: number): Promise<Examined>;
}

/**
 * Finds entries with all terms of a query in bounded work. If one of the terms is rare, its entries are read and sorted.
 * Otherwise all terms are common, and entries are examined from the newest one.
 */
export async function findByPlan(reads: IndexReads, { terms, before, from, limit }: SearchQuery): Promise<SearchFound> {
  assert(terms.length > 0, 'entries are found by at least one term');
  const rarest = await rarestOf(reads, terms);
  if (rarest === undefined) return examineAll(reads, { before, from, limit });
  const ids = (await reads.entriesWith(rarest, MAX_SORTED))
    .filter(({ generationId: id, terms: own }) => id < before && id >= from && matchesTerms(own, terms))
    .map(({ generationId }) => generationId);
  const sorted = [...new Set(ids)].toSorted().toReversed();
  const generationIds = sorted.slice(0, limit);
  const last = generationIds.at(-1);
  return sorted.length > limit && last !== undefined ? { generationIds, examinedTo: last } : { generationIds };
}

/** Undefined if none has few enough entries. */
async function rarestOf(reads: IndexReads, terms: readonly SearchTerm[]): Promise<SearchTerm | undefined> {
  let rarest: SearchTerm | undefined;
  let least = MAX_SORTED;
  // Long terms are usually rarer.
  for (const term of terms.toSorted((a, b) => b.text.length - a.text.length)) {
    const count = await reads.count(term, least);
    if (count < least) [rarest, least] = [term, count];
    if (least === 0) break;
  }
  return rarest;
}

async function examineAll(
  reads: IndexReads,
  { before, from, limit }: Pick<SearchQuery, 'before' | 'from' | 'limit'>,
): Promise<SearchFound> {
  const generationIds: string[] = [];
  let next: string | undefined = before;
  for (let tries = 0; tries < MAX_EXAMINATIONS && next !== undefined && generationIds.length < limit; tries += 1) {
    const left = limit - generationIds.length;
    const found: Examined = await reads.examine({ before: next, from, limit: left }, EXAMINED_AT_ONCE);
    generationIds.push(...found.generationIds);
    next = found.generationIds.length === left ? found.generationIds.at(-1) : found.examinedTo;
  }
  return next === undefined ? { generationIds } : { generationIds, examinedTo: next };
}
