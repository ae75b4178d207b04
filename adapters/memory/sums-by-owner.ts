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
