import { FAILED, type Entry } from '../credits/account.js';
import type { UsageRow } from './usage.js';

type Sums = [generations: number, failed: number, reserved: number, charged: number, released: number];

export interface Difference {
  readonly name: string;
  readonly stored: Readonly<Sums>;
  readonly expected: Readonly<Sums>;
}

/**
 * The stored rows of a day beside what entries add up to. Rows may be ahead of the whole account's: what a row must have is
 * what its own last entry says, and at least what the whole account's says, entry `through`.
 */
export class UsageOfDay {
  private readonly expected = new Map<string, Sums>();
  private readonly stored = new Map<string, UsageRow>();
  private lastSequence = 0;

  constructor(
    readonly day: string,
    private readonly through: number,
  ) {}

  /** The last entry that any of its rows took in. */
  get lastTakenIn(): number {
    return this.lastSequence;
  }

  store(row: UsageRow): void {
    this.stored.set(nameOf(row), row);
    this.lastSequence = Math.max(this.lastSequence, row.lastSequence);
  }

  add(name: string, { kind, credits, reason, sequence }: Entry): void {
    if (sequence > Math.max(this.through, this.stored.get(name)?.lastSequence ?? 0)) return;
    const sums = this.expected.get(name) ?? none();
    if (kind === 'hold') {
      sums[0] += 1;
      sums[2] += credits;
    } else {
      sums[1] += reason === FAILED ? 1 : 0;
      sums[kind === 'charge' ? 3 : 4] += credits;
    }
    this.expected.set(name, sums);
  }

  /** Something for each row and each sum without one, so that its caller may rest in between: undefined where they agree. */
  *differences(): Generator<Difference | undefined> {
    for (const [name, row] of this.stored) yield difference(name, sumsOf(row), this.expected.get(name) ?? none());
    for (const [name, expected] of this.expected) if (!this.stored.has(name)) yield difference(name, none(), expected);
  }
}

function difference(name: string, stored: Sums, expected: Sums): Difference | undefined {
  return expected.every((sum, index) => sum === stored[index]) ? undefined : { name, stored, expected };
}

function none(): Sums {
  return [0, 0, 0, 0, 0];
}

function nameOf(row: UsageRow): string {
  if (row.day === '') return '';
  const { day } = row;
  return 'clientTraceId' in row ? `${day} ${row.clientTraceId}` : `${day} ${row.credentialId} ${row.modelKey}`;
}

function sumsOf({ generations, failed, reservedCredits, chargedCredits, releasedCredits }: UsageRow): Sums {
  return [generations, failed, reservedCredits, chargedCredits, releasedCredits];
}
