import type { Account, Entry } from '../../../core/credits/account.js';
import type { Generation, GenerationRecord } from '../../../core/generation/generation.js';
import { Violation, violation } from '../observed.js';

/** All durable data about money and generations at one moment. */
export interface Snapshot {
  readonly account: Account;
  readonly entries: readonly Entry[];
  readonly records: readonly GenerationRecord[];
}

interface Ended {
  held: number;
  charged: number;
  released: number;
  charges: number;
  ends: number;
}

/**
 * Requires what holds at every moment, whatever was cut. `told` contains the generations that clients know of, by key.
 */
export function checkState({ account, entries, records }: Snapshot, told: ReadonlyMap<string, string>): void {
  const holds = checkBooks(account, entries);
  const generations = records.filter((record) => record.kind === 'generation');
  for (const g of generations) checkHold(g, account, holds.get(g.generationId));
  for (const { generationId } of records.filter(({ kind }) => kind === 'void')) {
    need(holds.get(generationId)?.charges ?? 0, 0, 5, `charges of ${generationId}, which never was`);
  }
  const keys = generations.map(({ clientTraceId }) => clientTraceId);
  need(new Set(keys).size, keys.length, 11, 'keys with a generation, and generations');
  for (const [key, generationId] of told) {
    if (!generations.some((g) => g.generationId === generationId && g.clientTraceId === key)) {
      throw violation`12: generation ${generationId}, which a client was told, is not stored under key ${key}`;
    }
  }
}

/** Sums the ledger and returns the end of each hold. */
function checkBooks(account: Account, entries: readonly Entry[]): Map<string, Ended> {
  const books = { issued: 0, available: 0, reserved: 0, spent: 0 };
  const holds = new Map<string, Ended>();
  for (const { from, to, kind, credits, generationId } of entries) {
    books[from] -= credits;
    books[to] += credits;
    if (books.available < 0 || books.reserved < 0) throw violation`2: a book went below zero`;
    if (generationId === undefined) continue;
    const hold = holds.get(generationId) ?? { held: 0, charged: 0, released: 0, charges: 0, ends: 0 };
    holds.set(generationId, hold);
    if (kind === 'hold') {
      hold.held += credits;
      continue;
    }
    hold.ends += 1;
    hold.charges += kind === 'charge' ? 1 : 0;
    hold[kind === 'charge' ? 'charged' : 'released'] += credits;
    need(hold.charges > 1, false, 5, `a second charge of ${generationId}`);
  }
  need(
    [account.issued, account.available, account.reserved, account.spent],
    [-books.issued, books.available, books.reserved, books.spent],
    1,
    'books, and the sums of their entries',
  );
  need(
    [...account.holds.values()].reduce((sum, hold) => sum + hold.credits, 0),
    account.reserved,
    1,
    'open holds, and the reserved book',
  );
  for (const [generationId, hold] of holds) {
    need(
      hold.charged + hold.released,
      account.holds.has(generationId) ? 0 : hold.held,
      4,
      `what the hold of ${generationId} was settled with`,
    );
  }
  return holds;
}

function checkHold(g: Generation, account: Account, hold: Ended | undefined): void {
  const isOpen = account.holds.has(g.generationId);
  if (hold === undefined) throw violation`4: generation ${g.generationId} never had a hold`;
  need(hold.held, g.reservedCredits, 4, `credits held for ${g.generationId} in all`);
  if (g.status === 'queued' || g.status === 'running')
    need(isOpen, true, 4, `hold of ${g.generationId}, which is open`);
  if (g.settledAt !== undefined) need(isOpen, false, 4, `hold of ${g.generationId}, which is settled`);
  if (!isOpen) need(hold.charged, g.chargedCredits, 4, `what ${g.generationId} was charged`);
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
