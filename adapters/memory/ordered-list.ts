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
