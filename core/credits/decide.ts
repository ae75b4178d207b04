import { assert } from '../assert.js';
import { FAILED, type Account, type AccountProfile, type Attribution, type Book, type Entry } from './account.js';
import type { EntryKind, Hold } from './account.js';
import { isPast, MAX_CAP_USES, periodOf, usedIn, type Cap, type CapUse } from './cap.js';

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
      /** That of the credential in `attribution`; absent for one without. */
      readonly cap?: Cap;
    }
  /** Ends the hold: `charge` is spent, the rest is available again. `failed`: the generation did, and usage counts it. */
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

/** What was done under an operation's id. */
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
  /** Of the move that ends the hold of a failed generation. */
  readonly reason?: typeof FAILED;
}

/** The input of a decision. */
export interface AccountView extends Pick<Account, 'issued' | 'available' | 'name'> {
  readonly suspendedAt?: number | undefined;
  readonly holds: Pick<Account['holds'], 'get' | 'size'>;
  readonly capUses: Pick<ReadonlyMap<string, CapUse>, 'get' | 'size' | 'values'>;
  /** What was done before under the ids of the operations that are to be decided. */
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
      return hold(account, command, now);
    case 'settle':
      return settle(account, command);
    case 'suspend':
      return account.suspendedAt === undefined ? profile({ name: account.name, suspendedAt: now }) : { done: true };
    case 'resume':
      return account.suspendedAt === undefined ? { done: true } : profile({ name: account.name });
    case 'rename':
      return account.name === command.name
        ? { done: true }
        : profile({ ...suspensionOf(account.suspendedAt), name: command.name });
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
      credits > 0 ? move(entryKind, 'issued', 'available', credits) : move(entryKind, 'available', 'issued', -credits),
    ],
  };
}

function hold(account: AccountView, command: HoldCommand, now: number): AccountDecision {
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
    moves: [move('hold', 'available', 'reserved', credits, by)],
    opens: { generationId, credits, heldAt: now, attribution: by },
    ...counted,
  };
}

type Counted = Pick<Extract<AccountDecision, { moves: unknown }>, 'dropsCapUses'> & { readonly capUse: CapUse };

/** What the hold adds to its credential's use; `over` where the cap does not allow it. */
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

/** What ending a hold gives back to its credential's use: to the period that the hold counted for, if it is still kept. */
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
  if (charge > 0) moves.push(move('charge', 'reserved', 'spent', charge, open.attribution));
  if (rest > 0 || charge === 0) moves.push(move('release', 'reserved', 'available', rest, open.attribution));
  const last = moves.pop();
  if (last !== undefined) moves.push(command.failed === true ? { ...last, reason: FAILED } : last);
  return { moves, closes: open.generationId, ...countRelease(account, open, rest) };
}

function move(kind: EntryKind, from: Book, to: Book, credits: number, attribution?: Attribution): Move {
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

function profile(after: AccountProfile): AccountDecision {
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
export function entryOf(
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

/** What an entry says was done under its operation's id. */
export function operationOf({ kind, from, credits }: Entry): DoneOperation {
  return { kind: kind === 'grant' ? 'grant' : 'adjust', credits: from === 'issued' ? credits : -credits };
}
