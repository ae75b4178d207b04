import type { Asked } from '../observed.js';

/** Numbers everything that is shown to the checker, so that two things at the same millisecond still have an order. */
export class EventOrder {
  position = 0;
  private readonly asked = new Map<
    number,
    { readonly order: number; arrived?: { readonly order: number; readonly at: number } }
  >();

  tick(): number {
    this.position += 1;
    return this.position;
  }

  noteAsked({ number }: Asked): void {
    this.asked.set(number, { order: this.position });
  }

  /** A request that is delivered twice counts from the first time. */
  noteArrived({ number }: Asked, at: number): void {
    const known = this.asked.get(number);
    if (known && !known.arrived) known.arrived = { order: this.position, at };
  }

  askedOrder({ number }: Asked): number {
    return this.asked.get(number)?.order ?? 0;
  }

  arrivedOrder(asked: Asked): number {
    return this.asked.get(asked.number)?.arrived?.order ?? this.askedOrder(asked);
  }

  arrivedAt(asked: Asked): number {
    return this.asked.get(asked.number)?.arrived?.at ?? asked.at;
  }
}
