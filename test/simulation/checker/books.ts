import type { Account, AccountChange, Entry } from '../../../core/credits/account.js';
import type { JsonObject } from '../../../core/json.js';
import { AccountLedger, checkAttribution, type GenerationMoney } from '../../history/ledger.js';
import { checkEndedHold } from '../../history/prices.js';
import { type Durable, violation } from '../observed.js';
import type { Handlers } from './calls.js';
import { demandNone, type EventOrder, ValueHistory } from './event-order.js';

/** One account: its ledger, and the available and held credits over the course of the run. */
interface AccountBooks {
  version: number;
  readonly ledger: AccountLedger;
  readonly available: ValueHistory;
  readonly openHolds: ValueHistory;
}

/** Receives the effects of a change's entries. */
export interface BooksListener {
  held?(entry: Entry & { readonly generationId: string }, money: GenerationMoney): void;
  closed?(generationId: string, money: GenerationMoney): void;
  operated?(entry: Entry): void;
  /** Receives every entry, once it counts in the books. */
  entered?(entry: Entry, at: number): void;
  /** Receives a change, and the account as it is stored with it. */
  applied?(change: AccountChange, stored: Account): void;
}

/**
 * Invariants 1, 2, 4 and 5: all accounts, summed from their entries and compared with the stored totals and holds after
 * each change.
 */
export class Books {
  private readonly accounts = new Map<string, AccountBooks>();
  private readonly byGeneration = new Map<string, GenerationMoney>();
  /** The attribution of each generation's hold. */
  private readonly attributions = new Map<string, JsonObject>();
  /** Generations whose hold an earlier change ended. */
  private readonly concluded = new Set<string>();
  private readonly listeners: BooksListener[] = [];

  constructor(
    private readonly durable: Pick<Durable, 'accounts'>,
    private readonly order: EventOrder,
  ) {}

  readonly handlers: Handlers = {
    'accounts.create': ({ args: [account], result }) => {
      if (result === 'created') this.open(account);
    },
    'accounts.apply': async ({ args: [change], result, at }) => {
      if (result === 'applied') await this.apply(change, at);
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
    return this.accounts.get(accountId)?.ledger.holds.size ?? 0;
  }

  /** Ids of generations whose credits are still reserved. */
  openHolds(): string[] {
    return [...this.accounts.values()].flatMap(({ ledger }) => [...ledger.holds.keys()]);
  }

  async compareAll(): Promise<void> {
    for (const [accountId, books] of this.accounts) await this.compareStored(accountId, books);
  }

  private open({ accountId, version, issued, available, reserved, spent, lastSequence, holds }: Account): void {
    if ([version, issued, available, reserved, spent, lastSequence, holds.size].some((count) => count !== 0))
      throw violation`1: account ${accountId} began with something in its books`;
    this.accounts.set(accountId, {
      version: 0,
      ledger: new AccountLedger(accountId, this.byGeneration),
      available: new ValueHistory(0),
      openHolds: new ValueHistory(0),
    });
  }

  private async apply(change: AccountChange, at: number): Promise<void> {
    const { accountId } = change;
    const books = this.accounts.get(accountId);
    if (books === undefined) throw violation`1: a change was written to account ${accountId}, which does not exist`;
    if (change.expectedVersion !== books.version || change.version !== books.version + 1)
      throw violation`1: account ${accountId} went from version ${books.version} to ${change.version}, by a change made for ${change.expectedVersion}`;
    const closed = change.entries.map((entry) => this.add(books, entry, at)).filter((id) => id !== undefined);
    books.version = change.version;
    for (const generationId of new Set(closed)) this.conclude(generationId);
    const stored = await this.compareStored(accountId, books);
    for (const listener of this.listeners) listener.applied?.(change, stored);
  }

  /** Adds an entry; returns the generation whose hold it ends, if any. */
  private add(books: AccountBooks, entry: Entry, at: number): string | undefined {
    demandNone(books.ledger.add(entry));
    const closes = this.announce(entry);
    for (const listener of this.listeners) listener.entered?.(entry, at);
    // A batch is decided entry by entry: a refusal within it may have seen the balance between two of them.
    books.available.set(this.order.position, Number(books.ledger.credits.available));
    books.openHolds.set(this.order.position, books.ledger.holds.size);
    return closes;
  }

  private announce(entry: Entry): string | undefined {
    const { generationId, kind } = entry;
    if (generationId === undefined) {
      for (const listener of this.listeners) listener.operated?.(entry);
      return undefined;
    }
    if (kind !== 'hold') {
      demandNone(checkAttribution(nameOf(entry), entry.attribution, [this.attributions.get(generationId) ?? {}]));
      return generationId;
    }
    this.attributions.set(generationId, named(entry));
    const money = this.byGeneration.get(generationId);
    if (money) for (const listener of this.listeners) listener.held?.({ ...entry, generationId }, money);
    return undefined;
  }

  /** A hold ends completely and within one change. */
  private conclude(generationId: string): void {
    const money = this.byGeneration.get(generationId);
    if (!money) return;
    demandNone(checkEndedHold(generationId, money));
    if (this.concluded.has(generationId))
      throw violation`4: the hold of generation ${generationId} is ended a second time`;
    this.concluded.add(generationId);
    for (const listener of this.listeners) listener.closed?.(generationId, money);
  }

  private async compareStored(accountId: string, { version, ledger }: AccountBooks): Promise<Account> {
    const stored = await this.durable.accounts.read(accountId);
    if (stored === null) throw violation`1: account ${accountId} is gone`;
    if (stored.version !== version)
      throw violation`1: account ${accountId} was written as version ${version}, and is stored as ${stored.version}`;
    demandNone(ledger.check(stored));
    return stored;
  }
}

function nameOf({ sequence, accountId, kind }: Entry): string {
  return `entry ${sequence} of account ${accountId} (${kind})`;
}

/** The attribution of an entry's credits, without the period of a cap. */
function named({ attribution }: Entry): JsonObject {
  const { capPeriod: _period, ...request } = attribution ?? {};
  return request;
}
