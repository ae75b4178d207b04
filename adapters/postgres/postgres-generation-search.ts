import { assert } from '../../core/assert.js';
import { type Cancellation, throwIfAborted } from '../../core/cancellation.js';
import type { GenerationSearch, SearchFound, SearchProgress, SearchQuery } from '../../core/ports/search.js';
import type { SearchEntry, SearchTerm } from '../../core/search/words.js';
import { type Examined, findByPlan, type IndexedEntry, type IndexReads } from '../search-plan.js';
import { isUuid } from '../rows/row-mapping.js';
import type { PostgresDatabase } from './connection.js';
import { PostgresNamedRecords } from './postgres-records.js';

const MAX_AT_ONCE = 500;
const PROGRESS = 'generations';

const ADD = `INSERT INTO darkroom.search_entries (generation, account, words)
  SELECT given.generation, given.account, array_to_tsvector(string_to_array(given.words, ' '))
  FROM unnest($1::uuid[], $2::uuid[], $3::text[]) AS given (generation, account, words) ORDER BY 1 ON CONFLICT DO NOTHING`;
const REMOVE = `INSERT INTO darkroom.search_entries AS stored (generation) SELECT id FROM unnest($1::uuid[]) AS given (id) ORDER BY 1
  ON CONFLICT (generation) DO UPDATE SET account = NULL, words = NULL WHERE stored.account IS NOT NULL`;
const FORGET = 'DELETE FROM darkroom.search_entries WHERE generation = ANY ($1::uuid[]) AND account IS NULL';
const WITH_WORD = 'FROM darkroom.search_entries WHERE words @@ $2::tsquery AND account = $1 LIMIT $3';
const COUNT = `SELECT count(*) AS found FROM (SELECT ${WITH_WORD}) AS entry`;
const ENTRIES = `SELECT generation, tsvector_to_array(words) AS words ${WITH_WORD}`;
const IN_RANGE = 'FROM darkroom.search_entries WHERE account = $1 AND generation < $2 AND generation >= $3';
const LAST_EXAMINED = `SELECT generation ${IN_RANGE} ORDER BY generation DESC LIMIT 1 OFFSET $4`;
/** `IS TRUE` keeps to the order of the account's index: the one of words would read every entry that has them. */
const EXAMINE = `SELECT generation ${IN_RANGE} AND (words @@ $4::tsquery) IS TRUE ORDER BY generation DESC LIMIT $5`;

/**
 * Terms of generations in PostgreSQL: the words of a text search, each behind a mark of its account, so that the index has the
 * entries of one account with a word together. Accounts may share a mark, so statements compare the account too.
 */
export class PostgresGenerationSearch implements GenerationSearch {
  private readonly progress: PostgresNamedRecords<SearchProgress>;

  constructor(private readonly db: PostgresDatabase) {
    this.progress = new PostgresNamedRecords(db, 'search_progress', 'name', () => PROGRESS);
  }

  async add(entries: readonly SearchEntry[]): Promise<void> {
    assert(entries.length <= MAX_AT_ONCE, 'at most 500 entries are added at once');
    if (entries.length === 0) return;
    await this.db.ask(ADD, [
      entries.map(({ generationId }) => generationId),
      entries.map(({ accountId }) => accountId),
      entries.map(({ accountId, terms }) => terms.map((term) => `${markOf(accountId)}${term}`).join(' ')),
    ]);
  }

  async remove(generationIds: readonly string[]): Promise<void> {
    assert(generationIds.length <= MAX_AT_ONCE, 'at most 500 entries are removed at once');
    if (generationIds.length > 0) await this.db.ask(REMOVE, [[...new Set(generationIds)]]);
  }

  async forget(generationIds: readonly string[]): Promise<void> {
    assert(generationIds.length <= MAX_AT_ONCE, 'at most 500 entries are forgotten at once');
    if (generationIds.length > 0) await this.db.ask(FORGET, [generationIds]);
  }

  async find(query: SearchQuery, call?: Cancellation): Promise<SearchFound> {
    throwIfAborted(call);
    if (!isUuid(query.accountId)) return { generationIds: [] };
    return findByPlan(new AccountReads(this.db, query.accountId, query.terms, call), query);
  }

  readProgress(): Promise<SearchProgress | null> {
    return this.progress.read(PROGRESS);
  }

  replaceProgress(next: SearchProgress, expectedVersion: number): Promise<'applied' | 'conflict'> {
    return this.progress.replace(next, expectedVersion);
  }
}

/** The entries of one account. */
class AccountReads implements IndexReads {
  private readonly mark: string;

  constructor(
    private readonly db: PostgresDatabase,
    private readonly account: string,
    private readonly terms: readonly SearchTerm[],
    private readonly call: Cancellation | undefined,
  ) {
    this.mark = markOf(account);
  }

  async count(term: SearchTerm, most: number): Promise<number> {
    const { rows } = await this.db.ask(COUNT, [this.account, this.queryOf([term]), most], this.call);
    return rows[0]?.['found'] as number;
  }

  async entriesWith(term: SearchTerm, most: number): Promise<readonly IndexedEntry[]> {
    const { rows } = await this.db.ask(ENTRIES, [this.account, this.queryOf([term]), most], this.call);
    return rows.map((row) => ({
      generationId: row['generation'] as string,
      terms: (row['words'] as readonly string[]).map((word) => word.slice(MARK_LENGTH)),
    }));
  }

  async examine(
    { before, from, limit }: Pick<SearchQuery, 'before' | 'from' | 'limit'>,
    most: number,
  ): Promise<Examined> {
    if (!isUuid(before) || !isUuid(from)) return { generationIds: [] };
    const place = await this.db.ask(LAST_EXAMINED, [this.account, before, from, most - 1], this.call);
    const last = place.rows[0]?.['generation'] as string | undefined;
    const values = [this.account, before, last ?? from, this.queryOf(this.terms), limit];
    const found = await this.db.ask(EXAMINE, values, this.call);
    const generationIds = found.rows.map((row) => row['generation'] as string);
    return last === undefined ? { generationIds } : { generationIds, examinedTo: last };
  }

  private queryOf(terms: readonly SearchTerm[]): string {
    return terms.map(({ text, isPrefix }) => `${quoted(`${this.mark}${text}`)}${isPrefix ? ':*' : ''}`).join(' & ');
  }
}

function quoted(word: string): string {
  return `'${word.replaceAll('\\', '\\\\').replaceAll("'", "''")}'`;
}

/** The last digits of an account's id are random, and enough that few accounts share them. */
const MARK_DIGITS = 8;
const MARK_LENGTH = MARK_DIGITS + 1;

function markOf(accountId: string): string {
  return `${accountId.slice(-MARK_DIGITS)}:`;
}
