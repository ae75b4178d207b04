/**
 * A bound on what one credential may spend: of an API key in each calendar month (UTC), of a grant in its whole life.
 */
export interface Cap {
  /** Whole credits, 0 to 2^53 − 1. */
  readonly credits: number;
  readonly per: 'month' | 'life';
}

/**
 * Credits that a capped credential has used in its newest period: charges and open holds. This is not a book: it counts
 * credits that move between the books, and the sum of the books does not include it.
 */
export interface CapUse {
  readonly credentialId: string;
  /** `YYYY-MM` of a month, or `life`. */
  readonly period: string;
  readonly used: number;
}

/** The most credentials whose usage an account keeps. */
export const MAX_CAP_USES = 1_000;

const LIFE = 'life';

/**
 * The period that credits count towards: the later of the stored period and the current one. Clocks differ between
 * processes, so a month that has started for one of them must not end again for another.
 */
export function periodOf({ per }: Cap, stored: CapUse | undefined, now: number): string {
  if (per === 'life') return LIFE;
  const month = monthOf(now);
  return stored !== undefined && stored.period !== LIFE && stored.period > month ? stored.period : month;
}

/** Credits that the credential has used in this period. */
export function usedIn(period: string, stored: CapUse | undefined): number {
  return stored?.period === period ? stored.used : 0;
}

/** Whether a record of use can be dropped: its month ended long enough ago for every clock. */
export function isPast({ period }: CapUse, now: number): boolean {
  return period !== LIFE && period < monthOf(now - 86_400_000);
}

function monthOf(at: number): string {
  return new Date(at).toISOString().slice(0, 7);
}

/** The four books of an account's credits. Every entry moves whole credits between two of them. */
export const BOOKS = ['issued', 'available', 'reserved', 'spent'] as const;
export type Book = (typeof BOOKS)[number];
export const ENTRY_KINDS = ['grant', 'adjustment', 'hold', 'charge', 'release'] as const;
export type EntryKind = (typeof ENTRY_KINDS)[number];

/** The reason in the entry that ends the hold of a generation that failed. */
export const FAILED = 'failed';

/** Who else than an App's own credentials can act in it: a person on the account page, or an internal service. */
export const ACTORS = ['person', 'service'] as const;
export type Actor = (typeof ACTORS)[number];

/** The purpose of a generation's credits, and the credential that spends them. Usage and caps are counted by it. */
export interface Attribution {
  /** The key, the grant or the person, or `service:` and the name of an internal service. */
  readonly credentialId: string;
  /** The App in which they are spent; absent in records of releases that did not store it. */
  readonly appId?: string;
  /** Absent for a credential of the App itself: a key or a connection. */
  readonly actor?: Actor;
  readonly modelKey: string;
  readonly clientTraceId?: string;
  /** The period of the credential's cap that these credits count for; absent for a credential without a cap. */
  readonly capPeriod?: string;
}

/**
 * The App that credits were used in, as usage is counted: the id for the use by the App's own credentials, the id and
 * `/others` for that by people and services, and empty where the attribution does not name the App.
 */
export function appUseOf({ appId = '', actor }: Pick<Attribution, 'appId' | 'actor'> = {}): string {
  return actor === undefined ? appId : othersIn(appId);
}

/** The use of an App by people and services. */
export function othersIn(appId: string): string {
  return `${appId}/others`;
}

/** Credits reserved for one generation. */
export interface Hold {
  readonly generationId: string;
  readonly credits: number;
  readonly heldAt: number;
  /** Absent in holds that releases before this one opened. */
  readonly attribution?: Attribution;
}

/** The aggregate of one account's money. issued = available + reserved + spent, at every version. */
export interface Account extends Readonly<Record<Book, number>> {
  readonly accountId: string;
  readonly name: string;
  /** The account's own currency string; `credits` unless the operator says otherwise. */
  readonly currency: string;
  readonly createdAt: number;
  /** Since when nothing can be held on the account; absent while it is not suspended. */
  readonly suspendedAt?: number;
  /** Since when it is erased: it has no name, and nothing but the ends of its open holds changes its credits. */
  readonly erasedAt?: number;
  readonly version: number;
  /** Number of the newest entry; entries are numbered from 1 without gaps. */
  readonly lastSequence: number;
  /** Open holds by generation id. */
  readonly holds: ReadonlyMap<string, Hold>;
  /** Usage of capped credentials, by credential id; absent while there is none. At most `MAX_CAP_USES`. */
  readonly capUses?: ReadonlyMap<string, CapUse>;
}

/** An account without its holds and caps, of which there may be thousands: for callers that decide nothing about them. */
export type AccountTotals = Omit<Account, 'holds' | 'capUses'>;

/** One line of the ledger. Never removed, and never changed, but that an erasure removes its texts. */
export interface Entry {
  readonly accountId: string;
  readonly sequence: number;
  readonly kind: EntryKind;
  readonly from: Book;
  readonly to: Book;
  readonly credits: number;
  readonly at: number;
  /** The available book after this entry. */
  readonly availableAfter: number;
  readonly generationId?: string;
  /** Attribution of the hold it belongs to; absent in entries of grants and adjustments, and of holds without one. */
  readonly attribution?: Attribution;
  /** The operator's id of a grant or adjustment; at most one entry of an account carries it. */
  readonly operationId?: string;
  /** The operator's, of a grant or an adjustment; `FAILED` in the last entry of a generation that failed. */
  readonly reason?: string;
}

/** Properties of an account, other than its credits, that operators can change. */
export type AccountProfile = Pick<Account, 'name' | 'suspendedAt' | 'erasedAt'>;

/** One write to an account: its new totals, the holds that opened and closed, and the entries that explain them. */
export interface AccountChange extends Pick<Account, 'accountId' | 'version' | 'lastSequence' | Book> {
  readonly expectedVersion: number;
  readonly holdsOpened: readonly Hold[];
  readonly holdsClosed: readonly string[];
  /** Usage of capped credentials after the change. Credentials that are not listed keep theirs. */
  readonly capUses?: readonly CapUse[];
  /** Credentials whose use is dropped. */
  readonly capUsesDropped?: readonly string[];
  /** May be empty: a change of the profile moves no credits. */
  readonly entries: readonly Entry[];
  /** The whole profile after the change; absent when it stays as it is. */
  readonly profile?: AccountProfile;
}

/** An account whose available credits are less than it was charged in the last seven days. */
export interface AccountNearZero {
  readonly account: Pick<AccountTotals, 'accountId' | 'name' | 'available' | 'reserved'>;
  /** Charged today and in the six days before, UTC. */
  readonly weekChargedCredits: number;
}

export interface NearZero {
  /** Those whose credits last for the shortest time first. */
  readonly accounts: readonly AccountNearZero[];
  /** Whether every account was looked at. */
  readonly isComplete: boolean;
}

/** An amount as messages name it: `1 credit`, `8 credits`, `0.5 credits`. */
export function creditsText(credits: number | bigint | string): string {
  return `${credits} ${Number(credits) === 1 ? 'credit' : 'credits'}`;
}
