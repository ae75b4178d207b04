import type { Book, Entry } from '../../../../core/credits/account.js';
import { mayHaveHad } from '../balances.js';
import type { AtRest, Finding } from '../history.js';
import { told, type Known } from '../known.js';

const MOVES: Readonly<Record<string, readonly string[]>> = {
  grant: ['issued available'],
  adjustment: ['issued available', 'available issued'],
  hold: ['available reserved'],
  charge: ['reserved spent'],
  release: ['reserved available'],
};

type AccountAtRest = AtRest['accounts'][number];

/** Invariants 1, 2 and 6: every account is what its entries add up to, from nothing, and holds nothing at rest. */
export function* checkBooks({ history: { facts, atRest } }: Known): Iterable<Finding> {
  for (const account of atRest.accounts) {
    yield* addUp(account);
    const { accountId, issued, holds } = account;
    const granted = facts.granted[accountId] ?? 0;
    if (issued !== granted) yield { invariant: 1, sentence: `account ${accountId} was granted ${granted} credits and has ${issued} issued` };
    for (const id of holds.keys()) yield { invariant: 6, sentence: `at rest account ${accountId} still holds credits for ${id}` };
  }
  for (const accountId of Object.keys(facts.granted)) {
    if (!atRest.accounts.some((account) => account.accountId === accountId)) yield { invariant: 12, sentence: `account ${accountId} is gone` };
  }
  for (const sentence of atRest.verifyFindings) yield { invariant: 1, sentence: `verify says: ${sentence}` };
}

function* addUp(account: AccountAtRest): Iterable<Finding> {
  const { accountId, entries } = account;
  const sums = { issued: 0n, available: 0n, reserved: 0n, spent: 0n };
  let expected = 1;
  for (const entry of entries) {
    const where = `entry ${entry.sequence} of account ${accountId}`;
    if (entry.sequence !== expected) yield { invariant: 1, sentence: `${where} stands where number ${expected} should` };
    expected = entry.sequence + 1;
    if (!Number.isSafeInteger(entry.credits) || entry.credits < 0) {
      yield { invariant: 2, sentence: `${where} moves ${entry.credits} credits` };
      return;
    }
    if (!(MOVES[entry.kind] ?? []).includes(`${entry.from} ${entry.to}`)) yield { invariant: 1, sentence: `${where}, a ${entry.kind}, moves credits from ${entry.from} to ${entry.to}` };
    move(sums, entry);
    if (sums.available < 0n || sums.reserved < 0n) yield { invariant: 2, sentence: `${where} takes more than there is` };
    if (sums.available !== BigInt(entry.availableAfter)) yield { invariant: 1, sentence: `${where} leaves ${sums.available} available, and says ${entry.availableAfter}` };
  }
  const books: readonly Book[] = ['available', 'reserved', 'spent'];
  for (const book of books) {
    if (sums[book] !== BigInt(account[book])) yield { invariant: 1, sentence: `account ${accountId} has ${account[book]} credits ${book}, and ${sums[book]} by its entries` };
  }
  if (-sums.issued !== BigInt(account.issued)) yield { invariant: 1, sentence: `account ${accountId} has ${account.issued} credits issued, and ${-sums.issued} by its entries` };
  const held = [...account.holds.values()].reduce((sum, { credits }) => sum + credits, 0);
  if (held !== account.reserved) yield { invariant: 1, sentence: `account ${accountId} reserves ${account.reserved} credits, and its holds are ${held}` };
}

function move(sums: Record<Book, bigint>, { from, to, credits }: Entry): void {
  sums[from] -= BigInt(credits);
  sums[to] += BigInt(credits);
}

/** The balance that a client reads is one that the account had while the request was under way. */
export function* checkBalances(known: Known): Iterable<Finding> {
  for (const exchange of known.answered('credits')) {
    const { answer, by, sentAt, at } = exchange;
    if (answer.status !== 200) continue;
    const { balance_credits: balance, available_credits: available, remaining_credits: remaining } = answer.data ?? {};
    const had = mayHaveHad(known.ledgerOf(by), known.history.facts, { from: sentAt, until: at }, (amount) => amount === balance);
    const isOne = balance === available && balance === remaining;
    if (!had || !isOne) yield { invariant: 1, sentence: `${told(exchange)} showed a balance of ${JSON.stringify([balance, available, remaining])}, which the account did not have at the time` };
  }
}
