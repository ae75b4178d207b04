import type { ApiKey, App } from '../access/credential.js';
import type { Cancellation } from '../cancellation.js';
import type { Account, AccountChange, AccountTotals, Entry, Hold } from '../credits/account.js';
import type { Erasure } from '../erasure/erasure.js';
import type { StoredContent, StoredSum } from '../generation/decide.js';
import type { Generation, GenerationRecord, OpenState } from '../generation/generation.js';
import type { Claim, ClaimKey } from '../idempotency/claim.js';
import type { Fingerprint, ProcessLease } from '../idempotency/fingerprint.js';
import type { Page, PageRequest } from '../paging.js';
import type { Artefact, OutsideIdentity, Person } from '../people/person.js';
import type { ProviderUse } from '../providers/provider-use.js';
import type { HalfHour } from '../statistics/half-hour.js';
import type { Upload, UploadRecord, UploadUsage } from '../uploads/upload.js';
import type { TraceKey, TraceRow, UsageKey, UsageRow, UseRow } from '../usage/usage.js';
import type { Delivery, DeliveryList } from '../webhooks/delivery.js';
import type { AppWebhooks } from '../webhooks/endpoint.js';

/** The outcome of an insert: where it was not inserted, the existing record has its id. */
export type Insertion<T> = { readonly inserted: true } | { readonly inserted: false; readonly existing: T };

/** Keeps records that have a version, each under its own id. Each method is atomic for one id. */
interface VersionedRecords<R> {
  /**
   * Inserts a record if its id is free; durable on return. Otherwise returns the record with that id and writes nothing.
   */
  insert(record: R): Promise<Insertion<R>>;

  /** The newest committed record, or null. A process reads its own writes. */
  read(id: string): Promise<R | null>;

  /** Replaces the record if its version still is `expectedVersion`. Durable on return. */
  replace(next: R, expectedVersion: number): Promise<'applied' | 'conflict'>;

  /** Removes the record if its version still is `expectedVersion`. */
  remove(id: string, expectedVersion: number): Promise<'applied' | 'conflict'>;

  /** Records with `dueAt` at or before `now`, most overdue first; at most `limit`, 1 to 1,000. */
  due(now: number, limit: number): Promise<readonly R[]>;
}

/**
 * Keeps one record under each name. Each method is atomic for one record. Every method may throw `StoreUnavailable`.
 */
interface NamedRecords<R> {
  /**
   * The newest committed record, or null. A read that is given a `Cancellation` ends with `CallOver` as soon as the call
   * is over.
   */
  read(name: string, call?: Cancellation): Promise<R | null>;

  /** Writes the record if its version is still the expected one, which is 0 where there is none. Durable on return. */
  replace(next: R, expectedVersion: number): Promise<'applied' | 'conflict'>;
}

/**
 * Keeps accounts and their ledgers. Each method is atomic for one account and no more. Every method may throw
 * `StoreUnavailable`; the outcome of a write that does is unknown. A read that is given a `Cancellation` ends with
 * `CallOver` as soon as the call is over.
 */
export interface AccountStore {
  /** Inserts a new account, version 0, without holds or entries. Durable on return. */
  create(account: Account): Promise<'created' | 'exists'>;

  /** The newest committed state, or null. A process reads its own writes. */
  read(accountId: string, call?: Cancellation): Promise<Account | null>;
  /** The same without the holds. The cost does not depend on their number. */
  read(accountId: string, call: Cancellation | undefined, part: 'totals'): Promise<AccountTotals | null>;

  /**
   * Writes the change if the account's version still is `expectedVersion`, all of it or nothing: the totals, the closed
   * holds, then the opened ones, the entries, of which there may be none, and the profile where the change has one.
   * Durable on return. `conflict`: nothing was written. At most 1,000 entries a change.
   */
  apply(change: AccountChange): Promise<'applied' | 'conflict'>;

  /**
   * The ledger of one account, oldest first. A cursor is the number of an entry as text: the page starts after that
   * entry. Entries have no gaps, so that any range of a ledger can be requested.
   */
  entries(accountId: string, page: PageRequest, call?: Cancellation): Promise<Page<Entry>>;

  /** The entry with this operation id, or null. */
  findOperation(accountId: string, operationId: string): Promise<Entry | null>;

  /** All accounts, in order of id. */
  list(page: PageRequest, call?: Cancellation): Promise<Page<Account>>;

  /**
   * Open holds of all accounts from before `heldBefore` (milliseconds since the epoch), oldest first; read from an
   * index, without a scan of accounts.
   */
  holdsBefore(heldBefore: number, page: PageRequest): Promise<Page<Hold & { readonly accountId: string }>>;

  /**
   * Removes texts from entries, the one change that is ever made to a ledger: each stored entry keeps only those of
   * `operationId`, `reason` and `attribution.clientTraceId` that the given one has, and everything else. At most 1,000 stored
   * entries of one account. Atomic for one entry; may be repeated. Durable on return.
   */
  removeTexts(accountId: string, entries: readonly Entry[]): Promise<void>;
}

/** The record after which a list of due records continues. */
export interface DueAfter {
  readonly dueAt: number;
  readonly generationId: string;
}

/** The generations of a list: all, those of one account, or of one App. Tombstones are in none. */
export type ListedGenerations =
  | { readonly of: 'all' }
  | { readonly of: 'account'; readonly accountId: string }
  | AppGenerations;

/** Those of one App. Each of these lists is in the order of an index, so a page costs no more than what it holds. */
export interface AppGenerations {
  readonly of: 'app';
  readonly appId: string;
  /** Only those in which this has this value. */
  readonly only?: { readonly field: ListedField; readonly value: string };
  /** Only those created at this time or later, in milliseconds. */
  readonly createdFrom?: number;
  /** Only those created before this time, in milliseconds. */
  readonly createdBefore?: number;
}

/** The fields by which the generations of an App can be listed. */
export type ListedField = 'status' | 'modelKey' | 'clientTraceId';

/** The generations in one open state, of one model and provider. */
export interface OpenCount {
  readonly state: OpenState;
  readonly modelKey: string;
  /** The provider of their attempts; absent for those that have no attempt. */
  readonly provider?: string;
  /** At least 1. */
  readonly generations: number;
  /** When the oldest of them was accepted, in milliseconds. */
  readonly oldestCreatedAt: number;
}

/**
 * Keeps generations and tombstones. Every method may throw `StoreUnavailable`; the outcome of a write that does is
 * unknown. A read that is given a `Cancellation` ends with `CallOver` as soon as the call is over.
 */
export interface GenerationStore extends VersionedRecords<GenerationRecord> {
  read(generationId: string, call?: Cancellation): Promise<GenerationRecord | null>;

  /**
   * Records with `dueAt` at or before `now`, most overdue first, then ordered by id; at most `limit`, 1 to 1,000. With
   * `after`, those behind it in that order; that record itself may have been removed.
   */
  due(now: number, limit: number, after?: DueAfter): Promise<readonly GenerationRecord[]>;

  /**
   * Generations, newest first: those of one App by creation and then id, those of more than one App by id. A cursor of the
   * latter is the id of a generation: the page starts after that id, whether or not a generation has it.
   */
  list(wanted: ListedGenerations, page: PageRequest, call?: Cancellation): Promise<Page<Generation>>;

  /**
   * The count of the account's generations with `unchargedBytes`, or with thumbnails, and the sum of these bytes, from an
   * index of only those. Includes all earlier writes, and concurrent ones perhaps.
   */
  stored(accountId: string, content: StoredContent, call?: Cancellation): Promise<StoredSum>;

  /**
   * Counts the generations of all accounts that have not ended, from an index of only those; in no order. Includes all
   * earlier writes, and concurrent ones perhaps.
   */
  countOpen(call?: Cancellation): Promise<readonly OpenCount[]>;
}

/**
 * Keeps idempotency claims, one a key. Each method is atomic for one key. Every method may throw `StoreUnavailable`;
 * the outcome of a write that does is unknown.
 */
export interface ClaimStore {
  /** Inserts the claim if its key is free; durable on return. Otherwise returns the claim that has the key. */
  insert(claim: Claim): Promise<Insertion<Claim>>;

  /** The newest committed claim of the key, or null. A process reads its own writes. */
  read(key: ClaimKey): Promise<Claim | null>;

  /** Replaces the claim of the same key if its version still is `expectedVersion`. Durable on return. */
  replace(next: Claim, expectedVersion: number): Promise<'applied' | 'conflict'>;

  /** Frees the key if the claim's version still is `expectedVersion`. Durable on return. */
  remove(key: ClaimKey, expectedVersion: number): Promise<'applied' | 'conflict'>;

  /** Removes claims whose `removeAt` is at or before `now`, at most `limit`; returns how many. */
  removeExpired(now: number, limit: number): Promise<number>;

  /**
   * Removes claims of one account, at most `limit` (1 to 1,000); returns how many. A store that has only digests of the
   * keys, and not the accounts, removes none: they are removed when they expire.
   */
  removeOfAccount(accountId: string, limit: number): Promise<number>;
}

/**
 * Keeps what was requested without an idempotency key, one record a fingerprint, and the leases of the processes in which
 * requests wait. Every method may throw `StoreUnavailable`; the outcome of a write that does is unknown.
 */
export interface FingerprintStore extends NamedRecords<Fingerprint> {
  read(fingerprint: string): Promise<Fingerprint | null>;

  /** Removes records and leases whose `removeAt` is at or before `now`, at most `limit`; returns how many. */
  removeExpired(now: number, limit: number): Promise<number>;

  /** Removes records of one account, at most `limit` (1 to 1,000); returns how many. */
  removeOfAccount(accountId: string, limit: number): Promise<number>;

  /** Writes the lease, in place of the one with the same boot id. */
  renewLease(lease: ProcessLease): Promise<void>;

  readLease(bootId: string): Promise<ProcessLease | null>;
}

/** Generations of one account that are to be accepted together. */
export interface AcceptanceBatch {
  /** Claims of keys that are not claimed yet, each of a different key; at most 250. */
  readonly claims: readonly Claim[];
  /** Opens a hold for each of the generations, and may hold other changes of the account. */
  readonly change: AccountChange;
  /** At least one and at most 250, each with another id. */
  readonly generations: readonly Generation[];
}

/** `claimsStand`: the claims of the batch whose keys were free are stored; leave them out of the next batch. */
export type AcceptanceOutcome =
  /** All is stored, but for generations whose id has another record: those records, whose holds are to be released. */
  | { readonly outcome: 'accepted'; readonly existing: readonly GenerationRecord[] }
  /** The account's version is another one. */
  | { readonly outcome: 'conflict'; readonly claimsStand: boolean }
  /** Some keys have claims already: those claims. Neither the change nor a generation is stored. */
  | { readonly outcome: 'taken'; readonly taken: readonly Claim[]; readonly claimsStand: boolean };

/**
 * Accepts generations: a chain of writes of single records, in the order claims, account, generations. Each write is
 * conditional and durable before the next one, so that a crash leaves a prefix of the chain and nothing else. The claims
 * among themselves, and the generations, have no order. A store that can writes all of it at once, or nothing.
 */
export interface AcceptanceStore {
  /**
   * Stores the claims whose keys are free, then the change if the account's version is `expectedVersion`, then the
   * generations whose ids are free. Durable on return. No generation is inserted after a change that was not applied.
   * Throws `StoreUnavailable`: then any prefix may be stored.
   */
  accept(batch: AcceptanceBatch): Promise<AcceptanceOutcome>;
}

/** Keeps uploads. Every method may throw `StoreUnavailable`; the outcome of a write that does is unknown. */
export interface UploadStore extends VersionedRecords<UploadRecord> {
  /**
   * The storage of one App's uploads, as `usageOf` counts each, summed from an index. Includes all earlier writes, and
   * concurrent ones perhaps. Ends with `CallOver` as soon as the call is over.
   */
  usage(accountId: string, appId: string, call?: Cancellation): Promise<UploadUsage>;

  /** Uploads of one account, in order of id. Tombstones are not listed. */
  list(accountId: string, page: PageRequest): Promise<Page<Upload>>;
}

/**
 * Keeps Apps and API keys. Each method is atomic for one App or key. Every method may throw `StoreUnavailable`. A read
 * that is given a `Cancellation` ends with `CallOver` as soon as the call is over.
 */
export interface CredentialStore {
  /** Inserts an App if its id is free. Durable on return. */
  insertApp(app: App): Promise<'created' | 'exists'>;

  readApp(appId: string, call?: Cancellation): Promise<App | null>;

  /** Apps of one account, in order of id. */
  listApps(accountId: string, page: PageRequest, call?: Cancellation): Promise<Page<App>>;

  /** Changes the name of an App; no effect if it does not exist. Durable on return. */
  renameApp(appId: string, name: string): Promise<void>;

  /** Inserts a key if its id and its digest are free. Durable on return. */
  insertKey(key: ApiKey): Promise<'created' | 'exists'>;

  /** The key with this digest or id, or null. Revoked and expired keys are returned too. */
  findKey(by: { readonly digest: string } | { readonly keyId: string }): Promise<ApiKey | null>;

  /** Replaces a key if its version still is `expectedVersion`. Durable on return. Its digest never changes. */
  replaceKey(next: ApiKey, expectedVersion: number): Promise<'applied' | 'conflict'>;

  /** Keys of one account, in order of id. */
  listKeys(accountId: string, page: PageRequest, call?: Cancellation): Promise<Page<ApiKey>>;
}

/** Names one outside identity. Both texts are compared exactly. */
export type IdentityKey = Pick<OutsideIdentity, 'issuer' | 'subject'>;

/**
 * Keeps people and their outside identities. Each method is atomic for one person or identity. Every method may throw
 * `StoreUnavailable`. A read that is given a `Cancellation` ends with `CallOver` as soon as the call is over.
 */
export interface PersonStore {
  /** Inserts a person if their id and their e-mail address are free. Durable on return. */
  insert(person: Person): Promise<'created' | 'exists'>;

  read(personId: string, call?: Cancellation): Promise<Person | null>;

  /** Finds a person by the address in lower case. */
  findByEmail(email: string): Promise<Person | null>;

  /**
   * Replaces a person if their version still is `expectedVersion`. Account and e-mail address stay as they are. Durable
   * on return.
   */
  replace(next: Person, expectedVersion: number): Promise<'applied' | 'conflict'>;

  /** People of one account, in order of id. */
  list(accountId: string, page: PageRequest, call?: Cancellation): Promise<Page<Person>>;

  /** Removes a person if their version still is `expectedVersion`, which frees their e-mail address. Durable on return. */
  remove(personId: string, expectedVersion: number): Promise<'applied' | 'conflict'>;

  /** Links an identity to a person, unless it is linked already. Durable on return. */
  insertIdentity(identity: OutsideIdentity): Promise<'created' | 'exists'>;

  findIdentity(key: IdentityKey): Promise<OutsideIdentity | null>;

  /** The identities of one person, oldest first. */
  listIdentities(personId: string): Promise<readonly OutsideIdentity[]>;

  /** Unlinks an identity from this person. No effect where it is linked to another one, or to none. Durable on return. */
  removeIdentity(key: IdentityKey, personId: string): Promise<void>;
}

/** Names one artefact. */
export type ArtefactKey = Pick<Artefact, 'kind' | 'id'>;

/**
 * Keeps sessions, sign-in links and what the OAuth server hands out. Each method is atomic for one artefact, except where
 * it says otherwise. Every method may throw `StoreUnavailable`.
 */
export interface ArtefactStore {
  /**
   * Keeps an artefact, in place of one of the same kind and id that is still usable. `ended` means that the one that is
   * there was consumed or ended, and stays as it is; or that its group has ended, so that the new one is found as ended.
   * Durable on return.
   */
  put(artefact: Artefact): Promise<'kept' | 'ended'>;

  /** The artefact, also when it has expired, was consumed or was ended; null once it is removed. */
  find(key: ArtefactKey, call?: Cancellation): Promise<Artefact | null>;

  /** Finds the newest of several artefacts with the same alias. */
  findByAlias(kind: string, alias: string): Promise<Artefact | null>;

  /**
   * Marks an artefact as used up. Exactly one of several callers gets `consumed`; the others, and callers for an
   * artefact that has ended or does not exist, get `refused`. Durable on return.
   */
  consume(key: ArtefactKey, at: number): Promise<'consumed' | 'refused'>;

  /**
   * Ends one artefact, which can still be found until it is removed. No effect if it does not exist. Durable on return.
   */
  end(key: ArtefactKey, at: number): Promise<void>;

  /**
   * Ends all artefacts of a group, and all that are put in it later, until `removeAt`. Once it has returned, no artefact
   * of the group is found without `endedAt`.
   */
  endGroup(group: string, at: number, removeAt: number): Promise<void>;

  /** Artefacts of one owner and kind, newest first, at most `limit` of them (1 to 1,000). */
  listOwned(kind: string, owner: string, limit: number): Promise<readonly Artefact[]>;

  /** Removes an artefact if its owner still is this one. Durable on return. */
  remove(key: ArtefactKey, owner: string): Promise<void>;

  /** Removes artefacts of one owner and kind, at most `limit` of them (1 to 1,000). Returns how many. Durable on return. */
  removeOwned(kind: string, owner: string, limit: number): Promise<number>;

  /** Removes at most `limit` artefacts and ended groups whose `removeAt` is not after `now`. Returns how many. */
  removeExpired(now: number, limit: number): Promise<number>;
}

/**
 * Keeps one record for each connected provider: what the workers share of it. There are as many records as providers
 * were ever configured.
 */
export interface ProviderUseStore extends NamedRecords<ProviderUse> {
  read(provider: string): Promise<ProviderUse | null>;
}

/** Keeps the counts of the half hours of eight days, one record for each slot. */
export interface HalfHourStore extends NamedRecords<HalfHour> {
  read(slot: string): Promise<HalfHour | null>;
}

/** Keeps one record for each App that has webhook endpoints. */
export type WebhookEndpointStore = NamedRecords<AppWebhooks>;

/**
 * Deliveries of one endpoint, App, account or generation. For those to addresses of single generations the endpoint is the
 * App itself.
 */
export interface ListedDeliveries {
  readonly of: DeliveryList;
  readonly id: string;
  /** Only those created at this time or later, in milliseconds. */
  readonly createdFrom?: number;
  /** Only those created before this time, in milliseconds. */
  readonly createdBefore?: number;
}

/**
 * Keeps the deliveries to endpoints, and their outcomes. Every method may throw `StoreUnavailable`; the outcome of a
 * write that does is unknown.
 */
export interface DeliveryStore extends VersionedRecords<Delivery> {
  read(deliveryId: string, call?: Cancellation): Promise<Delivery | null>;

  /** Newest first by creation, and then by id. */
  list(wanted: ListedDeliveries, page: PageRequest, call?: Cancellation): Promise<Page<Delivery>>;
}

/** A row and the `lastSequence` that the stored one must have; 0 where there must be none. */
export interface UsageChange {
  readonly row: UsageRow;
  readonly expectedSequence: number;
}

/** Days, both included, `2026-01-31`. */
export interface DayRange {
  readonly from: string;
  readonly to: string;
}

export interface TracePage {
  /** 1 to 1,000 rows. */
  readonly limit: number;
  /**
   * The position after which the page starts, whether or not a row is there; without `appUse` after all rows of the trace
   * id on that day.
   */
  readonly after?: Pick<TraceKey, 'day' | 'clientTraceId'> & Partial<Pick<TraceKey, 'appUse'>>;
  /** Only rows with this `appUse`, which is not empty. */
  readonly appUse?: string;
}

/**
 * Keeps the rows of usage, which can be computed again from the ledgers. A write is atomic for one row and no more. Every
 * method may throw `StoreUnavailable`; the outcome of a write that does is unknown for each of its rows. There are as many
 * rows as combinations of day, model, credential and App had use, and one for each account; of an account whose use by trace
 * id was asked for, also as many as combinations of day, trace id and App, and another one.
 */
export interface UsageStore {
  /** The rows of these keys that there are, in any order. At most 1,000 keys, all of one account and list. */
  read(keys: readonly UsageKey[], call?: Cancellation): Promise<readonly UsageRow[]>;

  /**
   * Writes each row whose stored one has the expected sequence, whether the others have it or not. Durable on return.
   * `conflict`: at least one was not written. At most 1,000 rows, all of one account and list, each key
   * once.
   */
  apply(changes: readonly UsageChange[]): Promise<'applied' | 'conflict'>;

  /** The uses of an account with a day in the range, in the order of days. The row of the whole account has no day. */
  list(accountId: string, range: DayRange, page: PageRequest, call?: Cancellation): Promise<Page<UseRow>>;

  /**
   * The traces of an account with a day in the range, in the order of days and, within each, of trace ids, then of
   * `appUse`; from an index, also for a place in the middle of a day and for one App. Fewer than the limit: there are no
   * more.
   */
  listTraces(accountId: string, range: DayRange, page: TracePage, call?: Cancellation): Promise<readonly TraceRow[]>;

  /**
   * Removes rows of an account's list of traces, that of the whole account first, so that the list can be computed again from
   * the ledger. At most `limit` rows, 1 to 1,000; returns how many. Durable on return.
   */
  removeTraces(accountId: string, limit: number): Promise<number>;
}

/** Keeps the requests of operators that something be erased. Every method may throw `StoreUnavailable`. */
export interface ErasureStore extends VersionedRecords<Erasure> {
  /**
   * Writes the store's own files again without what was removed or replaced. `later`: not possible now, for example because
   * another process reads an earlier state; to be tried again. `too-large`, `no-space`: not possible beside a running service,
   * so that removed content may remain. A store whose server keeps such copies returns `done`: they are the operator's, and the
   * documentation names them.
   */
  removeRemains(): Promise<RemainsRemoval>;

  /** Empties the store's log, which has the former files and what was removed before `removeRemains`. `later`: as there. */
  emptyLog(): Promise<'done' | 'later'>;
}

export type RemainsRemoval = 'done' | 'later' | 'too-large' | 'no-space';

/** A record as some process has written it. */
export interface WrittenGeneration {
  readonly generationId: string;
  /** Absent where a tombstone has none. */
  readonly appId: string | undefined;
  readonly version: number;
  /** Decoded anew each time, as most are of no interest to a process. */
  record(): GenerationRecord;
}

/** Its methods must not throw. */
export interface GenerationChangesListener {
  /** Every write from now on is reported, until `interrupted`. Earlier writes must be read. */
  opened(): void;
  /** Writes may have been missed, and are missed, until `opened`. */
  interrupted(): void;
  written(change: WrittenGeneration): void;
}

/**
 * Reports the writes of every process to generations, soon after they are durable. If a store cannot report them,
 * generations are read instead.
 */
export interface GenerationChanges {
  /**
   * Notifies the listener until the returned function is called; `opened` may come at once, later or never. Removals
   * are not reported. The store is not used while nobody follows, except shortly after the last one.
   */
  follow(listener: GenerationChangesListener): () => void;
}
