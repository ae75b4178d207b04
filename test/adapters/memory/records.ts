import type { CreatedPlace } from '../../../adapters/created-cursor.js';
import { type Cancellation, throwIfAborted } from '../../../core/cancellation.js';
import type { Insertion } from '../../../core/ports/stores.js';
import { checkedLimit, type Page, pageOf, type PageRequest } from '../../../core/paging.js';

interface VersionedRecord {
  readonly version: number;
  readonly dueAt: number;
}

interface Attention {
  readonly at: number;
  readonly id: string;
}

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

  all(): readonly T[] {
    return [...this.records.values()];
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

/** Records by name, each written onto the version that its writer saw; 0 means that there is none. */
export class NamedRecords<T extends { readonly version: number }> {
  private readonly records = new Map<string, T>();

  constructor(private readonly nameOf: (record: T) => string) {}

  async read(name: string, call?: Cancellation): Promise<T | null> {
    throwIfAborted(call);
    return this.records.get(name) ?? null;
  }

  async replace(next: T, expectedVersion: number): Promise<'applied' | 'conflict'> {
    const name = this.nameOf(next);
    if ((this.records.get(name)?.version ?? 0) !== expectedVersion) return 'conflict';
    this.records.set(name, frozenCopy(next));
    return 'applied';
  }
}

/** Things by id, and per account in order of id. */
export class AccountThings<T extends { readonly accountId: string }> {
  private readonly things = new Map<string, T>();
  private readonly idsByAccount = new Map<string, OrderedList<string>>();

  constructor(private readonly idOf: (thing: T) => string) {}

  get(id: string): T | undefined {
    return this.things.get(id);
  }

  insert(thing: T): T {
    const copy = this.put(thing);
    let ids = this.idsByAccount.get(thing.accountId);
    if (ids === undefined) this.idsByAccount.set(thing.accountId, (ids = new OrderedList(compareText)));
    ids.insert(this.idOf(thing));
    return copy;
  }

  remove(thing: T): void {
    this.things.delete(this.idOf(thing));
    this.idsByAccount.get(thing.accountId)?.remove(this.idOf(thing));
  }

  /** Stores a copy, which replaces a record with the same id. */
  put(thing: T): T {
    const copy = frozenCopy(thing);
    this.things.set(this.idOf(thing), copy);
    return copy;
  }

  list(accountId: string, page: PageRequest): Page<T> {
    const ids = this.idsByAccount.get(accountId);
    const from = page.cursor === undefined || ids === undefined ? 0 : ids.firstNotBefore(`${page.cursor}\0`);
    const found = ids?.slice(from, checkedLimit(page.limit) + 1) ?? [];
    return pageOf(
      found.map((id) => this.things.get(id) as T),
      page,
      this.idOf,
    );
  }
}

/** Numbers of records, added up by whose they are. Bytes of many records are more than a double counts exactly. */
export class SumsByOwner<T> {
  private readonly sums = new Map<string, bigint[]>();

  /** `numbersOf` is null for a record that does not count; the first number is 1 for one that does. */
  constructor(
    private readonly ownerOf: (record: T) => string,
    private readonly numbersOf: (record: T) => readonly number[] | null,
  ) {}

  /** The sums of one owner; empty when nothing counts. */
  of(owner: string): number[] {
    return (this.sums.get(owner) ?? []).map(Number);
  }

  add(record: T): void {
    this.change(record, 1n);
  }

  replace(before: T | null, after: T | null): void {
    if (before !== null) this.change(before, -1n);
    if (after !== null) this.change(after, 1n);
  }

  private change(record: T, sign: 1n | -1n): void {
    const numbers = this.numbersOf(record);
    if (numbers === null) return;
    const owner = this.ownerOf(record);
    const sums = this.sums.get(owner) ?? numbers.map(() => 0n);
    const next = sums.map((sum, index) => sum + sign * BigInt(numbers[index] ?? 0));
    if (next[0] === 0n) this.sums.delete(owner);
    else this.sums.set(owner, next);
  }
}

/** The list of this name, in descending order. */
export function listNamed<T>(
  lists: Map<string, OrderedList<T>>,
  name: string,
  compare: (a: T, b: T) => number,
): OrderedList<T> {
  let list = lists.get(name);
  if (list === undefined) lists.set(name, (list = new OrderedList((a, b) => compare(b, a))));
  return list;
}

/** Those after the bound in the order of the list; the bound's own place is stepped over. */
export function behind<T>(list: OrderedList<T>, bound: T | undefined, limit: number): T[] {
  if (bound === undefined) return list.slice(0, limit);
  return list.slice(list.firstAfter(bound), limit);
}

export function comparePlaces(a: CreatedPlace, b: CreatedPlace): number {
  return a.createdAt - b.createdAt || compareText(a.id, b.id);
}

/**
 * Values kept in the order of `compare`, which must tell any two of them apart. Finding a place takes a binary search;
 * inserting moves the tail, which is next to nothing for the usual insertion near the end.
 */
export class OrderedList<T> {
  private readonly values: T[] = [];

  constructor(private readonly compare: (a: T, b: T) => number) {}

  get size(): number {
    return this.values.length;
  }

  insert(value: T): void {
    this.values.splice(this.firstNotBefore(value), 0, value);
  }

  /** Removes the value that compares equal; does nothing when there is none. */
  remove(value: T): void {
    const index = this.firstNotBefore(value);
    const found = this.values[index];
    if (found !== undefined && this.compare(found, value) === 0) this.values.splice(index, 1);
  }

  /** How many values come before `bound`: the index of the first that does not. */
  firstNotBefore(bound: T): number {
    let low = 0;
    let high = this.values.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (this.compare(this.values[middle] as T, bound) < 0) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  /** The index of the first value that comes after `bound`. */
  firstAfter(bound: T): number {
    const index = this.firstNotBefore(bound);
    const found = this.values[index];
    return found !== undefined && this.compare(found, bound) === 0 ? index + 1 : index;
  }

  /** Values from index `from`, at most `limit`. */
  slice(from: number, limit: number): T[] {
    return this.values.slice(from, from + limit);
  }

  first(): T | undefined {
    return this.values[0];
  }
}

/** Order of two strings by code unit, as the ids here are plain ASCII. */
export function compareText(a: string, b: string): number {
  if (a === b) return 0;
  return a < b ? -1 : 1;
}

/**
 * A deep-frozen copy, so that a store may keep it and hand the same object to every reader. Undefined properties are
 * left out, as in a store that keeps JSON. A part that is already such a copy is shared, not copied again: a change to
 * one field of a large record copies only what is new.
 */
export function frozenCopy<T>(value: T): T {
  return copyOf(value) as T;
}

function copyOf(value: unknown): unknown {
  if (typeof value !== 'object' || value === null || ownCopies.has(value)) return value;
  const copy: object = Array.isArray(value)
    ? value.map(copyOf)
    : Object.fromEntries(
        Object.entries(value)
          .filter(([, field]) => field !== undefined)
          .map(([name, field]) => [name, copyOf(field)]),
      );
  Object.freeze(copy);
  ownCopies.add(copy);
  return copy;
}

const ownCopies = new WeakSet<object>();
