/** How often each thing happened, over as many runs as it is kept for. */
export class Tally {
  private readonly counts = new Map<string, number>();

  constructor(entries: Iterable<readonly [string, number]> = []) {
    for (const [name, count] of entries) this.add(name, count);
  }

  add(name: string, count = 1): void {
    this.counts.set(name, (this.counts.get(name) ?? 0) + count);
  }

  addAll(other: Iterable<readonly [string, number]>): void {
    for (const [name, count] of other) this.add(name, count);
  }

  count(name: string): number {
    return this.counts.get(name) ?? 0;
  }

  *[Symbol.iterator](): Iterator<[string, number]> {
    yield* [...this.counts].sort(([a], [b]) => (a < b ? -1 : 1));
  }
}
