import type { Finding } from '../../history/finding.js';
import { type Asked, Violation } from '../observed.js';

/** Numbers everything that the checker is shown, so that two events in the same millisecond still have an order. */
export class EventOrder {
  position = 0;
  private readonly requests = new Map<
    number,
    { readonly order: number; arrived?: { readonly order: number; readonly at: number } }
  >();

  tick(): number {
    this.position += 1;
    return this.position;
  }

  asked({ number }: Asked): void {
    this.requests.set(number, { order: this.position });
  }

  /** A request that is delivered twice counts from the first time. */
  arrived({ number }: Asked, at: number): void {
    const known = this.requests.get(number);
    if (known && !known.arrived) known.arrived = { order: this.position, at };
  }

  askedOrder({ number }: Asked): number {
    return this.requests.get(number)?.order ?? 0;
  }

  arrivedOrder(asked: Asked): number {
    return this.requests.get(asked.number)?.arrived?.order ?? this.askedOrder(asked);
  }

  arrivedAt(asked: Asked): number {
    return this.requests.get(asked.number)?.arrived?.at ?? asked.at;
  }
}

interface Moment {
  readonly order: number;
  readonly value: number;
}

/** The values of a number over the course of a run. Moments are numbered; nothing happens between two of them. */
export class ValueHistory {
  private readonly moments: Moment[] = [];

  constructor(initial: number) {
    this.moments.push({ order: -Infinity, value: initial });
  }

  set(order: number, value: number): void {
    if (this.moments.at(-1)?.value !== value) this.moments.push({ order, value });
  }

  /** Whether it had a matching value at some moment from `since` on, including the value it had then. */
  wasEver(since: number, such: (value: number) => boolean): boolean {
    return this.valuesSince(since).some(such);
  }

  /** Every value it had from `since` on, including the one it had then. */
  valuesSince(since: number): number[] {
    const first = this.moments.findLastIndex(({ order }) => order <= since);
    return this.moments.slice(first).map(({ value }) => value);
  }
}

/** Throws the first finding of a rule of `test/history`. */
export function demandNone(findings: Iterable<Finding>): void {
  for (const { invariant, sentence } of findings) throw new Violation(invariant, sentence);
}
