import type { Account, Entry } from '../../../core/credits/account.js';
import type { Generation, GenerationRecord } from '../../../core/generation/generation.js';
import { AccountLedger, type GenerationMoney } from '../../history/ledger.js';
import { checkEndedHold } from '../../history/prices.js';
import { demandNone } from '../checker/event-order.js';
import { Violation, violation } from '../observed.js';

/** All durable data about money and generations at one moment. */
export interface Snapshot {
  readonly account: Account;
  readonly entries: readonly Entry[];
  readonly records: readonly GenerationRecord[];
}

/**
 * Requires what holds at every moment, whatever was cut. `told` contains the generations that clients know of, by key.
 */
export function checkState({ account, entries, records }: Snapshot, told: ReadonlyMap<string, string>): void {
  const money = checkBooks(account, entries);
  const generations = records.filter((record) => record.kind === 'generation');
  for (const g of generations) checkHold(g, account, money.get(g.generationId));
  for (const { generationId } of records.filter(({ kind }) => kind === 'void')) {
    need(Number(money.get(generationId)?.charged ?? 0), 0, 5, `charges of ${generationId}, which never was`);
  }
  const keys = generations.map(({ clientTraceId }) => clientTraceId);
  need(new Set(keys).size, keys.length, 11, 'keys with a generation, and generations');
  for (const [key, generationId] of told) {
    if (!generations.some((g) => g.generationId === generationId && g.clientTraceId === key)) {
      throw violation`12: generation ${generationId}, which a client was told, is not stored under key ${key}`;
    }
  }
}

/** Adds up the ledger and returns the credits of each generation. */
function checkBooks(account: Account, entries: readonly Entry[]): Map<string, GenerationMoney> {
  const all = new Map<string, GenerationMoney>();
  const ledger = new AccountLedger(account.accountId, all);
  for (const entry of entries) demandNone(ledger.add(entry));
  demandNone(ledger.check(account));
  for (const [generationId, money] of all)
    if (money.endedAt !== undefined) demandNone(checkEndedHold(generationId, money));
  return all;
}

function checkHold(g: Generation, account: Account, money: GenerationMoney | undefined): void {
  const isOpen = account.holds.has(g.generationId);
  if (money === undefined) throw violation`4: generation ${g.generationId} never had a hold`;
  need(Number(money.held), g.reservedCredits, 4, `credits held for ${g.generationId} in all`);
  if (g.status === 'queued' || g.status === 'running')
    need(isOpen, true, 4, `hold of ${g.generationId}, which is open`);
  if (g.settledAt !== undefined) need(isOpen, false, 4, `hold of ${g.generationId}, which is settled`);
  if (!isOpen) need(Number(money.charged), g.chargedCredits, 4, `what ${g.generationId} was charged`);
  if (g.chargedCredits < 0 || g.chargedCredits > g.reservedCredits)
    throw violation`3: generation ${g.generationId} is charged ${g.chargedCredits} of ${g.reservedCredits}`;
}

/** Requires what holds once everything had its time: nothing is open, nothing is held. */
export function checkRest(snapshot: Snapshot, told: ReadonlyMap<string, string>): void {
  checkState(snapshot, told);
  for (const record of snapshot.records) {
    if (record.kind === 'generation' && record.settledAt === undefined)
      throw violation`20: generation ${record.generationId} is ${record.status} at rest, not settled`;
  }
  need(snapshot.account.holds.size, 0, 6, 'open holds at rest');
}

function need(actual: unknown, expected: unknown, invariant: number, what: string): void {
  const [is, should] = [JSON.stringify(actual), JSON.stringify(expected)];
  if (is !== should) throw new Violation(invariant, `${what}: ${is}, not ${should}`);
}
