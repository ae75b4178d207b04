interface Moment {
  readonly order: number;
  readonly value: number;
}

/** What a number was over the course of a run. Moments are numbered; nothing happens between two of them. */
export class ValueHistory {
  private readonly moments: Moment[] = [];

  constructor(initial: number) {
    this.moments.push({ order: -Infinity, value: initial });
  }

  set(order: number, value: number): void {
    if (this.moments.at(-1)?.value !== value) this.moments.push({ order, value });
  }

  /** Whether it had such a value at some moment from `since` on, the value it had then included. */
  wasEver(since: number, such: (value: number) => boolean): boolean {
    return this.valuesSince(since).some(such);
  }

  /** Every value it had from `since` on, the one it had then included. */
  valuesSince(since: number): number[] {
    const first = this.moments.findLastIndex(({ order }) => order <= since);
    return this.moments.slice(first).map(({ value }) => value);
  }
}
