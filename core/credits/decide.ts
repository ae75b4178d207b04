import { assert } from '../assert.js';
import {
  type Account,
  type AccountChange,
  type AccountProfile,
  type Attribution,
  type Book,
  type Cap,
  type CapUse,
  type Entry,
  type EntryKind,
  FAILED,
  type Hold,
  isPast,
  MAX_CAP_USES,
  periodOf,
  usedIn,
} from './account.js';

export type AccountCommand =
  | { readonly kind: 'grant'; readonly operationId: string; readonly credits: number; readonly reason: string }
  /** `credits` may be negative: then it takes from the available book, never below zero. */
  | { readonly kind: 'adjust'; readonly operationId: string; readonly credits: number; readonly reason: string }
  | {
      readonly kind: 'hold';
      readonly generationId: string;
      readonly credits: number;
      readonly maxOpenHolds: number;
      readonly attribution: Omit<Attribution, 'capPeriod'>;
      /** Cap of the credential in `attribution`; absent for a credential without one. */
      readonly cap?: Cap;
    }
  /**
   * Ends the hold: `charge` is spent, the rest is available again. `failed`: the generation failed, and usage counts
   * that.
   */
  | {
      readonly kind: 'settle';
      readonly generationId: string;
      readonly charge: number;
      readonly failed?: boolean;
    }
  /**
   * No hold opens until the account is resumed. Existing holds end as usual, and credits can be granted and corrected.
   */
  | { readonly kind: 'suspend' }
  | { readonly kind: 'resume' }
  | { readonly kind: 'rename'; readonly name: string }
  /** The account loses its name and is suspended for good. `name` takes the place of the name. */
  | { readonly kind: 'erase'; readonly name: string };

export type HoldCommand = Extract<AccountCommand, { kind: 'hold' }>;

/** An operator's command, which has its own id: given twice, it takes effect once. */
export type OperatorCommand = Extract<AccountCommand, { operationId: string }>;

/** The operation done under an operation id. */
export type DoneOperation = Pick<OperatorCommand, 'kind' | 'credits'>;

/** `OPERATION_DIFFERS`: the operation id was used before, for something else. `ACCOUNT_ERASED`: it cannot be used again. */
export type AccountRefusal =
  | 'ACCOUNT_SUSPENDED'
  | 'ACCOUNT_ERASED'
  | 'CREDITS_INSUFFICIENT'
  | 'CAP_REACHED'
  | 'QUEUE_FULL'
  | 'AMOUNT_INVALID'
  | 'OPERATION_DIFFERS';

/**
 * One side of a move: what it adds to a book, below zero for what it takes. Given out credits are below zero in the
 * issued book.
 */
export interface Posting {
  readonly book: Book;
  readonly credits: number;
}

/** Credits that move between two books. The postings add up to zero. */
export interface Move {
  readonly kind: EntryKind;
  readonly postings: readonly [from: Posting, to: Posting];
  readonly attribution?: Attribution;
  /** Set on the move that ends the hold of a failed generation. */
  readonly reason?: typeof FAILED;
}

/** The input of a decision. */
export interface AccountView extends Pick<Account, 'issued' | 'available' | 'name'> {
  readonly suspendedAt?: number | undefined;
  readonly erasedAt?: number | undefined;
  readonly holds: Pick<Account['holds'], 'get' | 'size'>;
  readonly capUses: Pick<ReadonlyMap<string, CapUse>, 'get' | 'size' | 'values'>;
  /** Operations already done under the ids of the commands to be decided. */
  readonly operations: Pick<ReadonlyMap<string, DoneOperation>, 'get'>;
}

export type AccountDecision =
  | { readonly refused: AccountRefusal }
  /** It was done before; nothing is left to do. */
  | { readonly done: true }
  | {
      readonly moves: readonly Move[];
      readonly opens?: Hold;
      readonly closes?: string;
      readonly capUse?: CapUse;
      readonly dropsCapUses?: readonly string[];
      readonly profile?: AccountProfile;
    };

/**
 * Decides one command on one state of an account. Pure: the caller applies the moves onto exactly this state. A
 * repeated operation is recognised by its id, a repeated hold or settle by the presence of the hold, so that a caller
 * who is unsure may ask again.
 */
export function decideAccount(account: AccountView, command: AccountCommand, now: number): AccountDecision {
  switch (command.kind) {
    case 'grant':
    case 'adjust':
      return operate(account, command);
    case 'hold':
      return decideHold(account, command, now);
    case 'settle':
      return settle(account, command);
    case 'erase':
      if (account.erasedAt !== undefined) return { done: true };
      return { moves: [], profile: { name: command.name, suspendedAt: account.suspendedAt ?? now, erasedAt: now } };
    case 'suspend':
      if (account.suspendedAt !== undefined) return { done: true };
      return { moves: [], profile: { name: account.name, suspendedAt: now } };
    case 'resume':
      if (account.erasedAt !== undefined) return { refused: 'ACCOUNT_ERASED' };
      return account.suspendedAt === undefined ? { done: true } : { moves: [], profile: { name: account.name } };
    case 'rename': {
      if (account.erasedAt !== undefined) return { refused: 'ACCOUNT_ERASED' };
      const { suspendedAt, name } = account;
      if (name === command.name) return { done: true };
      return { moves: [], profile: { ...(suspendedAt === undefined ? {} : { suspendedAt }), name: command.name } };
    }
  }
}

function operate(account: AccountView, command: OperatorCommand): AccountDecision {
  const { kind, credits, operationId } = command;
  if (account.erasedAt !== undefined) return { refused: 'ACCOUNT_ERASED' };
  const before = account.operations.get(operationId);
  if (before)
    return before.kind === kind && before.credits === credits ? { done: true } : { refused: 'OPERATION_DIFFERS' };
  if (!Number.isSafeInteger(credits) || credits === 0) return { refused: 'AMOUNT_INVALID' };
  if (credits < 0 && kind === 'grant') return { refused: 'AMOUNT_INVALID' };
  if (!Number.isSafeInteger(account.issued + credits)) return { refused: 'AMOUNT_INVALID' };
  if (account.available + credits < 0) return { refused: 'CREDITS_INSUFFICIENT' };
  const entryKind = kind === 'grant' ? 'grant' : 'adjustment';
  return {
    moves: [
      credits > 0
        ? moveOf(entryKind, 'issued', 'available', credits)
        : moveOf(entryKind, 'available', 'issued', -credits),
    ],
  };
}

function decideHold(account: AccountView, command: HoldCommand, now: number): AccountDecision {
  const { generationId, credits, attribution } = command;
  if (!Number.isSafeInteger(credits) || credits < 0) return { refused: 'AMOUNT_INVALID' };
  const open = account.holds.get(generationId);
  if (open) {
    assert(open.credits === credits, `generation ${generationId} is held with another amount`);
    return { done: true };
  }
  if (account.suspendedAt !== undefined) return { refused: 'ACCOUNT_SUSPENDED' };
  if (account.available < credits) return { refused: 'CREDITS_INSUFFICIENT' };
  const counted = countHold(account, command, now);
  if (counted === 'over') return { refused: 'CAP_REACHED' };
  if (account.holds.size >= command.maxOpenHolds) return { refused: 'QUEUE_FULL' };
  const by = counted === undefined ? attribution : { ...attribution, capPeriod: counted.capUse.period };
  return {
    moves: [moveOf('hold', 'available', 'reserved', credits, by)],
    opens: { generationId, credits, heldAt: now, attribution: by },
    ...counted,
  };
}

type Counted = Pick<Extract<AccountDecision, { moves: unknown }>, 'dropsCapUses'> & { readonly capUse: CapUse };

/** Adds the hold to its credential's usage. Returns `over` if the cap does not allow it. */
function countHold(
  { capUses }: AccountView,
  { credits, cap, attribution: { credentialId } }: HoldCommand,
  now: number,
): Counted | 'over' | undefined {
  if (cap === undefined) return undefined;
  const stored = capUses.get(credentialId);
  const period = periodOf(cap, stored, now);
  const used = usedIn(period, stored) + credits;
  if (!(used <= cap.credits)) return 'over';
  const capUse = { credentialId, period, used };
  if (stored !== undefined || capUses.size < MAX_CAP_USES) return { capUse };
  const dropsCapUses = [...capUses.values()].filter((use) => isPast(use, now)).map((use) => use.credentialId);
  return dropsCapUses.length === 0 ? 'over' : { capUse, dropsCapUses };
}

/** Returns the rest of an ended hold to its credential's usage, if the period it counted towards is still stored. */
function countRelease({ capUses }: AccountView, { attribution }: Hold, rest: number): { readonly capUse?: CapUse } {
  if (attribution?.capPeriod === undefined || rest === 0) return {};
  const stored = capUses.get(attribution.credentialId);
  if (stored?.period !== attribution.capPeriod) return {};
  return { capUse: { ...stored, used: Math.max(0, stored.used - rest) } };
}

function settle(account: AccountView, command: Extract<AccountCommand, { kind: 'settle' }>): AccountDecision {
  const open = account.holds.get(command.generationId);
  if (!open) return { done: true };
  const { charge } = command;
  assert(
    Number.isSafeInteger(charge) && charge >= 0 && charge <= open.credits,
    `charge of generation ${command.generationId} lies within its hold`,
  );
  const rest = open.credits - charge;
  const moves: Move[] = [];
  if (charge > 0) moves.push(moveOf('charge', 'reserved', 'spent', charge, open.attribution));
  if (rest > 0 || charge === 0) moves.push(moveOf('release', 'reserved', 'available', rest, open.attribution));
  const last = moves.pop();
  if (last !== undefined) moves.push(command.failed === true ? { ...last, reason: FAILED } : last);
  return { moves, closes: open.generationId, ...countRelease(account, open, rest) };
}

/** The postings of a move add up to zero. */
function moveOf(kind: EntryKind, from: Book, to: Book, credits: number, attribution?: Attribution): Move {
  assert(Number.isSafeInteger(credits) && credits >= 0 && from !== to, 'a move takes whole credits to another book');
  return {
    kind,
    postings: [
      { book: from, credits: 0 - credits },
      { book: to, credits },
    ],
    ...(attribution === undefined ? {} : { attribution }),
  };
}

type Mutable<T> = { -readonly [K in keyof T]: T[K] };

/** The operation that an entry records. */
export function operationOf({ kind, from, credits }: Entry): DoneOperation {
  return { kind: kind === 'grant' ? 'grant' : 'adjust', credits: from === 'issued' ? credits : -credits };
}

/** An account whose maps belong to its owner, who may change them in place once a change is written. */
export type OwnedAccount = Account & { readonly holds: Map<string, Hold>; readonly capUses?: Map<string, CapUse> };

/**
 * A batch of decisions folded onto one version of an account, and written as one change. The draft looks like the
 * account as the next decision of the batch should see it; an account with many holds is not copied for that.
 */
export class AccountDraft implements AccountView {
  /** The open holds and the use of caps as the next decision sees them. */
  readonly holds: Overlay<Hold>;
  readonly capUses: Overlay<CapUse>;
  private readonly entries: Entry[] = [];
  private readonly books: Record<Book, number>;
  /** The profile after the batch's commands; absent if none changed it. */
  private profile: AccountProfile | undefined;

  /** `operations`: what was done before under the ids of this batch's operations. */
  constructor(
    private readonly base: OwnedAccount,
    readonly operations: Map<string, DoneOperation> = new Map(),
  ) {
    this.holds = new Overlay(base.holds);
    this.capUses = new Overlay(base.capUses ?? NONE);
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

  get erasedAt(): number | undefined {
    return (this.profile ?? this.base).erasedAt;
  }

  get isEmpty(): boolean {
    return this.entries.length === 0 && this.profile === undefined;
  }

  add(command: AccountCommand, decision: Extract<AccountDecision, { moves: unknown }>, now: number): void {
    for (const move of decision.moves) this.record(move, command, now);
    if ('operationId' in command) this.operations.set(command.operationId, command);
    if (decision.opens) this.holds.set(decision.opens.generationId, decision.opens);
    if (decision.closes !== undefined) this.holds.set(decision.closes, undefined);
    for (const credentialId of decision.dropsCapUses ?? []) this.capUses.set(credentialId, undefined);
    if (decision.capUse) this.capUses.set(decision.capUse.credentialId, decision.capUse);
    if (decision.profile) this.profile = decision.profile;
    const { issued, available, reserved, spent } = this.books;
    for (const credits of [issued, available, reserved, spent])
      assert(Number.isSafeInteger(credits) && credits >= 0, 'a book holds whole credits, not below zero');
    assert(issued === available + reserved + spent, 'issued = available + reserved + spent');
  }

  /** The one write. */
  change(): AccountChange {
    const { base, holds, capUses, profile } = this;
    return {
      accountId: base.accountId,
      expectedVersion: base.version,
      version: base.version + 1,
      ...this.books,
      lastSequence: this.lastSequence,
      holdsOpened: [...holds.changes.values()].filter((hold) => hold !== undefined),
      // A hold of the base changes only by being closed, also where it is opened again.
      holdsClosed: [...holds.changes.keys()].filter((generationId) => base.holds.has(generationId)),
      entries: this.entries,
      ...(capUses.changes.size === 0 ? {} : this.usesChanged()),
      ...(profile === undefined ? {} : { profile }),
    };
  }

  private get lastSequence(): number {
    return this.base.lastSequence + this.entries.length;
  }

  private usesChanged(): Pick<AccountChange, 'capUses' | 'capUsesDropped'> {
    const { changes } = this.capUses;
    const dropped = [...changes].filter(([id, use]) => use === undefined && this.base.capUses?.has(id));
    return {
      capUses: [...changes.values()].filter((use) => use !== undefined),
      ...(dropped.length === 0 ? {} : { capUsesDropped: dropped.map(([credentialId]) => credentialId) }),
    };
  }

  /** The account once the change is written. Takes ownership of the base, which must not be used afterwards. */
  written(): OwnedAccount {
    this.holds.applyTo(this.base.holds);
    const { suspendedAt, erasedAt, ...base } = this.base;
    const version = base.version + 1;
    const written = this.profile ?? {
      ...(suspendedAt === undefined ? {} : { suspendedAt }),
      ...(erasedAt === undefined ? {} : { erasedAt }),
    };
    const after = { ...base, ...written, ...this.books, version, lastSequence: this.lastSequence };
    if (this.capUses.changes.size === 0) return after;
    const capUses = base.capUses ?? new Map<string, CapUse>();
    this.capUses.applyTo(capUses);
    return { ...after, capUses };
  }

  /**
   * Adds a move as the ledger records it: unsigned, from one book to the other. Written without spreads: two of them cost
   * as much as the rest of a decision, and every generation has three entries.
   */
  private record({ kind, postings, attribution, reason }: Move, command: AccountCommand, now: number): void {
    // The total of issued credits counts what was given out, so it grows when credits leave that book.
    for (const { book, credits } of postings) this.books[book] += book === 'issued' ? -credits : credits;
    const [from, to] = postings;
    const entry: Mutable<Entry> = {
      accountId: this.base.accountId,
      sequence: this.lastSequence + 1,
      kind,
      from: from.book,
      to: to.book,
      credits: to.credits,
      at: now,
      availableAfter: this.books.available,
    };
    if (attribution !== undefined) entry.attribution = attribution;
    if ('generationId' in command) {
      entry.generationId = command.generationId;
      if (reason !== undefined) entry.reason = reason;
    } else {
      assert('operationId' in command, 'only commands that move credits have entries');
      entry.operationId = command.operationId;
      entry.reason = command.reason;
    }
    this.entries.push(entry);
  }
}

const NONE: ReadonlyMap<string, CapUse> = new Map();

/**
 * A map as it will be once the changes of a batch are written to it. The map may have thousands of entries, so it is
 * not copied.
 */
class Overlay<V> implements Pick<ReadonlyMap<string, V>, 'get' | 'size' | 'values'> {
  /** Undefined marks what is removed. */
  readonly changes = new Map<string, V | undefined>();
  size: number;

  constructor(private readonly base: ReadonlyMap<string, V>) {
    this.size = base.size;
  }

  get(key: string): V | undefined {
    return this.changes.has(key) ? this.changes.get(key) : this.base.get(key);
  }

  set(key: string, value: V | undefined): void {
    this.size += Number(value !== undefined) - Number(this.get(key) !== undefined);
    this.changes.set(key, value);
  }

  *values(): MapIterator<V> {
    for (const [key, value] of this.base) if (!this.changes.has(key)) yield value;
    for (const value of this.changes.values()) if (value !== undefined) yield value;
  }

  applyTo(map: Map<string, V>): void {
    for (const [key, value] of this.changes) {
      if (value === undefined) map.delete(key);
      else map.set(key, value);
    }
  }
}
