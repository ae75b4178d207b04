import { requireWanted, type Cancellation } from '../../core/cancellation.js';
import type { Generation, GenerationRecord } from '../../core/generation/generation.js';
import type { UnchargedContent } from '../../core/generation/retention.js';
import type { DueAfter, GenerationStore } from '../../core/ports/generation-store.js';
import { compareText, OrderedList } from './ordered-list.js';
import { checkedLimit, type Page, pageOf, type PageRequest } from '../../core/paging.js';
import { SumsByOwner } from './sums-by-owner.js';
import { VersionedRecords, type Insertion } from './versioned-records.js';

/** Generations in this process's memory; gone when the process ends. */
export class MemoryGenerationStore implements GenerationStore {
  private readonly records = new VersionedRecords<GenerationRecord>((record) => record.generationId);
  private readonly unchargedOf = new SumsByOwner<GenerationRecord>(
    ({ accountId }) => accountId,
    (record) =>
      record.kind === 'generation' && record.unchargedBytes !== undefined ? [1, record.unchargedBytes] : null,
  );
  /** Ids of generations, newest first, all of them, by account and by account and App. Tombstones are not listed. */
  private readonly listed = new Map<string, OrderedList<string>>();

  async insert(record: GenerationRecord): Promise<Insertion<GenerationRecord>> {
    const insertion = this.records.insert(record);
    if (insertion.inserted) this.note(null, record);
    return insertion;
  }

  async read(generationId: string, call?: Cancellation): Promise<GenerationRecord | null> {
    requireWanted(call);
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

  async list(
    accountId: string | undefined,
    appId: string | undefined,
    page: PageRequest,
    call?: Cancellation,
  ): Promise<Page<Generation>> {
    requireWanted(call);
    const ids = this.listed.get(listName(accountId, appId));
    // In descending order the ids after the cursor are the smaller ones, so the cursor's own place is stepped over.
    const from = page.cursor === undefined || ids === undefined ? 0 : ids.firstNotBefore(page.cursor);
    const found =
      ids
        ?.slice(from, checkedLimit(page.limit) + 2)
        .filter((id) => id !== page.cursor)
        .slice(0, page.limit + 1) ?? [];
    return pageOf(
      found.map((id) => this.records.read(id) as Generation),
      page,
      (generation) => generation.generationId,
    );
  }

  async uncharged(accountId: string, call?: Cancellation): Promise<UnchargedContent> {
    requireWanted(call);
    const [generations = 0, bytes = 0] = this.unchargedOf.of(accountId);
    return { generations, bytes };
  }

  private note(before: GenerationRecord | null, after: GenerationRecord | null): void {
    this.listAs(before, after);
    this.unchargedOf.replace(before, after);
  }

  private listAs(before: GenerationRecord | null, after: GenerationRecord | null): void {
    const [was, is] = [before?.kind === 'generation', after?.kind === 'generation'];
    if (was && !is && before !== null) {
      for (const name of listNames(before)) this.listed.get(name)?.remove(before.generationId);
    }
    if (is && !was && after !== null) {
      for (const name of listNames(after)) this.listNamed(name).insert(after.generationId);
    }
  }

  private listNamed(name: string): OrderedList<string> {
    let list = this.listed.get(name);
    if (list === undefined) this.listed.set(name, (list = new OrderedList((a, b) => compareText(b, a))));
    return list;
  }
}

function listNames({ accountId, appId }: GenerationRecord): string[] {
  return [listName(undefined, undefined), listName(accountId, undefined), listName(accountId, appId)];
}

function listName(accountId: string | undefined, appId: string | undefined): string {
  if (accountId === undefined) return 'all';
  return appId === undefined ? accountId : `${accountId}/${appId}`;
}
