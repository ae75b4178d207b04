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
  | { readonly kind: 'rename'; readonly name: string };

export type HoldCommand = Extract<AccountCommand, { kind: 'hold' }>;

/** An operator's command, which has its own id: given twice, it takes effect once. */
export type OperatorCommand = Extract<AccountCommand, { operationId: string }>;

/** The operation done under an operation id. */
export type DoneOperation = Pick<OperatorCommand, 'kind' | 'credits'>;

/** `OPERATION_DIFFERS`: the operation id was used before, for something else. */
export type AccountRefusal =
  | 'ACCOUNT_SUSPENDED'
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
  const decision = decide(account, command, now);
  if ('moves' in decision) decision.moves.forEach(assertBalanced);
  return decision;
}

function decide(account: AccountView, command: AccountCommand, now: number): AccountDecision {
  switch (command.kind) {
    case 'grant':
    case 'adjust':
      return operate(account, command);
    case 'hold':
      return decideHold(account, command, now);
    case 'settle':
      return settle(account, command);
    case 'suspend':
      return account.suspendedAt === undefined
        ? changeProfile({ name: account.name, suspendedAt: now })
        : { done: true };
    case 'resume':
      return account.suspendedAt === undefined ? { done: true } : changeProfile({ name: account.name });
    case 'rename':
      return account.name === command.name
        ? { done: true }
        : changeProfile({ ...suspensionOf(account.suspendedAt), name: command.name });
  }
}

function operate(account: AccountView, command: OperatorCommand): AccountDecision {
  const { kind, credits, operationId } = command;
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

function moveOf(kind: EntryKind, from: Book, to: Book, credits: number, attribution?: Attribution): Move {
  return {
    kind,
    postings: [
      { book: from, credits: 0 - credits },
      { book: to, credits },
    ],
    ...(attribution === undefined ? {} : { attribution }),
  };
}

function assertBalanced({ postings: [from, to] }: Move): void {
  assert(
    from.credits + to.credits === 0 && to.credits >= 0 && from.book !== to.book,
    'the postings of a move add up to zero',
  );
}

function changeProfile(after: AccountProfile): AccountDecision {
  return { moves: [], profile: after };
}

function suspensionOf(suspendedAt: number | undefined): Pick<Account, 'suspendedAt'> {
  return suspendedAt === undefined ? {} : { suspendedAt };
}

/**
 * Whether a newer state could give another answer. Only a command that writes may be decided on an old state: its write
 * then fails.
 */
export function needsFreshState(decision: AccountDecision): boolean {
  return !('moves' in decision);
}

/**
 * A move as the ledger records it: unsigned, from one book to the other. Written without spreads: two of them cost as
 * much as the rest of a decision, and every generation has three entries.
 */
function entryOf(
  { kind, postings: [from, to], attribution, reason }: Move,
  command: AccountCommand,
  { accountId, sequence, at, availableAfter }: Pick<Entry, 'accountId' | 'sequence' | 'at' | 'availableAfter'>,
): Entry {
  const entry: Mutable<Entry> = {
    accountId,
    sequence,
    kind,
    from: from.book,
    to: to.book,
    credits: to.credits,
    at,
    availableAfter,
  };
  if (attribution !== undefined) entry.attribution = attribution;
  if ('generationId' in command) {
    entry.generationId = command.generationId;
    if (reason !== undefined) entry.reason = reason;
    return entry;
  }
  assert('operationId' in command, 'only commands that move credits have entries');
  entry.operationId = command.operationId;
  entry.reason = command.reason;
  return entry;
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
  private readonly base: OwnedAccount;
  private readonly opened = new Map<string, Hold>();
  private readonly closed = new Set<string>();
  private readonly entries: Entry[] = [];
  /** Cap usage changed by the batch; undefined marks a dropped one. */
  private readonly changedUses = new Map<string, CapUse | undefined>();
  private readonly books: Record<Book, number>;
  /** The profile after the batch's commands; absent if none changed it. */
  private profile: AccountProfile | undefined;

  /** The holds as the next decision sees them. */
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
      lastSequence: this.lastSequence,
      holdsOpened: [...this.opened.values()],
      holdsClosed: [...this.closed],
      entries: this.entries,
      ...this.usesChanged(),
      ...(this.profile === undefined ? {} : { profile: this.profile }),
    };
  }

  private get lastSequence(): number {
    return this.base.lastSequence + this.entries.length;
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
    for (const generationId of this.closed) this.base.holds.delete(generationId);
    for (const opened of this.opened.values()) this.base.holds.set(opened.generationId, opened);
    const { suspendedAt, ...base } = this.base;
    const version = base.version + 1;
    const written = this.profile ?? (suspendedAt === undefined ? {} : { suspendedAt });
    return { ...base, ...written, ...this.books, version, lastSequence: this.lastSequence, ...this.usesWritten() };
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
        sequence: this.lastSequence + 1,
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
