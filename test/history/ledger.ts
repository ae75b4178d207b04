import type { Account, Attribution, Book, CapUse, Entry, EntryKind } from '../../core/credits/account.js';
import type { Generation } from '../../core/generation/generation.js';
import type { JsonObject } from '../../core/json.js';
import { type Finding, finding } from './finding.js';
import { canonical, textOf } from './values.js';

const MOVES: Readonly<Record<EntryKind, readonly `${Book} ${Book}`[]>> = {
  grant: ['issued available'],
  adjustment: ['issued available', 'available issued'],
  hold: ['available reserved'],
  charge: ['reserved spent'],
  release: ['reserved available'],
};

const BOOKS: readonly Book[] = ['issued', 'available', 'reserved', 'spent'];

/** The credits of one generation. */
export interface GenerationMoney {
  readonly accountId: string;
  readonly held: bigint;
  charged: bigint;
  released: bigint;
  /** Time of the entries that ended the hold. One command writes them, so their times are equal. */
  endedAt?: number;
}

/**
 * Invariants 1, 2, 4 and 5 of one account, from its first entry. Credits that left the issued book count there as a
 * positive number. `byGeneration` is shared by all accounts, since a generation has one hold on one of them.
 */
export class AccountLedger {
  sequence = 0;
  readonly credits: Record<Book, bigint> = { issued: 0n, available: 0n, reserved: 0n, spent: 0n };
  /** Open holds by generation. */
  readonly holds = new Map<string, bigint>();

  constructor(
    readonly accountId: string,
    private readonly byGeneration: Map<string, GenerationMoney>,
  ) {}

  /** Adds the next entry. Returns its errors, in order of importance. */
  add(entry: Entry): Finding[] {
    return [...this.enter(entry)];
  }

  /** Compares the account as it is stored with the sums of its entries. */
  *check(stored: Pick<Account, Book | 'lastSequence' | 'holds'>): Iterable<Finding> {
    const name = `account ${this.accountId} is stored with`;
    if (stored.lastSequence !== this.sequence)
      yield finding`1: ${name} ${stored.lastSequence} as its last entry; it is ${this.sequence}`;
    for (const book of BOOKS)
      if (!isAmount(stored[book]) || BigInt(stored[book]) !== this.credits[book])
        yield finding`1: ${name} ${stored[book]} credits ${book}; by its entries it has ${this.credits[book]}`;
    if (stored.holds.size !== this.holds.size)
      yield finding`4: ${name} ${stored.holds.size} holds; by its entries it has ${this.holds.size}`;
    for (const { generationId, credits } of stored.holds.values())
      if (!isAmount(credits) || this.holds.get(generationId) !== BigInt(credits))
        yield finding`4: ${name} a hold of ${credits} for generation ${generationId}; its entries say ${this.holds.get(generationId)}`;
  }

  private *enter(entry: Entry): Iterable<Finding> {
    const { credits } = this;
    const { kind, from, to, availableAfter } = entry;
    const name = `entry ${entry.sequence} of account ${this.accountId} (${kind} of ${entry.credits})`;
    if (entry.accountId !== this.accountId || entry.sequence !== this.sequence + 1)
      yield finding`1: ${name} comes after entry ${this.sequence}`;
    this.sequence = entry.sequence;
    if (!isAmount(entry.credits)) {
      yield finding`2: ${name} does not move whole credits`;
      return;
    }
    if (!(MOVES[kind] ?? []).includes(`${from} ${to}`)) yield finding`1: ${name} moves from ${from} to ${to}`;
    const amount = BigInt(entry.credits);
    credits[from] += from === 'issued' ? amount : -amount;
    credits[to] += to === 'issued' ? -amount : amount;
    const totals = Object.entries(credits);
    if (totals.some(([, total]) => total < 0n || total > BigInt(Number.MAX_SAFE_INTEGER)))
      yield finding`2: ${name} leaves ${totals.map(([book, total]) => `${book} ${total}`).join(', ')}`;
    if (credits.issued !== credits.available + credits.reserved + credits.spent)
      yield finding`1: the books do not sum to zero after ${name}`;
    if (!isAmount(availableAfter) || BigInt(availableAfter) !== credits.available)
      yield finding`1: ${name} says ${availableAfter} available after it, and ${credits.available} are`;
    const fault = this.addToGeneration(entry, amount, name);
    if (fault) yield fault;
  }

  private addToGeneration(
    { generationId, operationId, kind, at }: Entry,
    amount: bigint,
    name: string,
  ): Finding | undefined {
    if (kind === 'grant' || kind === 'adjustment') {
      return generationId === undefined ? undefined : finding`1: ${name} is about generation ${generationId}`;
    }
    if (generationId === undefined || operationId !== undefined) return finding`1: ${name} is about no generation`;
    const known = this.byGeneration.get(generationId);
    if (kind === 'hold') {
      if (known) return finding`4: ${name} holds for generation ${generationId} a second time`;
      this.byGeneration.set(generationId, { accountId: this.accountId, held: amount, charged: 0n, released: 0n });
      this.holds.set(generationId, amount);
      return undefined;
    }
    if (known?.accountId !== this.accountId)
      return finding`4: ${name} ends a hold of generation ${generationId}, which has none`;
    if (kind === 'charge') {
      if (amount === 0n || known.charged !== 0n)
        return finding`5: ${name} charges generation ${generationId} for the second time`;
      known.charged = amount;
    } else {
      if (known.released !== 0n)
        return finding`4: ${name} releases the hold of generation ${generationId} a second time`;
      known.released += amount;
    }
    this.holds.delete(generationId);
    const isSameEnd = known.endedAt === undefined || known.endedAt === at;
    known.endedAt = at;
    return isSameEnd && known.charged + known.released <= known.held
      ? undefined
      : finding`4: ${name} ends the hold of generation ${generationId} again, or by more than the ${known.held} it was`;
  }
}

function isAmount(value: number): boolean {
  return Number.isSafeInteger(value) && value >= 0;
}

/** A request whose answer reveals the credits of an account. */
export interface CreditsAnswer {
  /** Describes the request in a sentence. */
  readonly told: string;
  readonly accountId: string;
  /** Every balance that was available, or may have been, at some moment while the request was in flight. */
  readonly available: readonly number[];
}

/**
 * Invariant 13: a refusal for lack of credits is correct. `cost` is absent for a request that has no price, which may
 * not be refused for this reason.
 */
export function* checkShortage(
  { told, accountId, available }: CreditsAnswer,
  cost: number | undefined,
): Iterable<Finding> {
  if (cost !== undefined && available.some((amount) => amount < cost)) return;
  yield finding`13: ${told} for ${cost} credits was refused, and account ${accountId} had as many all the time`;
}

/** Invariant 1: a balance in an answer is the available one, in all members that contain it. */
export function* checkBalance(
  { told, accountId, available }: CreditsAnswer,
  shown: { readonly [member: string]: unknown },
): Iterable<Finding> {
  const members = [shown['balance_credits'], shown['available_credits'], shown['remaining_credits']];
  const [first] = members;
  if (members.every((member) => member === first) && available.some((amount) => amount === first)) return;
  yield finding`1: ${told} was shown ${textOf(members)} credits, and account ${accountId} never had so many meanwhile`;
}

/** Concurrent creates of one cost, on an account that pays for nothing else meanwhile. */
export interface ObservedBurst {
  readonly told: string;
  readonly creates: number;
  readonly accepted: number;
  readonly cost: number;
  readonly balance: number;
  /** Credits of accepted generations that were returned, so that another one could be paid for. */
  readonly returned: number;
  /** Nothing failed and nothing ended meanwhile: exactly as many are accepted as the balance pays for. */
  readonly isExact: boolean;
}

/** Invariant 13: of concurrent creates, as many are accepted as the balance pays for. */
export function* checkAccepted(burst: ObservedBurst): Iterable<Finding> {
  const { told, creates, accepted, cost, balance, returned, isExact } = burst;
  const payable = Math.min(creates, Math.floor((balance + (isExact ? 0 : returned)) / cost));
  if (isExact ? accepted === payable : accepted <= payable) return;
  yield finding`13: of ${creates} creates of ${cost} ${told} with ${balance} credits ${accepted} were accepted, where ${isExact ? '' : 'at most '}${payable} can be paid`;
}

/** The credits that a key may spend in each month, or a grant in its lifetime. */
export interface KnownCap {
  readonly credits: number;
  readonly per: 'month' | 'life';
}

/**
 * Invariant 24, for all keys and grants: the credits that each capped one holds and has spent in each period, according
 * to the ledger's entries. `caps` contains the cap of each that has one.
 */
export class CapUses {
  private readonly used = new Map<string, Map<string, number>>();

  constructor(private readonly caps: ReadonlyMap<string, KnownCap>) {}

  /** Adds the next entry of an account. Returns its errors. */
  add({ kind, credits, generationId, attribution }: Entry): Finding[] {
    if (generationId === undefined || attribution === undefined || kind === 'charge') return [];
    const { credentialId, capPeriod } = attribution;
    const cap = this.caps.get(credentialId);
    if ((cap === undefined) !== (capPeriod === undefined)) {
      const has = cap === undefined ? 'no cap' : `a cap of ${cap.credits}`;
      return [
        finding`24: generation ${generationId} counts for ${capPeriod ?? 'no period'} of key ${credentialId}, which has ${has}`,
      ];
    }
    if (cap === undefined || capPeriod === undefined) return [];
    if ((capPeriod === 'life') !== (cap.per === 'life')) {
      return [
        finding`24: generation ${generationId} counts for ${capPeriod} of key ${credentialId}, whose cap is per ${cap.per}`,
      ];
    }
    const byMonth = this.used.get(credentialId) ?? new Map<string, number>();
    const used = (byMonth.get(capPeriod) ?? 0) + (kind === 'hold' ? credits : -credits);
    this.used.set(credentialId, byMonth.set(capPeriod, used));
    if (used <= cap.credits) return [];
    return [
      finding`24: key ${credentialId} holds and has spent ${used} credits in ${capPeriod}, and its cap is ${cap.credits}`,
    ];
  }

  /** The rest of a key's cap in its newest month. */
  leftOf(credentialId: string): number {
    return (this.caps.get(credentialId)?.credits ?? Infinity) - (this.newestOf(credentialId)?.used ?? 0);
  }

  /** An account stores the same use as its entries show, for the newest month of each key. */
  *check(accountId: string, stored: Iterable<CapUse>): Iterable<Finding> {
    for (const { credentialId, period, used } of stored) {
      const newest = this.newestOf(credentialId);
      if (newest?.period === period && newest.used === used) continue;
      yield finding`24: account ${accountId} counts ${used} credits of key ${credentialId} in ${period}, and its entries ${newest ? `${newest.used} in ${newest.period}` : 'none'}`;
    }
  }

  private newestOf(credentialId: string): { readonly period: string; readonly used: number } | undefined {
    const byMonth = [...(this.used.get(credentialId) ?? [])].sort(([a], [b]) => (a < b ? -1 : 1));
    const [period, used] = byMonth.at(-1) ?? [];
    return period === undefined || used === undefined ? undefined : { period, used };
  }
}

/** The attribution of a create's credits: the API key that sent it, the App of the key, and the names in the body. */
export function attributionOf(
  { credentialId, appId }: { readonly credentialId: string; readonly appId: string },
  body: JsonObject,
): JsonObject {
  return {
    credentialId,
    appId,
    modelKey: textOf(body['model_key']),
    ...(body['client_trace_id'] === undefined ? {} : { clientTraceId: body['client_trace_id'] }),
  };
}

type Named = { readonly [Member in keyof Attribution]?: Attribution[Member] | undefined };

/** The attribution that the entries of a generation must have, apart from the period of a cap. */
export function namedBy({
  credentialId,
  appId,
  modelKey,
  clientTraceId,
}: Pick<Generation, 'credentialId' | 'appId' | 'modelKey' | 'clientTraceId'>): Named {
  return { credentialId, appId, modelKey, clientTraceId };
}

/** Invariant 1: credits are attributed to a request that was sent under the key they were reserved under. */
export function* checkAttribution(
  what: string,
  { capPeriod: _period, ...named }: Named = {},
  requests: readonly Named[],
): Iterable<Finding> {
  const attribution = canonical(named);
  if (requests.some((request) => canonical(request) === attribution)) return;
  yield finding`1: ${what} is attributed to ${attribution}, and its requests were ${requests.map(canonical).join(', ')}`;
}
