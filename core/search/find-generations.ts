import type { Call, Work } from '../context.js';
import type { Generation } from '../generation/generation.js';
import type { Page, PageRequest } from '../paging.js';
import { BEFORE_ALL_IDS } from './index-generations.js';
import { entryOf, matchesTerms, type SearchTerm } from './words.js';

/** Generations of an account that have all the terms, of which there may be none, and match. */
export interface WantedGenerations {
  readonly accountId: string;
  readonly terms: readonly SearchTerm[];
  readonly matches: (generation: Generation) => boolean;
  /** Only ids that are less than this one, and at least the other one. */
  readonly before?: string;
  readonly from?: string;
}

/** The most that one page may cost, in generations read. */
const MAX_COST = 2_000;
/** The cost of a search of the index that ended early, as it examines many entries. */
const EARLY_END_COST = 1_000;
/** Generations that are read at a time where there is no index. */
const SCAN_LIMIT = 200;
/** Past every id. */
const AFTER_ALL_IDS = 'ffffffff-ffff-ffff-ffff-ffffffffffff';

/** Everything down to this id was examined; `generation` has it and all the terms. */
interface Step {
  readonly id: string;
  readonly cost: number;
  readonly generation?: Generation;
}

/**
 * A page of generations, newest first by id. The newest ones, and those that an upgrade has not indexed yet, are read; the
 * others come from the index. A page may have fewer than its limit, or none, although there are more. A cursor is the id
 * down to which everything was examined.
 */
export async function findInAccount(
  context: Pick<Work, 'generations' | 'generationSearch'> & Call,
  wanted: WantedGenerations,
  { limit, cursor }: PageRequest,
): Promise<Page<Generation>> {
  const items: Generation[] = [];
  let cost = 0;
  let last: Step | undefined;
  for await (const step of stepsOf(context, wanted, cursor, limit)) {
    if (last !== undefined && (items.length === limit || cost >= MAX_COST)) return { items, nextCursor: last.id };
    if (step.generation !== undefined && wanted.matches(step.generation)) items.push(step.generation);
    cost += step.cost;
    last = step;
  }
  return { items };
}

async function* stepsOf(
  context: Pick<Work, 'generations' | 'generationSearch'> & Call,
  wanted: WantedGenerations,
  cursor: string | undefined,
  limit: number,
): AsyncGenerator<Step> {
  const { before = AFTER_ALL_IDS, from = BEFORE_ALL_IDS } = wanted;
  const start = least(before, cursor ?? AFTER_ALL_IDS);
  // Without a term every entry would match, and the generations are read anyway.
  const progress = wanted.terms.length === 0 ? null : await context.generationSearch.readProgress();
  const { newest, oldest } = progress ?? NOT_INDEXED;
  yield* scanned(context, wanted, { before: start, from: greatest(newest, from) });
  yield* indexed(context, wanted, { before: least(start, newest), from: greatest(oldest, from), limit: limit + 1 });
  yield* scanned(context, wanted, { before: least(start, oldest), from });
}

const NOT_INDEXED = { newest: BEFORE_ALL_IDS, oldest: BEFORE_ALL_IDS };

interface Range {
  readonly before: string;
  readonly from: string;
}

async function* scanned(
  { generations, call }: Pick<Work, 'generations'> & Call,
  { accountId, terms }: WantedGenerations,
  { before, from }: Range,
): AsyncGenerator<Step> {
  let cursor: string | undefined = before;
  while (cursor !== undefined && cursor > from) {
    const page: Page<Generation> = await generations.list(
      { of: 'account', accountId },
      { limit: SCAN_LIMIT, cursor },
      call,
    );
    for (const generation of page.items) {
      const { generationId: id } = generation;
      if (id < from) return;
      yield { id, cost: 1, ...(matchesTerms(entryOf(generation).terms, terms) ? { generation } : {}) };
    }
    cursor = page.nextCursor;
  }
}

async function* indexed(
  { generations, generationSearch, call }: Pick<Work, 'generations' | 'generationSearch'> & Call,
  { accountId, terms }: WantedGenerations,
  { before, from, limit }: Range & { readonly limit: number },
): AsyncGenerator<Step> {
  let next: string | undefined = before;
  while (next !== undefined && next > from) {
    const found: Awaited<ReturnType<typeof generationSearch.find>> = await generationSearch.find(
      { accountId, terms, before: next, from, limit },
      call,
    );
    const records = await Promise.all(found.generationIds.map((id) => generations.read(id, call)));
    for (const [index, id] of found.generationIds.entries()) {
      const record = records[index];
      const isOwn = record?.kind === 'generation' && record.accountId === accountId;
      yield { id, cost: 1, ...(isOwn ? { generation: record } : {}) };
    }
    next = found.examinedTo;
    if (next !== undefined && found.generationIds.at(-1) !== next) yield { id: next, cost: EARLY_END_COST };
  }
}

function least(a: string, b: string): string {
  return a < b ? a : b;
}

function greatest(a: string, b: string): string {
  return a > b ? a : b;
}
