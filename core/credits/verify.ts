import type { Call, Machine, Money, Work } from '../context.js';
import { type Generation, isTerminal } from '../generation/generation.js';
import { type Page, type PageRequest, pagesOf } from '../paging.js';
import type { DayRange } from '../ports/stores.js';
import { UsageCheck } from '../usage/check-usage.js';
import { type TraceRow, type UsageList, type UsageRow, wholeAccount } from '../usage/usage.js';
import { withYields, type Yield } from '../waiting.js';
import { type Account, type Book, BOOKS, creditsText, type Entry, type Hold } from './account.js';

const PAGE = 500;
const MAX_LOOKS = 3;

/** The most findings that are kept of entries, which is also the most that are reported in total. */
const MAX_FINDINGS = 1_000;

export interface Verification {
  readonly accounts: number;
  readonly entries: number;
  readonly generations: number;
  /** One sentence each; empty when the books are right. At most 1,000 are listed. */
  readonly findings: readonly string[];
}

/** The stores that are verified, the clock and the bounds. */
export type Books = Pick<Money, 'accounts' | 'usage'> &
  Pick<Work, 'generations'> &
  Pick<Machine, 'clock' | 'settings'> &
  Call;

/** A check's progress: the records examined so far. */
export type VerifyProgress = Omit<Verification, 'findings'>;

/** Called after each page read, and after every 500 items compared. The check continues once the promise resolves. */
export type OnVerified = (so: VerifyProgress) => Promise<void>;

/**
 * Recomputes every account from its entries and compares the result with the account, its generations and its usage, as
 * far as that has come. It may run beside live processes: an account and its entries are compared as of one version, and
 * a generation that looks wrong is read again before it is reported, since it and its account are written one after the
 * other. Keeps, of one account at a time, some 350 bytes for each generation, grant and adjustment, and the rows of usage
 * of two days.
 */
export async function verifyCredits(context: Books, onVerified?: OnVerified): Promise<Verification> {
  const total = { accounts: 0, entries: 0, generations: 0 };
  const findings: string[] = [];
  const yieldNow: Yield = async () => onVerified?.({ ...total });
  const pages: Pages = async function* (read, from) {
    for await (const items of pagesOf(read, PAGE, from)) {
      yield* items;
      await yieldNow();
    }
  };
  for await (const account of pages((page) => context.accounts.list(page, context.call))) {
    const result = await verifyAccount({ context, accountId: account.accountId, pages, yieldNow });
    total.accounts += 1;
    total.entries += result.entries;
    total.generations += result.generations;
    for (const found of [result.ledger, result.suspicions])
      for (const finding of found) {
        if (findings.length === MAX_FINDINGS) break;
        findings.push(finding);
      }
  }
  return { ...total, findings };
}

/** An account that is looked at, and how. */
interface Look {
  readonly context: Books;
  readonly accountId: string;
  readonly pages: Pages;
  readonly yieldNow: Yield;
}

/** The parts of each generation that are kept while its account's books are checked. */
interface Seen extends Pick<
  Generation,
  'generationId' | 'status' | 'estimatedCredits' | 'reservedCredits' | 'chargedCredits'
> {
  readonly isSettled: boolean;
}

interface AccountResult {
  readonly entries: number;
  readonly generations: number;
  /** Inconsistencies within the account itself. */
  readonly ledger: Iterable<string>;
  /** Apparent inconsistencies between a generation and the account, which may only be seen between two writes. */
  readonly suspicions: ReadonlySet<string>;
}

async function verifyAccount(look: Look): Promise<AccountResult> {
  let result = await lookOnce(look);
  for (let looks = 1; looks < MAX_LOOKS && result.suspicions.size > 0; looks += 1) {
    const again = await lookOnce(look);
    const suspicions = new Set<string>();
    for await (const suspicion of withYields(again.suspicions, look.yieldNow))
      if (result.suspicions.has(suspicion)) suspicions.add(suspicion);
    result = { ...again, suspicions };
  }
  return result;
}

async function lookOnce(look: Look): Promise<AccountResult> {
  const { context, accountId, pages, yieldNow } = look;
  // Generations first: what has settled by then has its entries in the account that is read after.
  const generations: Seen[] = [];
  for await (const g of pages((page) => context.generations.list({ of: 'account', accountId }, page, context.call)))
    generations.push(seen(g));
  const usage = [await usageCheck(look, 'uses'), await usageCheck(look, 'traces')];
  const account = await context.accounts.read(accountId, context.call);
  if (!account)
    return {
      entries: 0,
      generations: 0,
      ledger: [`Account ${accountId} is listed but cannot be read.`],
      suspicions: new Set(),
    };

  const replay = new Replay(accountId);
  for await (const entry of entriesOf(look)) {
    if (entry.sequence > account.lastSequence) break;
    replay.add(entry);
    for (const check of usage) await check.add(entry);
  }
  const ledger = [...replay.findings];
  for await (const finding of withYields(replay.compare(account), yieldNow))
    if (finding !== undefined) ledger.push(finding);
  for (const check of usage) ledger.push(...(await check.findings()).slice(0, MAX_FINDINGS));

  const suspicions = new Set<string>();
  const forgotten = oldHolds(context, account);
  for await (const g of withYields(generations, yieldNow)) {
    forgotten.delete(g.generationId);
    for (const suspicion of checkGeneration(g, account, replay)) suspicions.add(suspicion);
  }
  for await (const { generationId, credits } of withYields(forgotten.values(), yieldNow))
    suspicions.add(`Account ${accountId} holds ${creditsText(credits)} for ${generationId}, which is no generation.`);
  return { entries: account.lastSequence, generations: generations.length, ledger, suspicions };
}

function seen({ settledAt, ...g }: Generation): Seen {
  const { generationId, status, estimatedCredits, reservedCredits, chargedCredits } = g;
  const isSettled = settledAt !== undefined;
  return { generationId, status, estimatedCredits, reservedCredits, chargedCredits, isSettled };
}

function entriesOf({ context, accountId, pages }: Look, behind = 0): AsyncGenerator<Entry> {
  const from = behind === 0 ? undefined : String(behind);
  return pages((page) => context.accounts.entries(accountId, page, context.call), from);
}

/** The row of the whole account first: the others have come at least as far. */
async function usageCheck(look: Look, list: UsageList): Promise<UsageCheck> {
  const { context, accountId, pages, yieldNow } = look;
  const [whole] = await context.usage.read([wholeAccount(accountId, list)], context.call);
  const rows = (range: DayRange): AsyncGenerator<UsageRow> =>
    list === 'traces'
      ? pages(tracesOf(context, accountId, range))
      : pages((page) => context.usage.list(accountId, range, page, context.call));
  return new UsageCheck({ accountId, list, whole, rows, entries: (behind) => entriesOf(look, behind), yieldNow });
}

/** Traces are listed from a row onwards, without cursors. */
function tracesOf({ usage, call }: Books, accountId: string, range: DayRange): Read<TraceRow> {
  let after: TraceRow | undefined;
  return async ({ limit }) => {
    const items = await usage.listTraces(accountId, range, { limit, ...(after === undefined ? {} : { after }) }, call);
    after = items.at(-1);
    return { items, ...(items.length < limit ? {} : { nextCursor: 'behind the last one' }) };
  };
}

/**
 * A create may be between its hold and its generation. An older hold is not explained by that, and recovery should have
 * ended it.
 */
function oldHolds({ clock, settings }: Books, { holds }: Account): Map<string, Hold> {
  const oldest = clock.now() - 10 * (settings.claimLeaseMs + settings.recoveryGraceMs);
  return new Map([...holds].filter(([, { heldAt }]) => heldAt < oldest));
}

function checkGeneration(g: Seen, account: Account, replay: Replay): string[] {
  const findings: string[] = [];
  const say = (holds: boolean, what: string) => {
    if (!holds) findings.push(`Generation ${g.generationId} of account ${account.accountId} ${what}.`);
  };
  const money = replay.ofGeneration(g.generationId);
  say(g.estimatedCredits === g.reservedCredits, 'was not reserved at its estimate');
  say(g.chargedCredits >= 0 && g.chargedCredits <= g.reservedCredits, 'is charged outside what was reserved');
  say(
    money.held === g.reservedCredits,
    `holds ${creditsText(money.held)} in the ledger, ${g.reservedCredits} by its own record`,
  );
  if (!isTerminal(g.status)) {
    say(g.chargedCredits === 0, 'is charged before its end');
    say(account.holds.has(g.generationId) || !money.isClosed, 'is open without a hold');
  } else if (g.isSettled) {
    say(!account.holds.has(g.generationId), 'is settled and still held');
    say(
      money.charged === g.chargedCredits,
      `is charged ${creditsText(money.charged)} in the ledger, ${g.chargedCredits} by its own record`,
    );
    say(
      money.charged + money.released === g.reservedCredits,
      'is not charged and released for exactly what was reserved',
    );
  }
  return findings;
}

type Read<T> = (page: PageRequest) => Promise<Page<T>>;
/** Yields the items of all pages of a list, from after a cursor. */
type Pages = <T>(read: Read<T>, from?: string) => AsyncGenerator<T>;

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
   * Compares the sums with the stored account. Yields for each hold, so that the caller can yield to other work: a
   * finding, or undefined where they agree.
   */
  *compare(account: Account): Generator<string | undefined> {
    const finding = (holds: boolean, what: string) => (holds ? undefined : `Account ${this.accountId} ${what}.`);
    yield finding(
      this.sequence === account.lastSequence,
      `has ${this.sequence} entries and counts ${account.lastSequence}`,
    );
    for (const book of BOOKS) {
      yield finding(
        this.books[book] === account[book],
        `has ${creditsText(account[book])} ${book}, and ${this.books[book]} by its entries`,
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
    yield finding(
      held === account.reserved,
      `reserves ${creditsText(account.reserved)}, and its open holds sum to ${held}`,
    );
    for (const { credentialId, period, used } of account.capUses?.values() ?? []) {
      const counted = this.capUses.get(capKey(credentialId, period)) ?? 0;
      yield finding(
        used === counted,
        `counts ${creditsText(used)} of credential ${credentialId} in ${period}, and ${counted} by its entries`,
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
