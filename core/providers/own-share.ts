/** What one renewal has given to this process. */
interface Given {
  readonly slots: number;
  submissions: number;
  readonly wanted: number;
  /** How many waited then. */
  readonly waiting: number;
  readonly expiresAt: number;
  readonly isShort: boolean;
  readonly isDry: boolean;
}

const NOTHING: Given = {
  slots: 0,
  submissions: 0,
  wanted: 0,
  waiting: 0,
  expiresAt: -Infinity,
  isShort: false,
  isDry: false,
};

/**
 * What this process may use of a provider with limits until its share expires, and who in it uses what. A holder is one
 * run. It submits only with a slot of the share that is valid then, and with a submission of a share that has not expired.
 */
export class OwnShare {
  private given = NOTHING;
  /** Holders with a submission that has not begun, and when the share expires that it is of. */
  private readonly unused = new Map<object, number>();
  /** Holders that have submitted, each in a slot. */
  private readonly submitted = new Set<object>();
  /** Holders that have no submission. They come before those that wait for a slot. */
  private readonly again = new Set<object>();

  get slots(): number {
    return this.given.slots;
  }

  /** How many waited when it was asked for. */
  get waiting(): number {
    return this.given.waiting;
  }

  /** Whether another worker wants a slot and has none. */
  get isShort(): boolean {
    return this.given.isShort;
  }

  /** How many holders have no submission. */
  get lacking(): number {
    return this.again.size;
  }

  isCurrent(now: number): boolean {
    return now < this.given.expiresAt;
  }

  /** Whether the next renewal may give room to one more than the `inUse` that have a slot. */
  mayGrow(inUse: number, now: number): boolean {
    const { slots, wanted, isDry } = this.given;
    if (!this.isCurrent(now) || (slots <= inUse && slots >= wanted)) return true;
    return slots > inUse && !isDry;
  }

  /** What a renewal gives replaces what was given before. */
  renew(given: Given): void {
    this.given = given;
  }

  /** Until a renewal is known to be stored, no more is used than both the old share and the new one have. */
  lowerTo(slots: number): void {
    this.given = { ...this.given, slots: Math.min(this.given.slots, slots) };
  }

  /** Nothing may be used until then. */
  lose(expiresAt: number): void {
    this.given = { ...NOTHING, wanted: 1, expiresAt };
  }

  /** Takes a slot and a submission, where `inUse` have one. */
  take(holder: object, inUse: number, now: number): boolean {
    if (!this.isCurrent(now) || this.given.slots <= inUse) return false;
    if (this.given.submissions - this.again.size < 1) return false;
    this.given.submissions -= 1;
    this.unused.set(holder, this.given.expiresAt);
    return true;
  }

  /**
   * Whether the holder has both a slot and a submission now; takes what it lacks. While it has no slot, the slot that it had
   * is another holder's.
   */
  maySubmit(holder: object, now: number): boolean {
    const isInSlot = this.submitted.has(holder);
    if (!this.isCurrent(now) || this.submitted.size - (isInSlot ? 1 : 0) >= this.given.slots) {
      this.submitted.delete(holder);
      this.again.delete(holder);
      return false;
    }
    if ((this.unused.get(holder) ?? -Infinity) > now) return true;
    if (this.given.submissions < 1) {
      this.again.add(holder);
      return false;
    }
    this.again.delete(holder);
    this.given.submissions -= 1;
    this.unused.set(holder, this.given.expiresAt);
    return true;
  }

  /** The holder's submission begins. */
  submitting(holder: object): void {
    this.unused.delete(holder);
    this.submitted.add(holder);
  }

  /** Takes back what the holder has not used; what an earlier share gave may not be used any more. */
  release(holder: object): void {
    this.again.delete(holder);
    this.submitted.delete(holder);
    if (this.unused.get(holder) === this.given.expiresAt) this.given.submissions += 1;
    this.unused.delete(holder);
  }
}
