import type { Book } from '../../../../core/credits/account.js';
import type { AccountLedger } from '../../../history/account-ledger.js';
import { checkHeldAtRest } from '../../../history/charges.js';
import { checkBalance } from '../../../history/credits.js';
import type { Finding } from '../../../history/finding.js';
import type { AtRest } from '../history.js';
import type { Known } from '../known.js';

const BOOKS: readonly Book[] = ['issued', 'available', 'reserved', 'spent'];

/** Invariants 1, 2 and 6: every account is what its entries add up to, from nothing, and holds nothing at rest. */
export function* checkBooks(known: Known): Iterable<Finding> {
  const { facts, atRest } = known.history;
  for (const { account, ledger, findings } of known.ledgers) {
    yield* findings;
    yield* checkTotals(account, ledger);
    const { accountId, issued, holds } = account;
    const granted = facts.granted[accountId] ?? 0;
    if (issued !== granted)
      yield { invariant: 1, sentence: `account ${accountId} was granted ${granted} credits and has ${issued} issued` };
    const held = [...ledger.holds].flatMap(([id, credits]) => (credits > 0n ? [id] : []));
    for (const id of new Set([...holds.keys(), ...held])) yield* checkHeldAtRest(id, standing(known, id));
  }
  for (const accountId of Object.keys(facts.granted)) {
    if (!atRest.accounts.some((account) => account.accountId === accountId))
      yield { invariant: 12, sentence: `account ${accountId} is gone` };
  }
  for (const sentence of atRest.verifyFindings) yield { invariant: 1, sentence: `verify says: ${sentence}` };
}

function standing(known: Known, generationId: string): string {
  const record = known.record(generationId);
  return record?.kind === 'generation' ? record.status : (record?.kind ?? 'nothing stands there');
}

function* checkTotals(account: AtRest['accounts'][number], ledger: AccountLedger): Iterable<Finding> {
  const { accountId } = account;
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
