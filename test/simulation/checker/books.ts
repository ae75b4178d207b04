import type { Account, AccountChange, Book, Entry, EntryKind } from '../../../core/credits/account.js';
import type { Durable } from '../observed.js';
import type { Handlers } from './calls.js';
import { demand } from './demand.js';
import { ValueHistory } from './value-history.js';
import type { EventOrder } from './event-order.js';

const MOVES: Readonly<Record<EntryKind, readonly `${Book} ${Book}`[]>> = {
  grant: ['issued available'],
  adjustment: ['issued available', 'available issued'],
  hold: ['available reserved'],
  charge: ['reserved spent'],
  release: ['reserved available'],
};

/** One account as its entries tell it. What left the issued book is counted there as a positive number. */
interface AccountBooks {
  version: number;
  sequence: number;
  readonly credits: Record<Book, bigint>;
  readonly holds: Map<string, bigint>;
  readonly available: ValueHistory;
  readonly openHolds: ValueHistory;
}

/** The money of one generation. */
export interface GenerationMoney {
  readonly accountId: string;
  readonly held: bigint;
  charged: bigint;
  released: bigint;
  isOpen: boolean;
}

/** Who wants to know what the entries of a change did. */
export interface BooksListener {
  held?(generationId: string, money: GenerationMoney): void;
  closed?(generationId: string, money: GenerationMoney): void;
  operated?(entry: Entry): void;
}

/** Invariants 1, 2, 4 and 5: all accounts, added up from their entries and held against what is stored. */
export class Books {
  private readonly accounts = new Map<string, AccountBooks>();
  private readonly byGeneration = new Map<string, GenerationMoney>();
  private readonly listeners: BooksListener[] = [];

  constructor(private readonly durable: Pick<Durable, 'accounts'>, private readonly order: EventOrder) {}

  readonly handlers: Handlers = {
    'accounts.create': ({ args: [account], result }) => {
      if (result === 'created') this.open(account);
    },
    'accounts.apply': async ({ args: [change], result }) => {
      if (result === 'applied') await this.apply(change);
    },
  };

  listen(listener: BooksListener): void {
    this.listeners.push(listener);
  }

  moneyOf(generationId: string): GenerationMoney | undefined {
    return this.byGeneration.get(generationId);
  }

  availableOf(accountId: string): ValueHistory | undefined {
    return this.accounts.get(accountId)?.available;
  }

  openHoldsOf(accountId: string): ValueHistory | undefined {
    return this.accounts.get(accountId)?.openHolds;
  }

  openCount(accountId: string): number {
    return this.accounts.get(accountId)?.holds.size ?? 0;
  }

  /** Ids of generations whose credits are still reserved. */
  openHolds(): string[] {
    return [...this.accounts.values()].flatMap(({ holds }) => [...holds.keys()]);
  }

  async compareAll(): Promise<void> {
    for (const [accountId, books] of this.accounts) await this.compareStored(accountId, books);
  }

  private open({ accountId, version, issued, available, reserved, spent, lastSequence, holds }: Account): void {
    const isEmpty = version === 0 && issued === 0 && available === 0 && reserved === 0 && spent === 0 && lastSequence === 0 && holds.size === 0;
    demand(isEmpty, 1, () => `account ${accountId} began with something in its books`);
    this.accounts.set(accountId, {
      version: 0, sequence: 0, credits: { issued: 0n, available: 0n, reserved: 0n, spent: 0n }, holds: new Map(),
      available: new ValueHistory(0), openHolds: new ValueHistory(0),
    });
  }

  private async apply(change: AccountChange): Promise<void> {
    const { accountId } = change;
    const books = this.accounts.get(accountId);
    demand(books !== undefined, 1, () => `a change was written to account ${accountId}, which does not exist`);
    const isNext = change.expectedVersion === books.version && change.version === books.version + 1;
    demand(isNext, 1, () => `account ${accountId} went from version ${books.version} to ${change.version}, by a change made for ${change.expectedVersion}`);
    const before = new Set(books.holds.keys());
    const closed = change.entries.map((entry) => this.add(accountId, books, entry)).filter((id) => id !== undefined);
    books.version = change.version;
    this.compareHolds(change, books, before);
    for (const generationId of new Set(closed)) this.conclude(generationId);
    for (const name of ['issued', 'available', 'reserved', 'spent'] as const) {
      demand(isAmount(change[name]) && BigInt(change[name]) === books.credits[name], 1, () => `account ${accountId} says ${change[name]} ${name} at version ${change.version}, and its entries say ${books.credits[name]}`);
    }
    await this.compareStored(accountId, books);
  }

  /** Folds one entry in; answers the generation whose hold it ends, if it does. */
  private add(accountId: string, books: AccountBooks, entry: Entry): string | undefined {
    const name = `entry ${entry.sequence} of account ${accountId} (${entry.kind} of ${entry.credits})`;
    demand(entry.accountId === accountId && entry.sequence === books.sequence + 1, 1, () => `${name} comes after entry ${books.sequence}`);
    demand(isAmount(entry.credits), 2, () => `${name} does not move whole credits`);
    demand(MOVES[entry.kind].includes(`${entry.from} ${entry.to}`), 1, () => `${name} moves from ${entry.from} to ${entry.to}`);
    books.sequence = entry.sequence;
    const { credits } = books;
    const amount = BigInt(entry.credits);
    credits[entry.from] += entry.from === 'issued' ? amount : -amount;
    credits[entry.to] += entry.to === 'issued' ? -amount : amount;
    const isSound = Object.values(credits).every((total) => total >= 0n && total <= BigInt(Number.MAX_SAFE_INTEGER));
    demand(isSound, 2, () => `${name} leaves ${Object.entries(credits).map(([book, total]) => `${book} ${total}`).join(', ')}`);
    demand(credits.issued === credits.available + credits.reserved + credits.spent, 1, () => `the books do not sum to zero after ${name}`);
    demand(isAmount(entry.availableAfter) && BigInt(entry.availableAfter) === credits.available, 1, () => `${name} says ${entry.availableAfter} available after it, and ${credits.available} are`);
    const closes = this.addToGeneration(books, entry, name);
    // A batch is decided entry by entry: a refusal within it may have seen the balance between two of them.
    books.available.set(this.order.position, Number(credits.available));
    books.openHolds.set(this.order.position, books.holds.size);
    return closes;
  }

  private addToGeneration(books: AccountBooks, entry: Entry, name: string): string | undefined {
    const { generationId, kind, accountId } = entry;
    if (kind === 'grant' || kind === 'adjustment') {
      demand(generationId === undefined, 1, () => `${name} is about generation ${generationId}`);
      for (const listener of this.listeners) listener.operated?.(entry);
      return undefined;
    }
    demand(generationId !== undefined && entry.operationId === undefined, 1, () => `${name} is about no generation`);
    const known = this.byGeneration.get(generationId);
    const amount = BigInt(entry.credits);
    if (kind === 'hold') {
      demand(known === undefined, 4, () => `${name} holds for generation ${generationId} a second time`);
      const money = { accountId, held: amount, charged: 0n, released: 0n, isOpen: true };
      this.byGeneration.set(generationId, money);
      books.holds.set(generationId, amount);
      for (const listener of this.listeners) listener.held?.(generationId, money);
      return undefined;
    }
    demand(known?.accountId === accountId, 4, () => `${name} ends a hold of generation ${generationId}, which has none`);
    if (kind === 'charge') {
      demand(amount > 0n && known.charged === 0n, 5, () => `${name} charges generation ${generationId} for the second time`);
      known.charged = amount;
    } else {
      known.released += amount;
    }
    const isWithin = known.charged + known.released <= known.held && (books.holds.delete(generationId) || known.isOpen);
    demand(isWithin, 4, () => `${name} ends the hold of generation ${generationId} again, or by more than the ${known.held} it was`);
    return generationId;
  }

  /** A hold that ends, ends whole and within one change. */
  private conclude(generationId: string): void {
    const money = this.byGeneration.get(generationId);
    if (!money) return;
    demand(money.charged + money.released === money.held, 4, () => `generation ${generationId} is charged ${money.charged} and released ${money.released} of ${money.held}`);
    demand(money.isOpen, 4, () => `the hold of generation ${generationId} is ended a second time`);
    money.isOpen = false;
    for (const listener of this.listeners) listener.closed?.(generationId, money);
  }

  private compareHolds({ accountId, holdsOpened, holdsClosed }: AccountChange, books: AccountBooks, before: ReadonlySet<string>): void {
    const expected = new Set(before);
    for (const generationId of holdsClosed) expected.delete(generationId);
    for (const hold of holdsOpened) {
      expected.add(hold.generationId);
      demand(books.holds.get(hold.generationId) === BigInt(hold.credits), 4, () => `account ${accountId} opens a hold of ${hold.credits} for generation ${hold.generationId}, and its entries do not`);
    }
    const isSame = expected.size === books.holds.size && [...expected].every((generationId) => books.holds.has(generationId));
    demand(isSame, 4, () => `account ${accountId} has holds for ${[...expected].join(', ')}; by its entries for ${[...books.holds.keys()].join(', ')}`);
  }

  private async compareStored(accountId: string, { version, sequence, credits, holds }: AccountBooks): Promise<void> {
    const stored = await this.durable.accounts.read(accountId);
    demand(stored !== null, 1, () => `account ${accountId} is gone`);
    const isSame = stored.version === version && stored.lastSequence === sequence
      && (['issued', 'available', 'reserved', 'spent'] as const).every((book) => BigInt(stored[book]) === credits[book]);
    demand(isSame, 1, () => `account ${accountId} is stored as version ${stored.version}, ${stored.issued} issued, ${stored.available} available, ${stored.reserved} reserved, ${stored.spent} spent; by its entries it is version ${version}, ${credits.issued}, ${credits.available}, ${credits.reserved}, ${credits.spent}`);
    demand(stored.holds.size === holds.size, 4, () => `account ${accountId} is stored with ${stored.holds.size} holds; by its entries it has ${holds.size}`);
    for (const hold of stored.holds.values()) {
      demand(holds.get(hold.generationId) === BigInt(hold.credits), 4, () => `account ${accountId} is stored with a hold of ${hold.credits} for generation ${hold.generationId}; its entries say ${holds.get(hold.generationId)}`);
    }
  }
}

function isAmount(value: number): boolean {
  return Number.isSafeInteger(value) && value >= 0;
}
