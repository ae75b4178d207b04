import type { Account, Book, Entry } from './account.js';

interface GenerationMoney {
  isHeld: boolean;
  held: number;
  charged: number;
  released: number;
  charges: number;
  isClosed: boolean;
}

const ALLOWED: Readonly<Record<Entry['kind'], readonly string[]>> = {
  grant: ['issued>available'],
  adjustment: ['issued>available', 'available>issued'],
  hold: ['available>reserved'],
  charge: ['reserved>spent'],
  release: ['reserved>available'],
};

/** What is kept of what is wrong with entries: no more is shown in all. */
const MAX_FINDINGS = 1_000;

/** Adds up a ledger from its first entry, without any of the code that wrote it, and notes what does not add up. */
export class Replay {
  readonly findings: string[] = [];
  /** The credits that left the issued book, and the balances of the others. */
  private readonly books: Record<Book, number> = { issued: 0, available: 0, reserved: 0, spent: 0 };
  private readonly byGeneration = new Map<string, GenerationMoney>();
  private readonly operations = new Set<string>();
  /** Held and not released, by credential and period of its cap. */
  private readonly capUses = new Map<string, number>();
  private openHolds = 0;
  private sequence = 0;

  constructor(private readonly accountId: string) {}

  add(entry: Entry): void {
    this.sequence += 1;
    this.expect(entry.sequence === this.sequence, entry, `has number ${entry.sequence} where ${this.sequence} is due`);
    this.expect(Number.isSafeInteger(entry.credits) && entry.credits >= 0, entry, 'does not move whole credits');
    this.expect(
      ALLOWED[entry.kind].includes(`${entry.from}>${entry.to}`),
      entry,
      `moves from ${entry.from} to ${entry.to}`,
    );
    this.books[entry.from] += entry.from === 'issued' ? entry.credits : -entry.credits;
    this.books[entry.to] += entry.to === 'issued' ? -entry.credits : entry.credits;
    this.expect(
      Object.values(this.books).every((credits) => credits >= 0),
      entry,
      'takes a book below zero',
    );
    this.expect(
      this.books.available === entry.availableAfter,
      entry,
      `leaves ${this.books.available} available, and says ${entry.availableAfter}`,
    );
    if (entry.operationId !== undefined) {
      this.expect(
        !this.operations.has(entry.operationId),
        entry,
        `is the second one of operation ${entry.operationId}`,
      );
      this.operations.add(entry.operationId);
    }
    if (entry.generationId !== undefined) this.addToGeneration(entry, this.ofGeneration(entry.generationId));
    this.addToCap(entry);
  }

  ofGeneration(generationId: string): GenerationMoney {
    let money = this.byGeneration.get(generationId);
    if (!money) {
      money = { isHeld: false, held: 0, charged: 0, released: 0, charges: 0, isClosed: false };
      this.byGeneration.set(generationId, money);
    }
    return money;
  }

  /**
   * What differs between the sums and the account as it is stored. Something for each hold, so that its caller may rest in
   * between: undefined where they agree.
   */
  *compare(account: Account): Generator<string | undefined> {
    const finding = (holds: boolean, what: string) => (holds ? undefined : `Account ${this.accountId} ${what}.`);
    yield finding(
      this.sequence === account.lastSequence,
      `has ${this.sequence} entries and counts ${account.lastSequence}`,
    );
    for (const book of ['issued', 'available', 'reserved', 'spent'] as const) {
      yield finding(
        this.books[book] === account[book],
        `has ${account[book]} credits ${book}, and ${this.books[book]} by its entries`,
      );
    }
    let held = 0;
    for (const hold of account.holds.values()) {
      held += hold.credits;
      yield finding(
        this.isOpenWith(hold.generationId, hold.credits),
        `has a hold for ${hold.generationId} that its entries do not`,
      );
    }
    yield finding(
      this.openHolds === account.holds.size,
      `has ${account.holds.size} open holds, and ${this.openHolds} by its entries`,
    );
    yield finding(held === account.reserved, `reserves ${account.reserved} credits, and its open holds sum to ${held}`);
    for (const { credentialId, period, used } of account.capUses?.values() ?? []) {
      const counted = this.capUses.get(capKey(credentialId, period)) ?? 0;
      yield finding(
        used === counted,
        `counts ${used} credits of credential ${credentialId} in ${period}, and ${counted} by its entries`,
      );
    }
  }

  private isOpenWith(generationId: string, credits: number): boolean {
    const money = this.ofGeneration(generationId);
    return money.isHeld && !money.isClosed && money.held === credits;
  }

  private addToCap({ kind, credits, attribution }: Entry): void {
    if (attribution?.capPeriod === undefined || kind === 'charge') return;
    const key = capKey(attribution.credentialId, attribution.capPeriod);
    this.capUses.set(key, (this.capUses.get(key) ?? 0) + (kind === 'hold' ? credits : -credits));
  }

  private addToGeneration(entry: Entry, money: GenerationMoney): void {
    if (entry.kind === 'hold') {
      // A hold that was released completely, because its create was interrupted, may be taken again by the same create.
      const isAgain = money.isClosed && money.charged === 0;
      this.expect(!money.isHeld || isAgain, entry, 'holds a second time');
      this.openHolds += 1;
      Object.assign(money, { isHeld: true, held: entry.credits, charged: 0, released: 0, isClosed: false });
      return;
    }
    if (entry.kind === 'charge') {
      money.charges += 1;
      money.charged += entry.credits;
      this.expect(money.charges === 1, entry, 'charges a second time');
    } else {
      money.released += entry.credits;
    }
    this.expect(money.isHeld && money.charged + money.released <= money.held, entry, 'ends more than was held');
    if (money.isHeld && !money.isClosed) this.openHolds -= 1;
    money.isClosed = true;
  }

  private expect(holds: boolean, entry: Entry, what: string): void {
    if (!holds && this.findings.length < MAX_FINDINGS)
      this.findings.push(`Entry ${entry.sequence} of account ${this.accountId} ${what}.`);
  }
}

function capKey(credentialId: string, period: string): string {
  return `${credentialId} ${period}`;
}
