import { assert } from '../assert.js';
import type { Account, AccountChange, Book, Entry, Hold } from './account.js';
import { entryOf, type AccountCommand, type Move } from './decide.js';

/**
 * A batch of decisions folded onto one version of an account, and written as one change. The draft is the account as
 * the next decision of the batch should see it.
 */
export class AccountDraft {
  private readonly base: Account;
  private readonly holds: Map<string, Hold>;
  private readonly opened = new Map<string, Hold>();
  private readonly closed = new Set<string>();
  private readonly entries: Entry[] = [];
  private readonly books: Record<Book, number>;

  constructor(base: Account) {
    this.base = base;
    this.holds = new Map(base.holds);
    this.books = { issued: base.issued, available: base.available, reserved: base.reserved, spent: base.spent };
  }

  get account(): Account {
    return { ...this.base, ...this.books, lastSequence: this.base.lastSequence + this.entries.length, holds: this.holds };
  }

  get isEmpty(): boolean {
    return this.entries.length === 0;
  }

  add(command: AccountCommand, decision: { readonly moves: readonly Move[]; readonly opens?: Hold; readonly closes?: string }, now: number): void {
    for (const move of decision.moves) this.record(move, command, now);
    if (decision.opens) {
      this.holds.set(decision.opens.generationId, decision.opens);
      this.opened.set(decision.opens.generationId, decision.opens);
    }
    if (decision.closes !== undefined) {
      this.holds.delete(decision.closes);
      if (!this.opened.delete(decision.closes)) this.closed.add(decision.closes);
    }
    assertSound(this.books);
  }

  /** The one write, and the account it leads to. */
  finish(): { readonly change: AccountChange; readonly next: Account } {
    const next = { ...this.account, version: this.base.version + 1 };
    const change: AccountChange = {
      accountId: next.accountId,
      expectedVersion: this.base.version,
      version: next.version,
      ...this.books,
      lastSequence: next.lastSequence,
      holdsOpened: [...this.opened.values()],
      holdsClosed: [...this.closed],
      entries: this.entries,
    };
    return { change, next };
  }

  private record(move: Move, command: AccountCommand, now: number): void {
    // The issued book counts what was ever given out, so it grows when credits leave it for the available book.
    this.books[move.from] += move.from === 'issued' ? move.credits : -move.credits;
    this.books[move.to] += move.to === 'issued' ? -move.credits : move.credits;
    this.entries.push(entryOf(move, command, {
      accountId: this.base.accountId,
      sequence: this.base.lastSequence + this.entries.length + 1,
      at: now,
      availableAfter: this.books.available,
    }));
  }
}

function assertSound(books: Record<Book, number>): void {
  for (const credits of Object.values(books)) assert(Number.isSafeInteger(credits) && credits >= 0, 'a book holds whole credits, not below zero');
  assert(books.issued === books.available + books.reserved + books.spent, 'issued = available + reserved + spent');
}
