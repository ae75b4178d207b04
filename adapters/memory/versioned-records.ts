import { checkedLimit } from '../../core/paging.js';
import { frozenCopy } from './frozen-copy.js';
import { compareText, OrderedList } from './ordered-list.js';

interface VersionedRecord {
  readonly version: number;
  readonly dueAt: number;
}

interface Attention {
  readonly at: number;
  readonly id: string;
}

export type Insertion<T> = { readonly inserted: true } | { readonly inserted: false; readonly existing: T };

/** Records by id, each with a version that guards its replacement and a time at which recovery examines it. */
export class VersionedRecords<T extends VersionedRecord> {
  private readonly records = new Map<string, T>();
  private readonly attention = new OrderedList<Attention>((a, b) => a.at - b.at || compareText(a.id, b.id));

  constructor(private readonly idOf: (record: T) => string) {}

  insert(record: T): Insertion<T> {
    const existing = this.records.get(this.idOf(record));
    if (existing !== undefined) return { inserted: false, existing };
    this.put(record);
    return { inserted: true };
  }

  read(id: string): T | null {
    return this.records.get(id) ?? null;
  }

  replace(next: T, expectedVersion: number): 'applied' | 'conflict' {
    const removed = this.remove(this.idOf(next), expectedVersion);
    if (removed === 'applied') this.put(next);
    return removed;
  }

  remove(id: string, expectedVersion: number): 'applied' | 'conflict' {
    const current = this.records.get(id);
    if (current?.version !== expectedVersion) return 'conflict';
    this.records.delete(id);
    this.attention.remove({ at: current.dueAt, id });
    return 'applied';
  }

  /** Records whose time is at or before `now`, most overdue first; those that come after `after`, where it is given. */
  due(now: number, limit: number, after?: Attention): T[] {
    checkedLimit(limit);
    const from = after === undefined ? 0 : this.attention.firstNotBefore(after);
    // The record of the cursor may still exist.
    return this.attention
      .slice(from, limit + 1)
      .filter(({ at, id }) => after === undefined || at !== after.at || id !== after.id)
      .slice(0, limit)
      .filter(({ at }) => at <= now)
      .map(({ id }) => this.records.get(id) as T);
  }

  private put(record: T): void {
    const id = this.idOf(record);
    this.records.set(id, frozenCopy(record));
    this.attention.insert({ at: record.dueAt, id });
  }
}
