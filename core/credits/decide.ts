import { assert } from '../assert.js';
import type { Account, AccountProfile, Book, Entry, EntryKind, Hold } from './account.js';

export type AccountCommand =
  | { readonly kind: 'grant'; readonly operationId: string; readonly credits: number; readonly reason: string }
  /** `credits` may be negative: then it takes from the available book, never below zero. */
  | { readonly kind: 'adjust'; readonly operationId: string; readonly credits: number; readonly reason: string }
  | { readonly kind: 'hold'; readonly generationId: string; readonly credits: number; readonly maxOpenHolds: number }
  /** Ends the hold: `charge` is spent, the rest is available again. */
  | { readonly kind: 'settle'; readonly generationId: string; readonly charge: number }
  /** No hold opens until the account is resumed. What is held already ends as ever, and credits can be given and corrected. */
  | { readonly kind: 'suspend' }
  | { readonly kind: 'resume' }
  | { readonly kind: 'rename'; readonly name: string };

/** `OPERATION_DIFFERS`: the operation id was used before, for something else. */
export type AccountRefusal = 'ACCOUNT_SUSPENDED' | 'CREDITS_INSUFFICIENT' | 'QUEUE_FULL' | 'AMOUNT_INVALID' | 'OPERATION_DIFFERS';

export interface Move {
  readonly kind: EntryKind;
  readonly from: Book;
  readonly to: Book;
  readonly credits: number;
}

/** What a decision looks at. */
export interface AccountView extends Pick<Account, 'issued' | 'available' | 'name'> {
  readonly suspendedAt?: number | undefined;
  readonly holds: Pick<Account['holds'], 'get' | 'size'>;
}

export type AccountDecision =
  | { readonly refused: AccountRefusal }
  /** It was done before; nothing is left to do. */
  | { readonly done: true }
  | { readonly moves: readonly Move[]; readonly opens?: Hold; readonly closes?: string; readonly profile?: AccountProfile };

/**
 * Decides one command on one state of an account. Pure: the caller applies the moves onto exactly this state. A repeated
 * hold or settle is recognised by the presence of the hold, so that whoever is unsure may ask again.
 */
export function decideAccount(account: AccountView, command: AccountCommand, now: number): AccountDecision {
  switch (command.kind) {
    case 'grant': return issue(account, command.credits, 'grant');
    case 'adjust': return issue(account, command.credits, 'adjustment');
    case 'hold': return hold(account, command, now);
    case 'settle': return settle(account, command);
    case 'suspend': return account.suspendedAt === undefined ? profile({ name: account.name, suspendedAt: now }) : { done: true };
    case 'resume': return account.suspendedAt === undefined ? { done: true } : profile({ name: account.name });
    case 'rename': return account.name === command.name ? { done: true } : profile({ ...suspensionOf(account.suspendedAt), name: command.name });
  }
}

function issue(account: AccountView, credits: number, kind: 'grant' | 'adjustment'): AccountDecision {
  if (!Number.isSafeInteger(credits) || credits === 0) return { refused: 'AMOUNT_INVALID' };
  if (credits < 0 && kind === 'grant') return { refused: 'AMOUNT_INVALID' };
  if (!Number.isSafeInteger(account.issued + credits)) return { refused: 'AMOUNT_INVALID' };
  if (account.available + credits < 0) return { refused: 'CREDITS_INSUFFICIENT' };
  const [from, to] = credits > 0 ? (['issued', 'available'] as const) : (['available', 'issued'] as const);
  return { moves: [{ kind, from, to, credits: Math.abs(credits) }] };
}

function hold(account: AccountView, command: Extract<AccountCommand, { kind: 'hold' }>, now: number): AccountDecision {
  const { generationId, credits } = command;
  if (!Number.isSafeInteger(credits) || credits < 0) return { refused: 'AMOUNT_INVALID' };
  const open = account.holds.get(generationId);
  if (open) {
    assert(open.credits === credits, `generation ${generationId} is held with another amount`);
    return { done: true };
  }
  if (account.suspendedAt !== undefined) return { refused: 'ACCOUNT_SUSPENDED' };
  if (account.available < credits) return { refused: 'CREDITS_INSUFFICIENT' };
  if (account.holds.size >= command.maxOpenHolds) return { refused: 'QUEUE_FULL' };
  return { moves: [{ kind: 'hold', from: 'available', to: 'reserved', credits }], opens: { generationId, credits, heldAt: now } };
}

function settle(account: AccountView, command: Extract<AccountCommand, { kind: 'settle' }>): AccountDecision {
  const open = account.holds.get(command.generationId);
  if (!open) return { done: true };
  const { charge } = command;
  assert(Number.isSafeInteger(charge) && charge >= 0 && charge <= open.credits, `charge of generation ${command.generationId} lies within its hold`);
  const rest = open.credits - charge;
  const moves: Move[] = [];
  if (charge > 0) moves.push({ kind: 'charge', from: 'reserved', to: 'spent', credits: charge });
  if (rest > 0 || charge === 0) moves.push({ kind: 'release', from: 'reserved', to: 'available', credits: rest });
  return { moves, closes: open.generationId };
}

function profile(after: AccountProfile): AccountDecision {
  return { moves: [], profile: after };
}

function suspensionOf(suspendedAt: number | undefined): Pick<Account, 'suspendedAt'> {
  return suspendedAt === undefined ? {} : { suspendedAt };
}

/** Whether a newer state could give another answer. Only a command that writes is safe to decide on an old one: its write tells. */
export function needsFreshState(decision: AccountDecision): boolean {
  return !('moves' in decision);
}

export function entryOf(move: Move, command: AccountCommand, at: Pick<Entry, 'accountId' | 'sequence' | 'at' | 'availableAfter'>): Entry {
  if ('generationId' in command) return { ...at, ...move, generationId: command.generationId };
  assert('operationId' in command, 'only commands that move credits have entries');
  return { ...at, ...move, operationId: command.operationId, reason: command.reason };
}
