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
    for (let index = this.moments.length - 1; index >= 0; index -= 1) {
      const moment = this.moments[index];
      if (moment === undefined || such(moment.value)) return moment !== undefined;
      if (moment.order <= since) return false;
    }
    return false;
  }
}
