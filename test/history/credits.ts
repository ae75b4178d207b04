import type { Finding } from './finding.js';
import { textOf } from './values.js';

/** A request whose answer says something about the credits of an account. */
export interface CreditsAnswer {
  /** The request in a sentence. */
  readonly told: string;
  readonly accountId: string;
  /** Every amount that was available, or may have been, at some moment while the request was under way. */
  readonly available: readonly number[];
}

/**
 * Invariant 13: a refusal for want of credits is true. `cost` is absent for a request that has no price, which may not
 * be refused so.
 */
export function* checkShortage(
  { told, accountId, available }: CreditsAnswer,
  cost: number | undefined,
): Iterable<Finding> {
  if (cost !== undefined && available.some((amount) => amount < cost)) return;
  yield {
    invariant: 13,
    sentence: `${told} for ${cost} credits was refused, and account ${accountId} had as many all the time`,
  };
}

/** Invariant 1: a balance that is shown is the one available, in all members that show it. */
export function* checkBalance(
  { told, accountId, available }: CreditsAnswer,
  shown: { readonly [member: string]: unknown },
): Iterable<Finding> {
  const members = [shown['balance_credits'], shown['available_credits'], shown['remaining_credits']];
  const [first] = members;
  if (members.every((member) => member === first) && available.some((amount) => amount === first)) return;
  yield {
    invariant: 1,
    sentence: `${told} was shown ${textOf(members)} credits, and account ${accountId} never had so many meanwhile`,
  };
}

/** Concurrent creates of one cost, on an account that pays for nothing else meanwhile. */
export interface ObservedBurst {
  readonly told: string;
  readonly creates: number;
  readonly accepted: number;
  readonly cost: number;
  readonly balance: number;
  /** Credits that came back of what was accepted, so that another one could be paid. */
  readonly returned: number;
  /** Nothing failed and nothing ended meanwhile: as many are accepted as can be paid, and no fewer. */
  readonly isExact: boolean;
}

/** Invariant 13: of concurrent creates as many are accepted as the balance pays. */
export function* checkAccepted(burst: ObservedBurst): Iterable<Finding> {
  const { told, creates, accepted, cost, balance, returned, isExact } = burst;
  const payable = Math.min(creates, Math.floor((balance + (isExact ? 0 : returned)) / cost));
  if (isExact ? accepted === payable : accepted <= payable) return;
  yield {
    invariant: 13,
    sentence: `of ${creates} creates of ${cost} ${told} with ${balance} credits ${accepted} were accepted, where ${isExact ? '' : 'at most '}${payable} can be paid`,
  };
}
