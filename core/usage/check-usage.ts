import { FAILED, type Entry } from '../credits/account.js';
import type { UsageList, UsageRow } from './usage.js';

type Sums = [generations: number, failed: number, reserved: number, charged: number, released: number];

/**
 * Adds up the use in a ledger's entries, without any of the code that wrote the stored rows of a list, and notes which of
 * them differ. The rows may be ahead of the whole account's: what a row must have is what its own last entry says, and at
 * least what the whole account's says.
 */
export class UsageCheck {
  private readonly expected = new Map<string, Sums>();
  private readonly stored = new Map<string, UsageRow>();
  private readonly through: number;

  constructor(
    private readonly accountId: string,
    private readonly list: UsageList,
    whole: UsageRow | undefined,
    rows: readonly UsageRow[],
  ) {
    this.through = whole?.lastSequence ?? 0;
    for (const row of whole === undefined ? rows : [whole, ...rows]) this.stored.set(nameOf(row), row);
  }

  /** Entries are given in order, from the first. */
  add(entry: Entry): void {
    const { kind, at, attribution, sequence } = entry;
    if (kind === 'grant' || kind === 'adjustment') return;
    const day = new Date(at).toISOString().slice(0, 10);
    const { credentialId = '', modelKey = '', clientTraceId = '' } = attribution ?? {};
    this.addTo(
      this.list === 'traces' ? `${day} ${clientTraceId}` : `${day} ${credentialId} ${modelKey}`,
      entry,
      sequence,
    );
    this.addTo(WHOLE, entry, sequence);
  }

  findings(): string[] {
    const names = new Set([...this.expected.keys(), ...this.stored.keys()]);
    return [...names].flatMap((name) => {
      const row = this.stored.get(name);
      const expected = this.expected.get(name) ?? [0, 0, 0, 0, 0];
      const sums = row === undefined ? [0, 0, 0, 0, 0] : sumsOf(row);
      if (expected.every((sum, index) => sum === sums[index])) return [];
      const of = name === WHOLE ? 'in all' : `of "${name}"`;
      return [
        `Account ${this.accountId} counts ${this.list === 'traces' ? 'usage by trace id' : 'usage'} ${of} as ${sums.join(', ')}, and its entries ${expected.join(', ')}.`,
      ];
    });
  }

  private addTo(name: string, { kind, credits, reason }: Entry, sequence: number): void {
    if (sequence > Math.max(this.through, this.stored.get(name)?.lastSequence ?? 0)) return;
    const sums = this.expected.get(name) ?? [0, 0, 0, 0, 0];
    if (kind === 'hold') {
      sums[0] += 1;
      sums[2] += credits;
    } else {
      sums[1] += reason === FAILED ? 1 : 0;
      sums[kind === 'charge' ? 3 : 4] += credits;
    }
    this.expected.set(name, sums);
  }
}

const WHOLE = '';

function nameOf(row: UsageRow): string {
  if (row.day === '') return WHOLE;
  const { day } = row;
  return 'clientTraceId' in row ? `${day} ${row.clientTraceId}` : `${day} ${row.credentialId} ${row.modelKey}`;
}

function sumsOf({ generations, failed, reservedCredits, chargedCredits, releasedCredits }: UsageRow): Sums {
  return [generations, failed, reservedCredits, chargedCredits, releasedCredits];
}
