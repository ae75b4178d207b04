import type { ApiKey, App } from '../../core/access/credential.js';
import type { NewKey } from '../../core/access/manage.js';
import type { Context } from '../../core/context.js';
import type { Account, Entry } from '../../core/credits/account.js';
import type { CreditOperation } from '../../core/credits/operate.js';
import type { Verification } from '../../core/credits/verify.js';
import type { UnchargedContent } from '../../core/generation/decide.js';
import type { CancelledWork } from '../../core/generation/end-generation.js';
import type { Generation } from '../../core/generation/generation.js';
import type { GenerationFilter } from '../../core/generation/operators-generations.js';
import type { Page, PageRequest } from '../../core/paging.js';
import type { NewPerson } from '../../core/people/manage-people.js';
import type { Person } from '../../core/people/person.js';
import type { DayRange } from '../../core/ports/stores.js';
import type { ConnectedProvider } from '../../core/providers/list-providers.js';
import { mayBeMore, type Recovered, Recovery } from '../../core/recovery/recover.js';
import type { UploadUsage } from '../../core/uploads/usage.js';
import type { ModelCosts, SentUsage, Usage } from '../../core/usage/read-usage.js';

/** The maximum number of passes in one run, so that it ends beside a server under load. */
const MAX_PASSES = 100;

const COUNTS = [
  'generations_woken',
  'generations_ended',
  'generations_settled',
  'generations_retired',
  'holds_released',
  'holds_settled',
  'uploads_swept',
  'uploads_removed',
  'claims_removed',
  'artefacts_removed',
  'deliveries_woken',
  'deliveries_removed',
  'failed',
] as const;
export type RecoveredTotals = Record<(typeof COUNTS)[number], number>;

/**
 * Completes interrupted work, pass after pass, until nothing is left that existed at the beginning, or until its call
 * is over. Throws as a pass does.
 */
export async function recoverAll(context: Context): Promise<RecoveredTotals> {
  const recovery = new Recovery(context);
  const listenNoMore = context.call?.onOver(() => recovery.stop());
  const total = Object.fromEntries(COUNTS.map((name) => [name, 0])) as RecoveredTotals;
  try {
    for (let passes = 0; passes < MAX_PASSES; passes += 1) {
      const done = await recovery.pass();
      add(total, done);
      if (!mayBeMore(done, context.settings.recoveryBatch) && done.holds.nextCursor === undefined) break;
    }
  } finally {
    listenNoMore?.();
  }
  return total;
}

function add(
  total: RecoveredTotals,
  { generations: g, holds, uploads, deliveries, claimsRemoved, artefactsRemoved }: Recovered,
): void {
  total.generations_woken += g.woken;
  total.generations_ended += g.ended;
  total.generations_settled += g.settled;
  total.generations_retired += g.retired;
  total.holds_released += holds.released;
  total.holds_settled += holds.settled;
  total.uploads_swept += uploads.swept;
  total.uploads_removed += uploads.removed;
  total.claims_removed += claimsRemoved;
  total.artefacts_removed += artefactsRemoved;
  total.deliveries_woken += deliveries.woken;
  total.deliveries_removed += deliveries.removed;
  total.failed += g.failed + holds.failed + uploads.failed + deliveries.failed;
}

/** What one App's uploads take. */
export interface AppStorage extends UploadUsage {
  readonly appId: string;
  readonly name: string;
}

/** What an account makes the service keep, and how much it may be. */
export interface AccountStorage {
  readonly uncharged: UnchargedContent;
  readonly apps: Page<AppStorage>;
  readonly limits: StorageLimits;
}

export interface StorageLimits extends UploadUsage {
  readonly unchargedBytes: number;
}

/** With a page of the account's Apps: each one costs a query of the index of uploads. */
export async function accountStorage(
  { generations, uploads, settings, call }: Context,
  accountId: string,
  page: Page<App>,
): Promise<AccountStorage> {
  const uncharged = await generations.uncharged(accountId, call);
  const items: AppStorage[] = [];
  for (const { appId, name } of page.items)
    items.push({ appId, name, ...(await uploads.usage(accountId, appId, call)) });
  const limits = {
    unchargedBytes: settings.maxUnchargedContentBytesPerAccount,
    uploads: settings.maxStoredUploadsPerApp,
    unfinished: settings.maxUnfinishedUploadsPerApp,
    bytes: settings.maxStoredUploadBytesPerApp,
  };
  return { uncharged, apps: { ...page, items }, limits };
}

/** An account with its books, as operators see it. */
export interface ShownAccount extends Omit<Account, 'version' | 'lastSequence' | 'holds'> {
  /** The number of open generations that hold the reserved credits. */
  readonly openHolds: number;
}

/** An API key without the digest of its secret. */
export interface ShownKey extends Omit<ApiKey, 'version' | 'digest' | 'scopes'> {
  readonly scopes: readonly string[];
}

export type ShownEntry = Omit<Entry, 'accountId'>;

/** A person without what they sign in with. */
export interface ShownPerson extends Pick<
  Person,
  'personId' | 'accountId' | 'email' | 'createdAt' | 'disabledAt' | 'lastSignInAt' | 'operatorSince'
> {
  readonly hasPassword: boolean;
  readonly passkeyCount: number;
}

/** A link that signs a person in once. */
export interface SignInLink {
  /** Below the public address of the service. */
  readonly path: string;
  readonly expiresAt: number;
}

export interface WithSignInLink {
  readonly person: ShownPerson;
  /** Absent for a person who needs none: one with a password, or who may not sign in. */
  readonly link?: SignInLink;
}

export interface NewAccount {
  readonly name: string;
  readonly currency?: string;
}

export interface Operated {
  /** The account after the operation. */
  readonly account: ShownAccount;
  /** When the same operation was made, if it was made before; then nothing has changed. */
  readonly earlierAt?: number;
}

export interface Suspended {
  readonly account: ShownAccount;
  /** The result for its open generations, if they were to be cancelled. */
  readonly work?: CancelledWork;
}

/** Costs of the generations that were created on these days. */
export interface CostReport extends DayRange {
  readonly models: readonly ModelCosts[];
}

/** Without an account, of all. Days are read as those of usage. */
export interface SentCosts extends Omit<SentUsage, 'by'> {
  readonly accountId?: string;
}

type Listed =
  | 'generationId'
  | 'accountId'
  | 'appId'
  | 'status'
  | 'modelKey'
  | 'operation'
  | 'createdAt'
  | 'updatedAt'
  | 'completedAt'
  | 'cancelRequestedAt'
  | 'reservedCredits'
  | 'chargedCredits'
  | 'attemptsMade'
  | 'error'
  | 'clientTraceId'
  | 'costs';

/** A generation with its owner and status, without its request. */
export interface ShownGeneration extends Pick<Generation, Listed> {
  /** Which worker has it, while one has. */
  readonly worker?: string;
  /** Where its attempt is, while it has one, and was at its end. */
  readonly provider?: string;
  readonly outputCount: number;
}

/** One with what its client asked for. */
export interface InspectedGeneration
  extends ShownGeneration, Pick<Generation, 'prompt' | 'negativePrompt' | 'parameters'> {
  readonly referenceUploadIds: readonly string[];
}

/**
 * The operations of an operator, on the stores themselves or on a server that has them. Lists take 1 to 1,000 lines a
 * page, and as cursor the one that an earlier page of the same list ended with. Refusals are `ServiceError`:
 * FIELD_INVALID for an id that is not a UUID, for a cursor of another list and as the use cases say, NOT_FOUND for an
 * account, App, key or generation that does not exist.
 */
export interface Operator {
  /** Its credits are called `credits` when nothing is said. */
  createAccount(account: NewAccount): Promise<ShownAccount>;
  getAccount(accountId: string): Promise<ShownAccount>;
  /** With a page of its Apps. */
  getStorage(accountId: string, page: PageRequest): Promise<AccountStorage>;
  listAccounts(page: PageRequest): Promise<Page<ShownAccount>>;
  /** A repeat changes nothing except what `cancelWork` requests. */
  suspendAccount(accountId: string, options: { readonly cancelWork: boolean }): Promise<Suspended>;
  resumeAccount(accountId: string): Promise<ShownAccount>;
  renameAccount(accountId: string, name: string): Promise<ShownAccount>;
  createApp(app: Pick<App, 'accountId' | 'name'>): Promise<App>;
  listApps(accountId: string, page: PageRequest): Promise<Page<App>>;
  /** The secret is nowhere else, now or later. */
  createKey(key: NewKey): Promise<{ readonly key: ShownKey; readonly secret: string }>;
  listKeys(accountId: string, page: PageRequest): Promise<Page<ShownKey>>;
  /** For good; again, it changes nothing. */
  revokeKey(keyId: string): Promise<ShownKey>;
  /** CONFLICT for a key that is revoked. */
  expireKey(keyId: string, expiresAt: number): Promise<ShownKey>;
  /** Without a password, with a link. */
  createPerson(person: NewPerson): Promise<WithSignInLink>;
  listPeople(accountId: string, page: PageRequest): Promise<Page<ShownPerson>>;
  disablePerson(personId: string): Promise<ShownPerson>;
  enablePerson(personId: string): Promise<ShownPerson>;
  /** Takes password, passkeys and outside identities away, and the rights of an operator. */
  resetPerson(personId: string): Promise<WithSignInLink>;
  /** Makes them an operator; CONFLICT for a person without a passkey. */
  promotePerson(personId: string): Promise<ShownPerson>;
  demotePerson(personId: string): Promise<ShownPerson>;
  /** Happens once under its operation id; CONFLICT for another amount or kind under it. */
  grantCredits(operation: CreditOperation): Promise<Operated>;
  /** As a grant; CREDITS_INSUFFICIENT below zero. */
  adjustCredits(operation: CreditOperation): Promise<Operated>;
  listEntries(accountId: string, page: PageRequest): Promise<Page<ShownEntry>>;
  /** SERVICE_UNAVAILABLE while the sums are still being made; each call goes on where the last one stopped. */
  getUsage(accountId: string, sent: SentUsage, page: PageRequest): Promise<Usage>;
  getModelCosts(sent: SentCosts): Promise<CostReport>;
  /** Newest first; a page may hold fewer although there are more. */
  searchGenerations(filter: GenerationFilter, page: PageRequest): Promise<Page<ShownGeneration>>;
  inspectGeneration(generationId: string): Promise<InspectedGeneration>;
  /** As its client's own cancel. */
  cancelGeneration(generationId: string): Promise<ShownGeneration>;
  /** All of them, in the order of the configuration. */
  listProviders(): Promise<readonly ConnectedProvider[]>;
  verifyCredits(): Promise<Verification>;
  recover(): Promise<RecoveredTotals>;
}
