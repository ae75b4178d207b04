import { assert } from '../assert.js';
import type { CapUse } from './cap.js';
import type { Account, AccountChange, AccountProfile, Book, Entry, Hold } from './account.js';
import {
  entryOf,
  type AccountCommand,
  type AccountDecision,
  type AccountView,
  type DoneOperation,
  type Move,
} from './decide.js';

/** An account whose maps belong to its owner, who may change them in place once a change is written. */
export type OwnedAccount = Account & { readonly holds: Map<string, Hold>; readonly capUses?: Map<string, CapUse> };

/**
 * A batch of decisions folded onto one version of an account, and written as one change. The draft looks like the
 * account as the next decision of the batch should see it; an account with many holds is not copied for that.
 */
export class AccountDraft implements AccountView {
  private readonly base: OwnedAccount;
  private readonly opened = new Map<string, Hold>();
  private readonly closed = new Set<string>();
  private readonly entries: Entry[] = [];
  /** What the batch changed of the use of caps; undefined is dropped. */
  private readonly changedUses = new Map<string, CapUse | undefined>();
  private readonly books: Record<Book, number>;
  /** What commands of this batch made of the profile; absent when none changed it. */
  private profile: AccountProfile | undefined;

  /** What the next decision sees of the holds. */
  readonly holds: AccountView['holds'];
  readonly capUses: AccountView['capUses'];

  /** `operations`: what was done before under the ids of this batch's operations. */
  constructor(
    base: OwnedAccount,
    readonly operations: Map<string, DoneOperation> = new Map(),
  ) {
    this.base = base;
    this.holds = new HoldsView(base.holds, this.opened, this.closed);
    this.capUses = new CapUsesView(base.capUses ?? NONE, this.changedUses);
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
    for (const credentialId of decision.dropsCapUses ?? []) this.changedUses.set(credentialId, undefined);
    if (decision.capUse) this.changedUses.set(decision.capUse.credentialId, decision.capUse);
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
      ...this.usesChanged(),
      ...(this.profile === undefined ? {} : { profile: this.profile }),
    };
  }

  private usesChanged(): Pick<AccountChange, 'capUses' | 'capUsesDropped'> {
    if (this.changedUses.size === 0) return {};
    const dropped = [...this.changedUses].filter(([id, use]) => use === undefined && this.base.capUses?.has(id));
    return {
      capUses: [...this.changedUses.values()].filter((use) => use !== undefined),
      ...(dropped.length === 0 ? {} : { capUsesDropped: dropped.map(([credentialId]) => credentialId) }),
    };
  }

  /** The account once the change is written. Takes ownership of the base, which must not be used afterwards. */
  written(): OwnedAccount {
    const { version, lastSequence } = this.change();
    for (const generationId of this.closed) this.base.holds.delete(generationId);
    for (const hold of this.opened.values()) this.base.holds.set(hold.generationId, hold);
    const { suspendedAt, ...base } = this.base;
    const profile = this.profile ?? (suspendedAt === undefined ? {} : { suspendedAt });
    return { ...base, ...profile, ...this.books, version, lastSequence, ...this.usesWritten() };
  }

  private usesWritten(): Pick<OwnedAccount, 'capUses'> {
    if (this.changedUses.size === 0) return {};
    const capUses = this.base.capUses ?? new Map<string, CapUse>();
    for (const [credentialId, use] of this.changedUses) {
      if (use === undefined) capUses.delete(credentialId);
      else capUses.set(credentialId, use);
    }
    return { capUses };
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

const NONE: ReadonlyMap<string, CapUse> = new Map();

/** The use of caps in the base, with what the draft changed. */
class CapUsesView implements Pick<ReadonlyMap<string, CapUse>, 'get' | 'size' | 'values'> {
  constructor(
    private readonly base: ReadonlyMap<string, CapUse>,
    private readonly changed: ReadonlyMap<string, CapUse | undefined>,
  ) {}

  get size(): number {
    let size = this.base.size;
    for (const [id, use] of this.changed) size += Number(use !== undefined) - Number(this.base.has(id));
    return size;
  }

  get(credentialId: string): CapUse | undefined {
    return this.changed.has(credentialId) ? this.changed.get(credentialId) : this.base.get(credentialId);
  }

  *values(): MapIterator<CapUse> {
    for (const [id, use] of this.base) if (!this.changed.has(id)) yield use;
    for (const use of this.changed.values()) if (use !== undefined) yield use;
  }
}

function assertSound(books: Record<Book, number>): void {
  for (const credits of Object.values(books))
    assert(Number.isSafeInteger(credits) && credits >= 0, 'a book holds whole credits, not below zero');
  assert(books.issued === books.available + books.reserved + books.spent, 'issued = available + reserved + spent');
}
