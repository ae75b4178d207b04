import { Long, type UUID } from 'mongodb';
import type {
  Account,
  AccountTotals,
  Actor,
  Attribution,
  Book,
  CapUse,
  Entry,
  Hold,
} from '../../core/credits/account.js';
import { ownUuid, textOf } from './documents.js';

/**
 * Written as 64-bit integers, so that no credit is ever a floating point number in the store; read as numbers, all
 * safe.
 */
export type Credits = Long | number;

/** The use of credits, and the user; absent in documents of earlier releases. */
export interface AttributionFields {
  readonly credential?: string | undefined;
  readonly model?: string | undefined;
  readonly trace?: string | undefined;
  readonly capPeriod?: string | undefined;
  readonly app?: string | undefined;
  readonly actor?: Actor | undefined;
}

export interface HoldDocument extends AttributionFields {
  readonly generation: UUID;
  readonly credits: Credits;
  readonly heldAt: number;
}

export interface CapUseDocument {
  readonly period: string;
  readonly used: Credits;
}

/** An entry in the outbox of its account. */
export interface OutboxEntry extends Pick<Entry, 'sequence' | 'kind' | 'from' | 'to' | 'at'>, AttributionFields {
  readonly credits: Credits;
  readonly availableAfter: Credits;
  readonly generation?: UUID | undefined;
  readonly operation?: string | undefined;
  readonly reason?: string | undefined;
}

/**
 * An entry that has left the outbox. Its id follows from the account and the sequence number, so that it exists once.
 */
export interface EntryDocument extends OutboxEntry {
  readonly _id: string;
  readonly account: UUID;
}

/**
 * Consecutive entries of a ledger that have left the outbox together, at most `MAX_GROUP`. Its id is that of the first of
 * them, so that it stands where that entry would. An entry with an operation id is in none: it is found by that.
 */
export interface EntryGroupDocument {
  readonly _id: string;
  readonly account: UUID;
  readonly entries: readonly OutboxEntry[];
}

/** How many entries one document holds at most; some 350 bytes each. */
export const MAX_GROUP = 128;

/** The whole aggregate, and the entries that have not yet left it. */
export interface AccountDocument
  extends
    Pick<Account, 'name' | 'currency' | 'createdAt' | 'version' | 'lastSequence'>,
    Readonly<Record<Book, Credits>> {
  readonly _id: UUID;
  /** Absent or null while the account is not suspended. */
  readonly suspendedAt?: number | null;
  /** Absent or null while the account is not erased. */
  readonly erasedAt?: number | null;
  readonly holds: readonly HoldDocument[];
  /** Keyed by credential id; absent in accounts without capped credentials. */
  readonly capUses?: Readonly<Record<string, CapUseDocument>>;
  readonly outbox: readonly OutboxEntry[];
}

/** The books of an account or of a change. */
export function booksDocument({ issued, available, reserved, spent }: Pick<Account, Book>) {
  return { issued: longOf(issued), available: longOf(available), reserved: longOf(reserved), spent: longOf(spent) };
}

/** An account is read without its outbox. */
export function accountOf(document: Omit<AccountDocument, 'outbox'>): Account {
  const capUses = Object.entries(document.capUses ?? {}).map(([credentialId, { period, used }]) => {
    return [credentialId, { credentialId, period, used: numberOf(used) }] as const;
  });
  return {
    ...totalsOf(document),
    holds: new Map(document.holds.map(holdOf).map((hold) => [hold.generationId, hold])),
    ...(capUses.length === 0 ? {} : { capUses: new Map(capUses) }),
  };
}

export function totalsOf(document: Omit<AccountDocument, 'outbox' | 'holds' | 'capUses'>): AccountTotals {
  const { _id, name, currency, createdAt, suspendedAt = null, erasedAt = null, version, lastSequence } = document;
  return {
    accountId: textOf(_id),
    name,
    currency,
    createdAt,
    version,
    lastSequence,
    ...(suspendedAt === null ? {} : { suspendedAt }),
    ...(erasedAt === null ? {} : { erasedAt }),
    issued: numberOf(document.issued),
    available: numberOf(document.available),
    reserved: numberOf(document.reserved),
    spent: numberOf(document.spent),
  };
}

export function capUseDocument({ period, used }: CapUse): CapUseDocument {
  return { period, used: longOf(used) };
}

export function holdDocument({ generationId, credits, heldAt, attribution }: Hold): HoldDocument {
  return { generation: ownUuid(generationId), credits: longOf(credits), heldAt, ...attributionFields(attribution) };
}

export function holdOf({ generation, credits, heldAt, ...by }: HoldDocument): Hold {
  return { generationId: textOf(generation), credits: numberOf(credits), heldAt, ...attributionOf(by) };
}

function attributionFields(attribution: Partial<Attribution> = {}): AttributionFields {
  const { credentialId, appId, actor, modelKey, clientTraceId, capPeriod } = attribution;
  return { credential: credentialId, model: modelKey, trace: clientTraceId, capPeriod, app: appId, actor };
}

function attributionOf({ credential, model, trace, capPeriod, app, actor }: AttributionFields): {
  readonly attribution?: Attribution;
} {
  if (credential === undefined || model === undefined) return {};
  return {
    attribution: {
      credentialId: credential,
      ...(app === undefined ? {} : { appId: app }),
      ...(actor === undefined ? {} : { actor }),
      modelKey: model,
      ...(trace === undefined ? {} : { clientTraceId: trace }),
      ...(capPeriod === undefined ? {} : { capPeriod }),
    },
  };
}

export function outboxEntry(entry: Entry): OutboxEntry {
  const { sequence, kind, from, to, credits, at, availableAfter, generationId, operationId, reason, attribution } =
    entry;
  return {
    sequence,
    kind,
    from,
    to,
    credits: longOf(credits),
    at,
    availableAfter: longOf(availableAfter),
    generation: generationId === undefined ? undefined : ownUuid(generationId),
    operation: operationId,
    reason,
    ...attributionFields(attribution),
  };
}

export function entryDocument(entry: Entry): EntryDocument {
  return { _id: entryId(entry.accountId, entry.sequence), account: ownUuid(entry.accountId), ...outboxEntry(entry) };
}

export function groupDocument(account: string, first: number, entries: readonly Entry[]): EntryGroupDocument {
  return { _id: entryId(account, first), account: ownUuid(account), entries: entries.map(outboxEntry) };
}

/** The entries of one document. */
export function entriesOf(document: EntryDocument | EntryGroupDocument): readonly Entry[] {
  const account = textOf(document.account);
  return 'entries' in document
    ? document.entries.map((entry) => entryOf(account, entry))
    : [entryOf(account, document)];
}

export function entryOf(
  account: string,
  { sequence, kind, from, to, credits, at, availableAfter, generation, operation, reason, ...by }: OutboxEntry,
): Entry {
  return {
    accountId: account,
    sequence,
    kind,
    from,
    to,
    credits: numberOf(credits),
    at,
    availableAfter: numberOf(availableAfter),
    ...(generation === undefined ? {} : { generationId: textOf(generation) }),
    ...(operation === undefined ? {} : { operationId: operation }),
    ...(reason === undefined ? {} : { reason }),
    ...attributionOf(by),
  };
}

/** Padded to the digits of the largest sequence number, so that the order of ids is the order of the ledger. */
export function entryId(accountId: string, sequence: number): string {
  return `${accountId}/${String(sequence).padStart(16, '0')}`;
}

export function longOf(credits: number): Long {
  return Long.fromNumber(credits);
}

export function numberOf(credits: Credits): number {
  return typeof credits === 'number' ? credits : credits.toNumber();
}
