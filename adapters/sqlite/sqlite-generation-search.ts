import { assert } from '../../core/assert.js';
import { type Cancellation, throwIfAborted } from '../../core/cancellation.js';
import type { GenerationSearch, SearchFound, SearchProgress, SearchQuery } from '../../core/ports/search.js';
import type { SearchEntry, SearchTerm } from '../../core/search/words.js';
import { type Examined, findByPlan, type IndexedEntry, type IndexReads } from '../search-plan.js';
import { isUuid } from '../rows/row-mapping.js';
import { uuidOfHex } from './columns.js';
import type { SqlValue } from './database.js';
import { type Connections, yieldBetweenPages } from './reader.js';
import { SqliteNamedRecords } from './sqlite-records.js';

const MAX_AT_ONCE = 500;

/** Terms of generations in SQLite: each entry has its terms as one text, and each term the entries that have it. */
export class SqliteGenerationSearch implements GenerationSearch {
  private readonly progress: SqliteNamedRecords<SearchProgress>;

  constructor(private readonly db: Connections) {
    this.progress = new SqliteNamedRecords(db, 'search_progress', 'name', () => PROGRESS);
  }

  async add(entries: readonly SearchEntry[]): Promise<void> {
    assert(entries.length <= MAX_AT_ONCE, 'at most 500 entries are added at once');
    if (entries.length === 0) return;
    const values = entries.flatMap(({ generationId, accountId, terms }) => [generationId, accountId, textOf(terms)]);
    await this.db.writer.write('addSearchEntries', ...values);
  }

  async remove(generationIds: readonly string[]): Promise<void> {
    assert(generationIds.length <= MAX_AT_ONCE, 'at most 500 entries are removed at once');
    if (generationIds.length > 0) await this.db.writer.write('removeSearchEntries', ...generationIds);
  }

  async forget(generationIds: readonly string[]): Promise<void> {
    assert(generationIds.length <= MAX_AT_ONCE, 'at most 500 entries are forgotten at once');
    if (generationIds.length > 0) await this.db.writer.write('forgetSearchEntries', ...generationIds);
  }

  async find(query: SearchQuery, call?: Cancellation): Promise<SearchFound> {
    throwIfAborted(call);
    const row = this.db.reader.get(`SELECT row FROM search_accounts WHERE account = unhex(?, '-')`, query.accountId);
    if (row === undefined) return { generationIds: [] };
    return findByPlan(new AccountReads(this.db, Number(row['row']), query.terms, call), query);
  }

  readProgress(): Promise<SearchProgress | null> {
    return this.progress.read(PROGRESS);
  }

  replaceProgress(next: SearchProgress, expectedVersion: number): Promise<'applied' | 'conflict'> {
    return this.progress.replace(next, expectedVersion);
  }
}

const PROGRESS = 'generations';

/** The entries of one account, by its number in the index. */
class AccountReads implements IndexReads {
  constructor(
    private readonly db: Connections,
    private readonly account: number,
    private readonly terms: readonly SearchTerm[],
    private readonly call: Cancellation | undefined,
  ) {}

  async count(term: SearchTerm, most: number): Promise<number> {
    await yieldBetweenPages(this.call);
    const { condition, values } = conditionOf(term);
    const sql = `SELECT count(*) AS found FROM (SELECT 1 FROM search_terms WHERE account = ? AND ${condition} LIMIT ?)`;
    return Number(this.db.reader.get(sql, this.account, ...values, most)?.['found']);
  }

  async entriesWith(term: SearchTerm, most: number): Promise<readonly IndexedEntry[]> {
    await yieldBetweenPages(this.call);
    const { condition, values } = conditionOf(term);
    const sql = `
      SELECT hex(search_entries.generation) AS id, search_entries.terms AS terms FROM search_terms
      CROSS JOIN search_entries ON search_entries.row = search_terms.entry
      WHERE search_terms.account = ? AND ${condition} LIMIT ?`;
    return this.db.reader.all(sql, this.account, ...values, most).map((row) => ({
      generationId: uuidOfHex(row['id'] as string),
      terms: (row['terms'] as string).trim().split(' '),
    }));
  }

  async examine(
    { before, from, limit }: Pick<SearchQuery, 'before' | 'from' | 'limit'>,
    most: number,
  ): Promise<Examined> {
    await yieldBetweenPages(this.call);
    if (!isUuid(before) || !isUuid(from)) return { generationIds: [] };
    const range = [this.account, before, from];
    const place = this.db.reader.get(`SELECT hex(generation) AS id ${IN_RANGE} LIMIT 1 OFFSET ?`, ...range, most - 1);
    const last = place === undefined ? undefined : uuidOfHex(place['id'] as string);
    const matching = this.terms.map(() => 'AND instr(terms, ?) > 0').join(' ');
    const parts = this.terms.map(({ text, isPrefix }) => (isPrefix ? ` ${text}` : ` ${text} `));
    const found = this.db.reader.all(
      `SELECT hex(generation) AS id FROM search_entries INDEXED BY search_by_account WHERE account = ?
        AND generation < unhex(?, '-') AND generation >= unhex(?, '-') ${matching} ORDER BY generation DESC LIMIT ?`,
      this.account,
      before,
      last ?? from,
      ...parts,
      limit,
    );
    const generationIds = found.map((row) => uuidOfHex(row['id'] as string));
    return last === undefined ? { generationIds } : { generationIds, examinedTo: last };
  }
}

const IN_RANGE = `FROM search_entries INDEXED BY search_by_account
  WHERE account = ? AND generation < unhex(?, '-') AND generation >= unhex(?, '-') ORDER BY generation DESC`;

/** SQLite compares texts by their bytes: every text with a prefix sorts before the prefix followed by the last code point. */
function conditionOf({ text, isPrefix }: SearchTerm): { readonly condition: string; readonly values: SqlValue[] } {
  if (!isPrefix) return { condition: 'term = ?', values: [text] };
  return { condition: 'term >= ? AND term < ?', values: [text, `${text}\u{10ffff}`] };
}

/** Terms have no spaces. */
function textOf(terms: readonly string[]): string {
  return ` ${terms.join(' ')} `;
}
