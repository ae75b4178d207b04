import type { Book, Entry, EntryKind } from '../../core/credits/account.js';
import type { Finding } from './finding.js';

const MOVES: Readonly<Record<EntryKind, readonly `${Book} ${Book}`[]>> = {
  grant: ['issued available'],
  adjustment: ['issued available', 'available issued'],
  hold: ['available reserved'],
  charge: ['reserved spent'],
  release: ['reserved available'],
};

/** The credits of one generation. */
export interface GenerationMoney {
  readonly accountId: string;
  readonly held: bigint;
  charged: bigint;
  released: bigint;
  /** Time of the entries that ended the hold. One command writes them, so they have one time. */
  endedAt?: number;
}

/**
 * Invariants 1, 2, 4 and 5 of one account, as its entries have them from the first. What left the issued book is
 * counted there as a positive number. `byGeneration` is shared by all accounts, since a generation has one hold on one
 * of them.
 */
export class AccountLedger {
  sequence = 0;
  readonly credits: Record<Book, bigint> = { issued: 0n, available: 0n, reserved: 0n, spent: 0n };
  /** Open holds by generation. */
  readonly holds = new Map<string, bigint>();

  constructor(
    readonly accountId: string,
    private readonly byGeneration: Map<string, GenerationMoney>,
  ) {}

  /** Adds the next entry up. Answers what is wrong with it, in order of importance. */
  add(entry: Entry): Finding[] {
    const name = `entry ${entry.sequence} of account ${this.accountId} (${entry.kind} of ${entry.credits})`;
    const findings: Finding[] = [];
    const demand = (holds: boolean, invariant: number, what: () => string) => {
      if (!holds) findings.push({ invariant, sentence: what() });
    };
    demand(
      entry.accountId === this.accountId && entry.sequence === this.sequence + 1,
      1,
      () => `${name} comes after entry ${this.sequence}`,
    );
    this.sequence = entry.sequence;
    if (!isAmount(entry.credits))
      return [...findings, { invariant: 2, sentence: `${name} does not move whole credits` }];
    demand(
      (MOVES[entry.kind] ?? []).includes(`${entry.from} ${entry.to}`),
      1,
      () => `${name} moves from ${entry.from} to ${entry.to}`,
    );
    const { credits } = this;
    const amount = BigInt(entry.credits);
    credits[entry.from] += entry.from === 'issued' ? amount : -amount;
    credits[entry.to] += entry.to === 'issued' ? -amount : amount;
    const isSound = Object.values(credits).every((total) => total >= 0n && total <= BigInt(Number.MAX_SAFE_INTEGER));
    demand(
      isSound,
      2,
      () =>
        `${name} leaves ${Object.entries(credits)
          .map(([book, total]) => `${book} ${total}`)
          .join(', ')}`,
    );
    demand(
      credits.issued === credits.available + credits.reserved + credits.spent,
      1,
      () => `the books do not sum to zero after ${name}`,
    );
    const isRight = isAmount(entry.availableAfter) && BigInt(entry.availableAfter) === credits.available;
    demand(isRight, 1, () => `${name} says ${entry.availableAfter} available after it, and ${credits.available} are`);
    const fault = this.addToGeneration(entry, amount, name);
    return fault ? [...findings, fault] : findings;
  }

  private addToGeneration(
    { generationId, operationId, kind, at }: Entry,
    amount: bigint,
    name: string,
  ): Finding | undefined {
    if (kind === 'grant' || kind === 'adjustment') {
      return generationId === undefined
        ? undefined
        : { invariant: 1, sentence: `${name} is about generation ${generationId}` };
    }
    if (generationId === undefined || operationId !== undefined)
      return { invariant: 1, sentence: `${name} is about no generation` };
    const known = this.byGeneration.get(generationId);
    if (kind === 'hold') {
      if (known) return { invariant: 4, sentence: `${name} holds for generation ${generationId} a second time` };
      this.byGeneration.set(generationId, {
        accountId: this.accountId,
        held: amount,
        charged: 0n,
        released: 0n,
      });
      this.holds.set(generationId, amount);
      return undefined;
    }
    if (known?.accountId !== this.accountId)
      return { invariant: 4, sentence: `${name} ends a hold of generation ${generationId}, which has none` };
    if (kind === 'charge') {
      if (amount === 0n || known.charged !== 0n)
        return { invariant: 5, sentence: `${name} charges generation ${generationId} for the second time` };
      known.charged = amount;
    } else {
      if (known.released !== 0n)
        return { invariant: 4, sentence: `${name} releases the hold of generation ${generationId} a second time` };
      known.released += amount;
    }
    this.holds.delete(generationId);
    const isSameEnd = known.endedAt === undefined || known.endedAt === at;
    known.endedAt = at;
    return isSameEnd && known.charged + known.released <= known.held
      ? undefined
      : {
          invariant: 4,
          sentence: `${name} ends the hold of generation ${generationId} again, or by more than the ${known.held} it was`,
        };
  }
}

export function isAmount(value: number): boolean {
  return Number.isSafeInteger(value) && value >= 0;
}
