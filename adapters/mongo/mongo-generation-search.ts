import type { AnyBulkWriteOperation, Filter, UUID } from 'mongodb';
import { assert } from '../../core/assert.js';
import type { Cancellation } from '../../core/cancellation.js';
import type { GenerationSearch, SearchFound, SearchProgress, SearchQuery } from '../../core/ports/search.js';
import type { SearchEntry, SearchTerm } from '../../core/search/words.js';
import { type Examined, findByPlan, type IndexedEntry, type IndexReads } from '../search-plan.js';
import type { MongoConnection } from './connection.js';
import { Documents, ownUuid, textOf, uuidOf } from './documents.js';
import { NamedDocuments } from './mongo-records.js';
import { BY_ID } from './schema.js';

interface EntryDocument {
  readonly _id: UUID;
  /** Neither is there once the entry was removed. */
  readonly account?: UUID;
  readonly terms?: readonly string[];
}

const MAX_AT_ONCE = 500;

/** Terms of generations in MongoDB: one document each, in an index of every term. */
export class MongoGenerationSearch implements GenerationSearch {
  private readonly entries: Documents<EntryDocument>;
  private readonly progress: NamedDocuments<SearchProgress>;

  constructor(private readonly connection: MongoConnection) {
    this.entries = new Documents(connection, 'search_entries');
    this.progress = new NamedDocuments(connection, 'search_progress', () => PROGRESS);
  }

  async add(entries: readonly SearchEntry[]): Promise<void> {
    assert(entries.length <= MAX_AT_ONCE, 'at most 500 entries are added at once');
    if (entries.length === 0) return;
    // An id that is taken stays as it is.
    await this.entries.insertAll(
      entries.map(({ generationId, accountId, terms }) => ({
        _id: ownUuid(generationId),
        account: ownUuid(accountId),
        terms,
      })),
    );
  }

  async remove(generationIds: readonly string[]): Promise<void> {
    assert(generationIds.length <= MAX_AT_ONCE, 'at most 500 entries are removed at once');
    if (generationIds.length === 0) return;
    const removals = generationIds.map((id): AnyBulkWriteOperation<EntryDocument> => ({
      replaceOne: { filter: { _id: ownUuid(id) }, replacement: {}, upsert: true, hint: BY_ID },
    }));
    await this.connection.ask((limits) => this.entries.collection.bulkWrite(removals, { ...limits, ordered: false }));
  }

  async forget(generationIds: readonly string[]): Promise<void> {
    assert(generationIds.length <= MAX_AT_ONCE, 'at most 500 entries are forgotten at once');
    if (generationIds.length === 0) return;
    const filter = { _id: { $in: generationIds.map(ownUuid) }, account: { $exists: false } } as Filter<EntryDocument>;
    await this.connection.ask((limits) => this.entries.collection.deleteMany(filter, { ...limits, hint: BY_ID }));
  }

  async find(query: SearchQuery, call?: Cancellation): Promise<SearchFound> {
    const account = uuidOf(query.accountId);
    if (account === null) return { generationIds: [] };
    return findByPlan(new AccountReads(this.entries, account, query.terms, call), query);
  }

  readProgress(): Promise<SearchProgress | null> {
    return this.progress.read(PROGRESS);
  }

  replaceProgress(next: SearchProgress, expectedVersion: number): Promise<'applied' | 'conflict'> {
    return this.progress.replace(next, expectedVersion);
  }
}

const PROGRESS = 'generations';

/** The entries of one account. */
class AccountReads implements IndexReads {
  constructor(
    private readonly entries: Documents<EntryDocument>,
    private readonly account: UUID,
    private readonly terms: readonly SearchTerm[],
    private readonly call: Cancellation | undefined,
  ) {}

  async count(term: SearchTerm, most: number): Promise<number> {
    // An entry counts once for each of its terms with the prefix.
    const stages = [
      { $match: { account: this.account, terms: conditionOf(term) } },
      { $limit: most },
      { $count: 'found' },
    ];
    const [counted] = await this.entries.aggregate<{ readonly found: number }>(stages, 'search_by_term', this.call);
    return counted?.found ?? 0;
  }

  async entriesWith(term: SearchTerm, most: number): Promise<readonly IndexedEntry[]> {
    const filter: Filter<EntryDocument> = { account: this.account, terms: conditionOf(term) };
    const found = await this.entries.find(filter, { limit: most, hint: 'search_by_term' }, this.call);
    return found.map(({ _id, terms = [] }) => ({ generationId: textOf(_id), terms }));
  }

  async examine(
    { before, from, limit }: Pick<SearchQuery, 'before' | 'from' | 'limit'>,
    most: number,
  ): Promise<Examined> {
    const [high, low] = [uuidOf(before), uuidOf(from)];
    if (high === null || low === null) return { generationIds: [] };
    const { account } = this;
    const order = { sort: { _id: -1 }, hint: 'search_by_account', projection: { _id: 1 } } as const;
    const range: Filter<EntryDocument> = { account, _id: { $lt: high, $gte: low } };
    const [place] = await this.entries.find(range, { ...order, skip: most - 1, limit: 1 }, this.call);
    const filter: Filter<EntryDocument> = {
      account,
      _id: { $lt: high, $gte: place?._id ?? low },
      $and: this.terms.map((term) => ({ terms: conditionOf(term) })),
    };
    const generationIds = (await this.entries.find(filter, { ...order, limit }, this.call)).map(({ _id }) =>
      textOf(_id),
    );
    return place === undefined ? { generationIds } : { generationIds, examinedTo: textOf(place._id) };
  }
}

/** One element must be within both bounds, which MongoDB compares by the bytes of texts. */
function conditionOf({ text, isPrefix }: SearchTerm): NonNullable<Filter<EntryDocument>['terms']> {
  return isPrefix ? { $elemMatch: { $gte: text, $lt: `${text}\u{10ffff}` } } : { $eq: text };
}
