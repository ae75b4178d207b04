import { type CreatedPlace, cursorAt, placeBefore } from '../../../adapters/created-cursor.js';
import { assert } from '../../../core/assert.js';
import { type Cancellation, throwIfAborted } from '../../../core/cancellation.js';
import type { Erasure } from '../../../core/erasure/erasure.js';
import type { Fingerprint, ProcessLease } from '../../../core/idempotency/fingerprint.js';
import { checkedLimit, type Page, pageOf, type PageRequest } from '../../../core/paging.js';
import {
  type DayRange,
  type DeliveryStore,
  type ErasureStore,
  type FingerprintStore,
  type Insertion,
  type ListedDeliveries,
  type TracePage,
  type UploadStore,
  type UsageChange,
  type UsageStore,
} from '../../../core/ports/stores.js';
import { type Upload, type UploadRecord, type UploadUsage, usageOf } from '../../../core/uploads/upload.js';
import {
  isTrace,
  textOfKey,
  type TraceRow,
  type UsageKey,
  type UsageRow,
  type UseRow,
} from '../../../core/usage/usage.js';
import { type Delivery, DELIVERY_LISTS } from '../../../core/webhooks/delivery.js';
import {
  behind,
  comparePlaces,
  compareText,
  frozenCopy,
  listNamed,
  type OrderedList,
  SumsByOwner,
  VersionedRecords,
} from './records.js';

/** Uploads in this process's memory; gone when the process ends. */
export class MemoryUploadStore implements UploadStore {
  private readonly records = new VersionedRecords<UploadRecord>((record) => record.uploadId);
  private readonly byApp = new SumsByOwner<UploadRecord>(
    ({ accountId, appId }) => `${accountId}/${appId}`,
    (record) => {
      const usage = usageOf(record);
      return usage && [1, usage.unfinished, usage.bytes];
    },
  );

  async insert(record: UploadRecord): Promise<Insertion<UploadRecord>> {
    const insertion = this.records.insert(record);
    if (insertion.inserted) this.byApp.add(record);
    return insertion;
  }

  async read(uploadId: string): Promise<UploadRecord | null> {
    return this.records.read(uploadId);
  }

  async replace(next: UploadRecord, expectedVersion: number): Promise<'applied' | 'conflict'> {
    const before = this.records.read(next.uploadId);
    const outcome = this.records.replace(next, expectedVersion);
    if (outcome === 'applied') this.byApp.replace(before, next);
    return outcome;
  }

  async remove(uploadId: string, expectedVersion: number): Promise<'applied' | 'conflict'> {
    const before = this.records.read(uploadId);
    const outcome = this.records.remove(uploadId, expectedVersion);
    if (outcome === 'applied') this.byApp.replace(before, null);
    return outcome;
  }

  async due(now: number, limit: number): Promise<readonly UploadRecord[]> {
    return this.records.due(now, limit);
  }

  async usage(accountId: string, appId: string, call?: Cancellation): Promise<UploadUsage> {
    throwIfAborted(call);
    const [uploads = 0, unfinished = 0, bytes = 0] = this.byApp.of(`${accountId}/${appId}`);
    return { uploads, unfinished, bytes };
  }

  async list(accountId: string, page: PageRequest): Promise<Page<Upload>> {
    const own = this.records.all().flatMap((record) => (record.kind === 'upload' ? [record] : []));
    const found = own
      .filter((upload) => upload.accountId === accountId && upload.uploadId > (page.cursor ?? ''))
      .toSorted((a, b) => compareText(a.uploadId, b.uploadId))
      .slice(0, checkedLimit(page.limit) + 1);
    return pageOf(found, page, ({ uploadId }) => uploadId);
  }
}

/** Requests that something be erased, in this process's memory; gone when the process ends. */
export class MemoryErasureStore implements ErasureStore {
  private readonly records = new VersionedRecords<Erasure>(({ erasureId }) => erasureId);

  async insert(erasure: Erasure): Promise<Insertion<Erasure>> {
    return this.records.insert(erasure);
  }

  async read(erasureId: string): Promise<Erasure | null> {
    return this.records.read(erasureId);
  }

  async replace(next: Erasure, expectedVersion: number): Promise<'applied' | 'conflict'> {
    return this.records.replace(next, expectedVersion);
  }

  async remove(erasureId: string, expectedVersion: number): Promise<'applied' | 'conflict'> {
    return this.records.remove(erasureId, expectedVersion);
  }

  async due(now: number, limit: number): Promise<readonly Erasure[]> {
    return this.records.due(now, limit);
  }

  async removeRemains(): Promise<'done'> {
    return 'done';
  }

  async emptyLog(): Promise<'done'> {
    return 'done';
  }
}

/** Requests without an idempotency key, and leases, in this process's memory; gone when the process ends. */
export class MemoryFingerprintStore implements FingerprintStore {
  private readonly records = new Map<string, Fingerprint>();
  private readonly leases = new Map<string, ProcessLease>();

  async read(fingerprint: string, call?: Cancellation): Promise<Fingerprint | null> {
    throwIfAborted(call);
    return this.records.get(fingerprint) ?? null;
  }

  async replace(next: Fingerprint, expectedVersion: number): Promise<'applied' | 'conflict'> {
    if ((this.records.get(next.fingerprint)?.version ?? 0) !== expectedVersion) return 'conflict';
    this.records.set(next.fingerprint, frozenCopy(next));
    return 'applied';
  }

  async removeExpired(now: number, limit: number): Promise<number> {
    const removed = removeExpired(this.records, now, checkedLimit(limit));
    return removed + removeExpired(this.leases, now, limit - removed);
  }

  async removeOfAccount(accountId: string, limit: number): Promise<number> {
    const own = [...this.records].filter(([, record]) => record.accountId === accountId).slice(0, checkedLimit(limit));
    for (const [fingerprint] of own) this.records.delete(fingerprint);
    return own.length;
  }

  async renewLease(lease: ProcessLease): Promise<void> {
    this.leases.set(lease.bootId, frozenCopy(lease));
  }

  async readLease(bootId: string): Promise<ProcessLease | null> {
    return this.leases.get(bootId) ?? null;
  }
}

function removeExpired(kept: Map<string, { readonly removeAt: number }>, now: number, limit: number): number {
  const expired = [...kept]
    .filter(([, { removeAt }]) => removeAt <= now)
    .toSorted(([, a], [, b]) => a.removeAt - b.removeAt)
    .slice(0, limit);
  for (const [name] of expired) kept.delete(name);
  return expired.length;
}

/** Webhook deliveries in this process's memory; gone when the process ends. */
export class MemoryDeliveryStore implements DeliveryStore {
  private readonly records = new VersionedRecords<Delivery>(({ deliveryId }) => deliveryId);
  private readonly lists = new Map<string, OrderedList<CreatedPlace>>();

  async insert(delivery: Delivery): Promise<Insertion<Delivery>> {
    const insertion = this.records.insert(delivery);
    if (insertion.inserted) for (const list of this.listsOf(delivery)) list.insert(placeOf(delivery));
    return insertion;
  }

  async read(deliveryId: string, call?: Cancellation): Promise<Delivery | null> {
    throwIfAborted(call);
    return this.records.read(deliveryId);
  }

  async replace(next: Delivery, expectedVersion: number): Promise<'applied' | 'conflict'> {
    return this.records.replace(next, expectedVersion);
  }

  async remove(deliveryId: string, expectedVersion: number): Promise<'applied' | 'conflict'> {
    const before = this.records.read(deliveryId);
    const outcome = this.records.remove(deliveryId, expectedVersion);
    if (before !== null && outcome === 'applied') for (const list of this.listsOf(before)) list.remove(placeOf(before));
    return outcome;
  }

  async due(now: number, limit: number): Promise<readonly Delivery[]> {
    return this.records.due(now, limit);
  }

  async list(
    { of, id: listed, createdFrom = 0, createdBefore }: ListedDeliveries,
    page: PageRequest,
    call?: Cancellation,
  ): Promise<Page<Delivery>> {
    throwIfAborted(call);
    const limit = checkedLimit(page.limit) + 1;
    const places = this.lists.get(`${of} ${listed}`);
    const found = places === undefined ? [] : behind(places, placeBefore(page.cursor, createdBefore), limit);
    const wanted = found.filter(({ createdAt }) => createdAt >= createdFrom);
    return pageOf(
      wanted.map(({ id }) => this.records.read(id) as Delivery),
      page,
      (delivery) => cursorAt(placeOf(delivery)),
    );
  }

  private listsOf(delivery: Delivery): readonly OrderedList<CreatedPlace>[] {
    const lists = Object.entries(DELIVERY_LISTS);
    return lists.map(([of, field]) => listNamed(this.lists, `${of} ${delivery[field]}`, comparePlaces));
  }
}

function placeOf({ createdAt, deliveryId }: Delivery): CreatedPlace {
  return { createdAt, id: deliveryId };
}

/** Rows of usage in this process's memory; gone when the process ends. */
export class MemoryUsageStore implements UsageStore {
  /** Usage rows by account, then by key. */
  private readonly rows = new Map<string, Map<string, UsageRow>>();

  async read(keys: readonly UsageKey[], call?: Cancellation): Promise<readonly UsageRow[]> {
    throwIfAborted(call);
    assert(keys.length <= 1_000, 'at most 1,000 rows are read at once');
    return keys.flatMap((key) => this.rows.get(key.accountId)?.get(textOfKey(key)) ?? []);
  }

  async apply(changes: readonly UsageChange[]): Promise<'applied' | 'conflict'> {
    assert(changes.length <= 1_000, 'at most 1,000 rows are written at once');
    let outcome: 'applied' | 'conflict' = 'applied';
    for (const { row, expectedSequence } of changes) {
      const rows = this.rows.get(row.accountId) ?? new Map<string, UsageRow>();
      const key = textOfKey(row);
      if ((rows.get(key)?.lastSequence ?? 0) !== expectedSequence) {
        outcome = 'conflict';
        continue;
      }
      this.rows.set(row.accountId, rows.set(key, frozenCopy(row)));
    }
    return outcome;
  }

  async list(accountId: string, { from, to }: DayRange, page: PageRequest, call?: Cancellation): Promise<Page<UseRow>> {
    throwIfAborted(call);
    const found = this.within(accountId, { from, to })
      .flatMap((row) => (isTrace(row) ? [] : [[textOfKey(row), row] as const]))
      .filter(([key]) => page.cursor === undefined || key > page.cursor)
      .toSorted(([a], [b]) => compareText(a, b))
      .slice(0, checkedLimit(page.limit) + 1);
    return pageOf(
      found.map(([, row]) => row),
      page,
      textOfKey,
    );
  }

  async listTraces(
    accountId: string,
    range: DayRange,
    { limit, after, appUse }: TracePage,
    call?: Cancellation,
  ): Promise<readonly TraceRow[]> {
    throwIfAborted(call);
    return this.within(accountId, range)
      .filter((row) => isTrace(row))
      .filter((row) => appUse === undefined || row.appUse === appUse)
      .filter((row) => after === undefined || compareTraces(row, after) > 0)
      .toSorted(compareTraces)
      .slice(0, checkedLimit(limit));
  }

  async removeTraces(accountId: string, limit: number): Promise<number> {
    const rows = this.rows.get(accountId) ?? new Map<string, UsageRow>();
    const traces = [...rows]
      .filter(([, row]) => isTrace(row))
      .toSorted(([a], [b]) => compareText(a, b))
      .slice(0, checkedLimit(limit));
    for (const [key] of traces) rows.delete(key);
    return traces.length;
  }

  private within(accountId: string, { from, to }: DayRange): readonly UsageRow[] {
    const rows = [...(this.rows.get(accountId)?.values() ?? [])];
    return rows.filter(({ day }) => day >= from && day <= to && day !== '');
  }
}

function compareTraces(a: TracePlace, b: TracePlace): number {
  const byTrace = compareText(a.day, b.day) || compareText(a.clientTraceId, b.clientTraceId);
  if (byTrace !== 0 || a.appUse === undefined || b.appUse === undefined) return byTrace;
  return compareText(a.appUse, b.appUse);
}

type TracePlace = NonNullable<TracePage['after']>;
