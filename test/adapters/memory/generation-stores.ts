import { type CreatedPlace, cursorAt, placeBefore, placeOf } from '../../../adapters/created-cursor.js';
import { assert } from '../../../core/assert.js';
import { type Cancellation, throwIfAborted } from '../../../core/cancellation.js';
import type { StoredContent, StoredSum } from '../../../core/generation/decide.js';
import {
  type Generation,
  type GenerationRecord,
  openStateOf,
  thumbnailBytesOf,
} from '../../../core/generation/generation.js';
import type { Claim, ClaimKey } from '../../../core/idempotency/claim.js';
import { checkedLimit, type Page, pageOf, type PageRequest } from '../../../core/paging.js';
import type {
  AcceptanceBatch,
  AcceptanceOutcome,
  AcceptanceStore,
  AppGenerations,
  ClaimStore,
  DueAfter,
  GenerationStore,
  Insertion,
  ListedGenerations,
  OpenCount,
} from '../../../core/ports/stores.js';
import type { MemoryAccountStore } from './account-store.js';
import {
  behind,
  comparePlaces,
  compareText,
  frozenCopy,
  listNamed,
  OrderedList,
  SumsByOwner,
  VersionedRecords,
} from './records.js';

/** Generations in this process's memory; gone when the process ends. */
export class MemoryGenerationStore implements GenerationStore {
  private readonly records = new VersionedRecords<GenerationRecord>((record) => record.generationId);
  private readonly unchargedOf = new SumsByOwner<GenerationRecord>(
    ({ accountId }) => accountId,
    (record) =>
      record.kind === 'generation' && record.unchargedBytes !== undefined ? [1, record.unchargedBytes] : null,
  );
  private readonly thumbnailsOf = new SumsByOwner<GenerationRecord>(
    ({ accountId }) => accountId,
    (record) => {
      const bytes = record.kind === 'generation' ? thumbnailBytesOf(record) : undefined;
      return bytes === undefined ? null : [1, bytes];
    },
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

  async stored(accountId: string, content: StoredContent, call?: Cancellation): Promise<StoredSum> {
    throwIfAborted(call);
    const sums = content === 'uncharged' ? this.unchargedOf : this.thumbnailsOf;
    const [generations = 0, bytes = 0] = sums.of(accountId);
    return { generations, bytes };
  }

  async countOpen(call?: Cancellation): Promise<readonly OpenCount[]> {
    throwIfAborted(call);
    return countedOpen(this.records.all());
  }

  private note(before: GenerationRecord | null, after: GenerationRecord | null): void {
    this.move(before, after, 'remove');
    this.move(after, before, 'insert');
    this.unchargedOf.replace(before, after);
    this.thumbnailsOf.replace(before, after);
  }

  /** Changes the lists of one record that the other one is not in. */
  private move(record: GenerationRecord | null, other: GenerationRecord | null, change: 'insert' | 'remove'): void {
    if (record?.kind !== 'generation') return;
    const isListed = other?.kind === 'generation';
    for (const name of isListed ? [] : [ALL, record.accountId])
      changeList(this.byId, name, compareText, change, record.generationId);
    const kept = isListed ? appLists(other) : [];
    for (const name of appLists(record).filter((one) => !kept.includes(one)))
      changeList(this.byCreation, name, comparePlaces, change, placeOf(record));
  }
}

/** The counts of these records that have not ended. */
export function countedOpen(records: readonly GenerationRecord[]): OpenCount[] {
  const counts = new Map<string, OpenCount>();
  for (const record of records) {
    const state = record.kind === 'generation' ? openStateOf(record) : undefined;
    if (record.kind !== 'generation' || state === undefined) continue;
    const { modelKey, attempt, createdAt } = record;
    const provider = attempt?.provider;
    const name = JSON.stringify([state, modelKey, provider]);
    const { generations = 0, oldestCreatedAt = Infinity } = counts.get(name) ?? {};
    counts.set(name, {
      state,
      modelKey,
      ...(provider === undefined ? {} : { provider }),
      generations: generations + 1,
      oldestCreatedAt: Math.min(oldestCreatedAt, createdAt),
    });
  }
  return [...counts.values()];
}

/** An empty list goes with its name, which may be a trace id. */
function changeList<T>(
  lists: Map<string, OrderedList<T>>,
  name: string,
  compare: (a: T, b: T) => number,
  change: 'insert' | 'remove',
  value: T,
): void {
  const list = listNamed(lists, name, compare);
  list[change](value);
  if (list.size === 0) lists.delete(name);
}

const ALL = 'all';

function appLists({ appId, status, modelKey, clientTraceId }: Generation): string[] {
  const ofTrace = clientTraceId === undefined ? [] : [`${appId} clientTraceId ${clientTraceId}`];
  return [appId, `${appId} status ${status}`, `${appId} modelKey ${modelKey}`, ...ofTrace];
}

interface Removal {
  readonly at: number;
  readonly name: string;
}

/** Idempotency claims in this process's memory; gone when the process ends. */
export class MemoryClaimStore implements ClaimStore {
  private readonly claims = new Map<string, Claim>();
  private readonly removals = new OrderedList<Removal>((a, b) => a.at - b.at || compareText(a.name, b.name));

  async insert(claim: Claim): Promise<Insertion<Claim>> {
    const existing = this.claims.get(nameOf(claim));
    if (existing !== undefined) return { inserted: false, existing };
    this.put(claim);
    return { inserted: true };
  }

  async read(key: ClaimKey): Promise<Claim | null> {
    return this.at(key);
  }

  /** The same, at once. */
  at(key: ClaimKey): Claim | null {
    return this.claims.get(nameOf(key)) ?? null;
  }

  async replace(next: Claim, expectedVersion: number): Promise<'applied' | 'conflict'> {
    const removed = this.take(nameOf(next), expectedVersion);
    if (removed === 'applied') this.put(next);
    return removed;
  }

  async remove(key: ClaimKey, expectedVersion: number): Promise<'applied' | 'conflict'> {
    return this.take(nameOf(key), expectedVersion);
  }

  async removeExpired(now: number, limit: number): Promise<number> {
    assert(Number.isInteger(limit) && limit >= 1, `a limit is at least 1, not ${limit}`);
    const expired = this.removals.slice(0, limit).filter(({ at }) => at <= now);
    for (const removal of expired) {
      this.claims.delete(removal.name);
      this.removals.remove(removal);
    }
    return expired.length;
  }

  async removeOfAccount(accountId: string, limit: number): Promise<number> {
    const own = [...this.claims].filter(([, claim]) => claim.accountId === accountId).slice(0, checkedLimit(limit));
    for (const [name, { version }] of own) this.take(name, version);
    return own.length;
  }

  private take(name: string, expectedVersion: number): 'applied' | 'conflict' {
    const current = this.claims.get(name);
    if (current?.version !== expectedVersion) return 'conflict';
    this.claims.delete(name);
    this.removals.remove({ at: current.removeAt, name });
    return 'applied';
  }

  private put(claim: Claim): void {
    this.claims.set(nameOf(claim), frozenCopy(claim));
    this.removals.insert({ at: claim.removeAt, name: nameOf(claim) });
  }
}

/** JSON keeps the four parts distinct whatever characters they contain. */
function nameOf({ accountId, appId, operation, key }: ClaimKey): string {
  return JSON.stringify([accountId, appId, operation, key]);
}

interface Stores {
  readonly claims: MemoryClaimStore;
  readonly accounts: MemoryAccountStore;
  readonly generations: MemoryGenerationStore;
}

/** Accepts generations in this process's memory: all at once, or nothing. */
export class MemoryAcceptances implements AcceptanceStore {
  constructor(private readonly stores: Stores) {}

  async accept({ claims, change, generations }: AcceptanceBatch): Promise<AcceptanceOutcome> {
    const { stores } = this;
    const taken = claims.flatMap((claim) => stores.claims.at(claim) ?? []);
    if (taken.length > 0) return { outcome: 'taken', taken, claimsStand: false };
    if (stores.accounts.versionOf(change.accountId) !== change.expectedVersion)
      return { outcome: 'conflict', claimsStand: false };
    // Each call writes before it returns, so that nothing comes in between.
    const claimed = claims.map(async (claim) => stores.claims.insert(claim));
    const applied = stores.accounts.apply(change);
    const inserted = generations.map(async (one) => stores.generations.insert(one));
    await Promise.all([...claimed, applied]);
    const existing = (await Promise.all(inserted)).flatMap((outcome) => (outcome.inserted ? [] : [outcome.existing]));
    return { outcome: 'accepted', existing };
  }
}
