import { assert } from '../assert.js';
import type { Account, AccountChange, AccountProfile, Book, Entry, Hold } from './account.js';
import {
  entryOf,
  type AccountCommand,
  type AccountDecision,
  type AccountView,
  type DoneOperation,
  type Move,
} from './decide.js';

/** An account whose holds belong to its owner, who may change them in place once a change is written. */
export type OwnedAccount = Account & { readonly holds: Map<string, Hold> };

/**
 * A batch of decisions folded onto one version of an account, and written as one change. The draft looks like the
 * account as the next decision of the batch should see it; an account with many holds is not copied for that.
 */
export class AccountDraft implements AccountView {
  private readonly base: OwnedAccount;
  private readonly opened = new Map<string, Hold>();
  private readonly closed = new Set<string>();
  private readonly entries: Entry[] = [];
  private readonly books: Record<Book, number>;
  /** What commands of this batch made of the profile; absent when none changed it. */
  private profile: AccountProfile | undefined;

  /** What the next decision sees of the holds. */
  readonly holds: AccountView['holds'];

  /** `operations`: what was done before under the ids of this batch's operations. */
  constructor(
    base: OwnedAccount,
    readonly operations: Map<string, DoneOperation> = new Map(),
  ) {
    this.base = base;
    this.holds = new HoldsView(base.holds, this.opened, this.closed);
    this.books = { issued: base.issued, available: base.available, reserved: base.reserved, spent: base.spent };
  }

  get issued(): number {
    return this.books.issued;
  }

  get available(): number {
    return this.books.available;
  }

  get name(): string {
    return (this.profile ?? this.base).name;
  }

  get suspendedAt(): number | undefined {
    return (this.profile ?? this.base).suspendedAt;
  }

  get isEmpty(): boolean {
    return this.entries.length === 0 && this.profile === undefined;
  }

  add(command: AccountCommand, decision: Extract<AccountDecision, { moves: unknown }>, now: number): void {
    for (const move of decision.moves) this.record(move, command, now);
    if ('operationId' in command) this.operations.set(command.operationId, command);
    if (decision.opens) this.opened.set(decision.opens.generationId, decision.opens);
    if (decision.closes !== undefined && !this.opened.delete(decision.closes)) this.closed.add(decision.closes);
    if (decision.profile) this.profile = decision.profile;
    assertSound(this.books);
  }

  /** The one write. */
  change(): AccountChange {
    return {
      accountId: this.base.accountId,
      expectedVersion: this.base.version,
      version: this.base.version + 1,
      ...this.books,
      lastSequence: this.base.lastSequence + this.entries.length,
      holdsOpened: [...this.opened.values()],
      holdsClosed: [...this.closed],
      entries: this.entries,
      ...(this.profile === undefined ? {} : { profile: this.profile }),
    };
  }

  /** The account once the change is written. Takes ownership of the base, which must not be used afterwards. */
  written(): OwnedAccount {
    const { version, lastSequence } = this.change();
    for (const generationId of this.closed) this.base.holds.delete(generationId);
    for (const hold of this.opened.values()) this.base.holds.set(hold.generationId, hold);
    const { suspendedAt, ...base } = this.base;
    const profile = this.profile ?? (suspendedAt === undefined ? {} : { suspendedAt });
    return { ...base, ...profile, ...this.books, version, lastSequence };
  }

  private record(move: Move, command: AccountCommand, now: number): void {
    // The total of issued credits counts what was given out, so it grows when credits leave that book.
    for (const { book, credits } of move.postings) this.books[book] += book === 'issued' ? -credits : credits;
    this.entries.push(
      entryOf(move, command, {
        accountId: this.base.accountId,
        sequence: this.base.lastSequence + this.entries.length + 1,
        at: now,
        availableAfter: this.books.available,
      }),
    );
  }
}

/** The holds of the base with what the draft opened and closed; nothing is open in both. */
class HoldsView implements Pick<ReadonlyMap<string, Hold>, 'get' | 'size'> {
  constructor(
    private readonly base: ReadonlyMap<string, Hold>,
    private readonly opened: ReadonlyMap<string, Hold>,
    private readonly closed: ReadonlySet<string>,
  ) {}

  get size(): number {
    return this.base.size + this.opened.size - this.closed.size;
  }

  get(generationId: string): Hold | undefined {
    return this.opened.get(generationId) ?? (this.closed.has(generationId) ? undefined : this.base.get(generationId));
  }
}

function assertSound(books: Record<Book, number>): void {
  for (const credits of Object.values(books))
    assert(Number.isSafeInteger(credits) && credits >= 0, 'a book holds whole credits, not below zero');
  assert(books.issued === books.available + books.reserved + books.spent, 'issued = available + reserved + spent');
}
