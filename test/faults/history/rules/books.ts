import type { Book } from '../../../../core/credits/account.js';
import { AccountLedger, isAmount, type GenerationMoney } from '../../../history/account-ledger.js';
import { checkBalance } from '../../../history/credits.js';
import type { Finding } from '../../../history/finding.js';
import type { AtRest } from '../history.js';
import type { Known } from '../known.js';

const BOOKS: readonly Book[] = ['issued', 'available', 'reserved', 'spent'];

type AccountAtRest = AtRest['accounts'][number];

/** Invariants 1, 2 and 6: every account is what its entries add up to, from nothing, and holds nothing at rest. */
export function* checkBooks({ history: { facts, atRest } }: Known): Iterable<Finding> {
  const byGeneration = new Map<string, GenerationMoney>();
  for (const account of atRest.accounts) {
    yield* addUp(account, byGeneration);
    const { accountId, issued, holds } = account;
    const granted = facts.granted[accountId] ?? 0;
    if (issued !== granted)
      yield { invariant: 1, sentence: `account ${accountId} was granted ${granted} credits and has ${issued} issued` };
    for (const id of holds.keys())
      yield { invariant: 6, sentence: `at rest account ${accountId} still holds credits for ${id}` };
  }
  for (const accountId of Object.keys(facts.granted)) {
    if (!atRest.accounts.some((account) => account.accountId === accountId))
      yield { invariant: 12, sentence: `account ${accountId} is gone` };
  }
  for (const sentence of atRest.verifyFindings) yield { invariant: 1, sentence: `verify says: ${sentence}` };
}

function* addUp(account: AccountAtRest, byGeneration: Map<string, GenerationMoney>): Iterable<Finding> {
  const { accountId, entries } = account;
  const ledger = new AccountLedger(accountId, byGeneration);
  for (const entry of entries) {
    yield* ledger.add(entry);
    if (!isAmount(entry.credits)) return;
  }
  for (const book of BOOKS) {
    if (ledger.credits[book] !== BigInt(account[book]))
      yield {
        invariant: 1,
        sentence: `account ${accountId} has ${account[book]} credits ${book}, and ${ledger.credits[book]} by its entries`,
      };
  }
  const held = [...account.holds.values()].reduce((sum, { credits }) => sum + credits, 0);
  if (held !== account.reserved)
    yield {
      invariant: 1,
      sentence: `account ${accountId} reserves ${account.reserved} credits, and its holds are ${held}`,
    };
}

/** The balance that a client reads is one that the account had while the request was under way. */
export function* checkBalances(known: Known): Iterable<Finding> {
  for (const exchange of known.answered('credits')) {
    const { status, data = {} } = exchange.answer;
    if (status === 200) yield* checkBalance(known.creditsAnswer(exchange), data);
  }
}
