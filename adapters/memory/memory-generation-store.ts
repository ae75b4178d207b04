import { type Cancellation, throwIfAborted } from '../../core/cancellation.js';
import type { UnchargedContent } from '../../core/generation/decide.js';
import type { Generation, GenerationRecord } from '../../core/generation/generation.js';
import { checkedLimit, type Page, pageOf, type PageRequest } from '../../core/paging.js';
import type { AppGenerations, DueAfter, GenerationStore, ListedGenerations } from '../../core/ports/stores.js';
import { type CreatedPlace, cursorAt, placeBefore, placeOf } from '../created-cursor.js';
import { behind, comparePlaces, listNamed } from './descending-lists.js';
import { compareText, type OrderedList } from './ordered-list.js';
import { SumsByOwner } from './sums-by-owner.js';
import { type Insertion, VersionedRecords } from './versioned-records.js';

/** Generations in this process's memory; gone when the process ends. */
export class MemoryGenerationStore implements GenerationStore {
  private readonly records = new VersionedRecords<GenerationRecord>((record) => record.generationId);
  private readonly unchargedOf = new SumsByOwner<GenerationRecord>(
    ({ accountId }) => accountId,
    (record) =>
      record.kind === 'generation' && record.unchargedBytes !== undefined ? [1, record.unchargedBytes] : null,
  );
  /** Ids of generations, newest first, all of them and by account. Tombstones are not listed. */
  private readonly byId = new Map<string, OrderedList<string>>();
  /** Those of Apps, newest first, all of them and by each field. */
  private readonly byCreation = new Map<string, OrderedList<CreatedPlace>>();

  async insert(record: GenerationRecord): Promise<Insertion<GenerationRecord>> {
    const insertion = this.records.insert(record);
    if (insertion.inserted) this.note(null, record);
    return insertion;
  }

  async read(generationId: string, call?: Cancellation): Promise<GenerationRecord | null> {
    throwIfAborted(call);
    return this.records.read(generationId);
  }

  async replace(next: GenerationRecord, expectedVersion: number): Promise<'applied' | 'conflict'> {
    const before = this.records.read(next.generationId);
    const outcome = this.records.replace(next, expectedVersion);
    if (outcome === 'applied') this.note(before, next);
    return outcome;
  }

  async remove(generationId: string, expectedVersion: number): Promise<'applied' | 'conflict'> {
    const before = this.records.read(generationId);
    const outcome = this.records.remove(generationId, expectedVersion);
    if (outcome === 'applied') this.note(before, null);
    return outcome;
  }

  async due(now: number, limit: number, after?: DueAfter): Promise<readonly GenerationRecord[]> {
    return this.records.due(now, limit, after && { at: after.dueAt, id: after.generationId });
  }

  async list(wanted: ListedGenerations, page: PageRequest, call?: Cancellation): Promise<Page<Generation>> {
    throwIfAborted(call);
    if (wanted.of === 'app') return this.listApp(wanted, page);
    const ids = this.byId.get(wanted.of === 'all' ? ALL : wanted.accountId);
    const limit = checkedLimit(page.limit) + 1;
    const found = ids === undefined ? [] : behind(ids, page.cursor, limit);
    return pageOf(this.readAll(found), page, ({ generationId }) => generationId);
  }

  private listApp(
    { appId, only, createdFrom = 0, createdBefore }: AppGenerations,
    page: PageRequest,
  ): Page<Generation> {
    const places = this.byCreation.get(only === undefined ? appId : `${appId} ${only.field} ${only.value}`);
    const limit = checkedLimit(page.limit) + 1;
    const found = places === undefined ? [] : behind(places, placeBefore(page.cursor, createdBefore), limit);
    const wanted = found.filter(({ createdAt }) => createdAt >= createdFrom);
    return pageOf(this.readAll(wanted.map(({ id }) => id)), page, (g) => cursorAt(placeOf(g)));
  }

  private readAll(ids: readonly string[]): Generation[] {
    return ids.map((id) => this.records.read(id) as Generation);
  }

  async uncharged(accountId: string, call?: Cancellation): Promise<UnchargedContent> {
    throwIfAborted(call);
    const [generations = 0, bytes = 0] = this.unchargedOf.of(accountId);
    return { generations, bytes };
  }

  private note(before: GenerationRecord | null, after: GenerationRecord | null): void {
    this.move(before, after, 'remove');
    this.move(after, before, 'insert');
    this.unchargedOf.replace(before, after);
  }

  /** Changes the lists of one record that the other one is not in. */
  private move(record: GenerationRecord | null, other: GenerationRecord | null, change: 'insert' | 'remove'): void {
    if (record?.kind !== 'generation') return;
    const isListed = other?.kind === 'generation';
    for (const name of isListed ? [] : [ALL, record.accountId])
      listNamed(this.byId, name, compareText)[change](record.generationId);
    const kept = isListed ? appLists(other) : [];
    for (const name of appLists(record).filter((one) => !kept.includes(one)))
      listNamed(this.byCreation, name, comparePlaces)[change](placeOf(record));
  }
}

const ALL = 'all';

function appLists({ appId, status, modelKey, clientTraceId }: Generation): string[] {
  const ofTrace = clientTraceId === undefined ? [] : [`${appId} clientTraceId ${clientTraceId}`];
  return [appId, `${appId} status ${status}`, `${appId} modelKey ${modelKey}`, ...ofTrace];
}
