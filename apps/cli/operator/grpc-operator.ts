import { durationMs, type Timestamp, timestampFromMs, timestampMs } from '@bufbuild/protobuf/wkt';
import { type App, DEFAULT_SCOPES } from '../../../core/access/credential.js';
import type { NewKey } from '../../../core/access/manage.js';
import type { CreditOperation } from '../../../core/credits/operate.js';
import type { AttemptCost, TaskError } from '../../../core/generation/generation.js';
import type { GenerationFilter } from '../../../core/generation/operators-generations.js';
import type { Page, PageRequest } from '../../../core/paging.js';
import type { NewPerson } from '../../../core/people/manage-people.js';
import type { ProviderCapabilities } from '../../../core/ports/provider.js';
import type { ConnectedProvider, ProviderWorker } from '../../../core/providers/list-providers.js';
import { type SentUsage, type Usage, USAGE_BY as WORDS, type UsageGroup } from '../../../core/usage/read-usage.js';
import type { UsageSums } from '../../../core/usage/usage.js';
import { BOOK, KIND } from '../../grpc/credits.js';
import { OPERATION, STATUS } from '../../grpc/enums.js';
import {
  Access,
  type ApiKey,
  type App as AppMessage,
  type GetAccountStorageResponse,
} from '../../grpc/generated/darkroom/v1/access_pb.js';
import type { Account } from '../../grpc/generated/darkroom/v1/accounts_pb.js';
import {
  Credits,
  type Entry,
  type GetAccountUsageResponse,
  type GrantCreditsResponse,
  UsageBy,
  type UsageRow,
  type UsageSums as SumsMessage,
} from '../../grpc/generated/darkroom/v1/credits_pb.js';
import {
  type GenerationContent,
  type GenerationRecord,
  type GetModelCostsResponse,
  Operations,
} from '../../grpc/generated/darkroom/v1/operations_pb.js';
import { People, type Person, type SignInLink as LinkMessage } from '../../grpc/generated/darkroom/v1/people_pb.js';
import type {
  ConnectedProvider as ProviderMessage,
  ProviderCost,
  ProviderPromises as PromisesMessage,
  ProviderWorker as WorkerMessage,
} from '../../grpc/generated/darkroom/v1/providers_pb.js';
import { CANCELS, CIRCUIT, USAGE_BY } from '../../grpc/render-operator.js';
import type {
  AccountStorage,
  CostReport,
  InspectedGeneration,
  NewAccount,
  Operated,
  Operator,
  SentCosts,
  ShownAccount,
  ShownEntry,
  ShownGeneration,
  ShownKey,
  ShownPerson,
  SignInLink,
  Suspended,
  WithSignInLink,
} from '../../operator/operator.js';
import type { CliIo } from '../io.js';
import { say } from '../terminal.js';
import { GrpcCalls } from './grpc-calls.js';
import { type GrpcOptions, readGrpcPlace } from './grpc-place.js';

// Values of a server's answer, as the commands take them.

export function wordOf<Word extends string>(numbers: Readonly<Record<Word, number>>, number: number): Word {
  return present((Object.keys(numbers) as Word[]).find((word) => numbers[word] === number));
}

export function timeOf(time: Timestamp | undefined): number {
  return timestampMs(present(time));
}

export function present<T>(value: T | undefined): T {
  // No `Failure`: what was asked for was done.
  if (value === undefined)
    throw new Error('The answer of the server lacks fields that this command shows; is it another version?');
  return value;
}

// What a server answers of providers, as the commands show it.

export function providerOf(p: ProviderMessage): ConnectedProvider {
  const { name, kind, maxConcurrent, maxSubmissionsPerMinute, tasks, waiting } = p;
  return {
    name,
    kind,
    limits: {
      ...(maxConcurrent === undefined ? {} : { maxConcurrent }),
      ...(maxSubmissionsPerMinute === undefined ? {} : { maxSubmissionsPerMinute }),
    },
    models: p.models.map(({ modelKey, weight, promises }) => ({
      modelKey,
      weight,
      capabilities: capabilitiesOf(promises),
    })),
    circuit: wordOf(CIRCUIT, p.circuit),
    tasks,
    waiting,
    workers: p.workers.map(workerOf),
  };
}

export function costOf({ attempt, provider, inputTokens, outputTokens, computeMs, money }: ProviderCost): AttemptCost {
  return {
    attempt,
    provider,
    ...(inputTokens === undefined ? {} : { inputTokens: Number(inputTokens) }),
    ...(outputTokens === undefined ? {} : { outputTokens: Number(outputTokens) }),
    ...(computeMs === undefined ? {} : { computeMs: Number(computeMs) }),
    ...(money === undefined ? {} : { money: { micros: Number(money.micros), currency: money.currency } }),
  };
}

function capabilitiesOf(message: PromisesMessage | undefined): ProviderCapabilities {
  const capabilities = present(message);
  const { answersWithOutputs, askedByToken, takesTokenOnce, settleTime, cancels, resultsKept, paid } = capabilities;
  const { maxMaskedReferences } = capabilities;
  return {
    answersWithOutputs,
    isAskedBy: askedByToken ? 'token' : 'nothing',
    takesTokenOnce,
    settleMs: durationMs(present(settleTime)),
    cancels: wordOf(CANCELS, cancels),
    ...(resultsKept === undefined ? {} : { keepsResultsMs: durationMs(resultsKept) }),
    isPaid: paid,
    ...(maxMaskedReferences === 0 ? {} : { maxMaskedReferences }),
  };
}

function workerOf(w: WorkerMessage): ProviderWorker {
  const { worker, circuit, pauseEndTime, lastError, medianSubmitTime, tasks, waiting, slots, seenTime, current } = w;
  return {
    worker,
    health: {
      circuit: wordOf(CIRCUIT, circuit),
      ...(pauseEndTime === undefined ? {} : { pausedUntil: timeOf(pauseEndTime) }),
      ...(lastError === undefined ? {} : { lastError: { at: timeOf(lastError.time), message: lastError.message } }),
      ...(medianSubmitTime === undefined ? {} : { medianSubmitMs: durationMs(medianSubmitTime) }),
    },
    tasks,
    waiting,
    slots,
    seenAt: timeOf(seenTime),
    isCurrent: current,
  };
}

// What a server answers, as the commands show it.

export function accountOf(account: Account | undefined): ShownAccount {
  const { accountId, displayName: name, currency, createTime, suspendTime, credits } = present(account);
  const { issued, available, reserved, spent, openHolds } = present(credits);
  return {
    accountId,
    name,
    currency,
    createdAt: timeOf(createTime),
    openHolds,
    ...(suspendTime === undefined ? {} : { suspendedAt: timeOf(suspendTime) }),
    issued: Number(issued),
    available: Number(available),
    reserved: Number(reserved),
    spent: Number(spent),
  };
}

export function operatedOf({ account, earlierTime }: Pick<GrantCreditsResponse, 'account' | 'earlierTime'>): Operated {
  return { account: accountOf(account), ...(earlierTime === undefined ? {} : { earlierAt: timeOf(earlierTime) }) };
}

export function appOf(app: AppMessage | undefined): App {
  const { appId, accountId, displayName: name, createTime } = present(app);
  return { appId, accountId, name, createdAt: timeOf(createTime) };
}

export function keyOf(apiKey: ApiKey | undefined): ShownKey {
  const {
    keyId,
    accountId,
    appId,
    displayName: name,
    scopes,
    createTime,
    expireTime,
    revokeTime,
    lastUseTime,
    monthlyCap,
  } = present(apiKey);
  return {
    keyId,
    accountId,
    appId,
    name,
    scopes,
    createdAt: timeOf(createTime),
    ...(expireTime === undefined ? {} : { expiresAt: timeOf(expireTime) }),
    ...(revokeTime === undefined ? {} : { revokedAt: timeOf(revokeTime) }),
    ...(lastUseTime === undefined ? {} : { lastUsedAt: timeOf(lastUseTime) }),
    ...(monthlyCap === undefined ? {} : { monthlyCap: Number(monthlyCap) }),
  };
}

export function entryOf({
  sequence,
  kind,
  fromBook,
  toBook,
  credits,
  createTime,
  availableAfter,
  generationId,
  operationId,
  reason,
}: Entry): ShownEntry {
  return {
    sequence: Number(sequence),
    kind: wordOf(KIND, kind),
    from: wordOf(BOOK, fromBook),
    to: wordOf(BOOK, toBook),
    credits: Number(credits),
    at: timeOf(createTime),
    availableAfter: Number(availableAfter),
    ...(generationId === undefined ? {} : { generationId }),
    ...(operationId === undefined ? {} : { operationId }),
    ...(reason === undefined ? {} : { reason }),
  };
}

export function generationOf(record: GenerationRecord | undefined): ShownGeneration {
  const {
    generationId,
    accountId,
    appId,
    status,
    modelKey,
    operation,
    createTime,
    updateTime,
    completeTime,
    cancelTime,
    ...rest
  } = present(record);
  const { reservedCredits, chargedCredits, attempts, worker, error, clientTraceId, outputCount, provider, costs } =
    rest;
  return {
    generationId,
    accountId,
    appId,
    status: wordOf(STATUS, status),
    modelKey,
    operation: wordOf(OPERATION, operation),
    createdAt: timeOf(createTime),
    updatedAt: timeOf(updateTime),
    ...(completeTime === undefined ? {} : { completedAt: timeOf(completeTime) }),
    ...(cancelTime === undefined ? {} : { cancelRequestedAt: timeOf(cancelTime) }),
    reservedCredits: Number(reservedCredits),
    chargedCredits: Number(chargedCredits),
    attemptsMade: attempts,
    outputCount,
    ...(worker === undefined ? {} : { worker }),
    ...(provider === undefined ? {} : { provider }),
    ...(costs.length === 0 ? {} : { costs: costs.map(costOf) }),
    // The codes may be those of a newer server; they are only shown.
    ...(error === undefined
      ? {}
      : { error: { code: error.code, message: error.message, retryable: error.retryable } as TaskError }),
    ...(clientTraceId === undefined ? {} : { clientTraceId }),
  };
}

export function inspectedOf(
  record: GenerationRecord | undefined,
  content: GenerationContent | undefined,
): InspectedGeneration {
  const { prompt, negativePrompt, parameters = {}, referenceUploadIds } = present(content);
  return {
    ...generationOf(record),
    prompt,
    ...(negativePrompt === undefined ? {} : { negativePrompt }),
    parameters,
    referenceUploadIds,
  };
}

/** People of a server elsewhere. */
export class GrpcPeople {
  constructor(private readonly calls: GrpcCalls) {}

  async create(person: NewPerson): Promise<WithSignInLink> {
    const { person: created, signInLink } = await this.calls.call(People.method.createPerson, person);
    return { person: personOf(created), ...linkOf(signInLink) };
  }

  async list(accountId: string, { limit, cursor = '' }: PageRequest): Promise<Page<ShownPerson>> {
    const { people, nextPageToken } = await this.calls.call(People.method.listPeople, {
      accountId,
      pageSize: limit,
      pageToken: cursor,
    });
    return { items: people.map(personOf), ...(nextPageToken === '' ? {} : { nextCursor: nextPageToken }) };
  }

  async disable(personId: string): Promise<ShownPerson> {
    return personOf((await this.calls.call(People.method.disablePerson, { personId })).person);
  }

  async enable(personId: string): Promise<ShownPerson> {
    return personOf((await this.calls.call(People.method.enablePerson, { personId })).person);
  }

  async reset(personId: string): Promise<WithSignInLink> {
    const { person, signInLink } = await this.calls.call(People.method.resetPerson, { personId });
    return { person: personOf(person), ...linkOf(signInLink) };
  }

  async promote(personId: string): Promise<ShownPerson> {
    return personOf((await this.calls.call(People.method.promotePerson, { personId })).person);
  }

  async demote(personId: string): Promise<ShownPerson> {
    return personOf((await this.calls.call(People.method.demotePerson, { personId })).person);
  }
}

function personOf(person: Person | undefined): ShownPerson {
  const { personId, accountId, email, createTime, disableTime, lastSignInTime, promoteTime, hasPassword, passkeys } =
    present(person);
  return {
    personId,
    accountId,
    email,
    createdAt: timeOf(createTime),
    ...(disableTime === undefined ? {} : { disabledAt: timeOf(disableTime) }),
    ...(lastSignInTime === undefined ? {} : { lastSignInAt: timeOf(lastSignInTime) }),
    ...(promoteTime === undefined ? {} : { operatorSince: timeOf(promoteTime) }),
    hasPassword,
    passkeyCount: passkeys,
  };
}

function linkOf(link: LinkMessage | undefined): { readonly link?: SignInLink } {
  return link === undefined ? {} : { link: { path: link.path, expiresAt: timeOf(link.expireTime) } };
}

/** As a remote server reports it. */
export function storageOf({
  unchargedContent,
  apps,
  limits,
  nextPageToken,
}: GetAccountStorageResponse): AccountStorage {
  return {
    uncharged: { generations: Number(unchargedContent?.generations), bytes: Number(unchargedContent?.bytes) },
    apps: {
      items: apps.map(({ appId, displayName: name, uploads, unfinishedUploads, uploadBytes }) => ({
        appId,
        name,
        uploads: Number(uploads),
        unfinished: Number(unfinishedUploads),
        bytes: Number(uploadBytes),
      })),
      ...(nextPageToken === '' ? {} : { nextCursor: nextPageToken }),
    },
    limits: {
      unchargedBytes: Number(limits?.unchargedContentBytes),
      uploads: Number(limits?.uploads),
      unfinished: Number(limits?.unfinishedUploads),
      bytes: Number(limits?.uploadBytes),
    },
  };
}

// What a server answers of usage and costs, as the commands show it.

export function usageByOf(by: string | undefined): UsageBy {
  const word = WORDS.find((known) => known === by);
  return word === undefined ? UsageBy.UNSPECIFIED : USAGE_BY[word];
}

export function daysOf({ from, to }: SentUsage): { readonly from?: string; readonly to?: string } {
  return { ...(from === undefined ? {} : { from }), ...(to === undefined ? {} : { to }) };
}

export function usageOf({ rows, total, from, to, nextPageToken }: GetAccountUsageResponse, sentBy = 'day'): Usage {
  const by = WORDS.find((known) => known === sentBy) ?? 'day';
  return {
    request: { by, from, to },
    groups: rows.map(groupOf),
    total: sumsOf(total),
    ...(nextPageToken === '' ? {} : { nextCursor: nextPageToken }),
  };
}

function groupOf({ group, credentialName, sums }: UsageRow): UsageGroup {
  return { group, ...(credentialName === undefined ? {} : { credentialName }), ...sumsOf(sums) };
}

function sumsOf(message: SumsMessage | undefined): UsageSums {
  const { generations, failed, reservedCredits, chargedCredits, releasedCredits } = present(message);
  return {
    generations: Number(generations),
    failed: Number(failed),
    reservedCredits: Number(reservedCredits),
    chargedCredits: Number(chargedCredits),
    releasedCredits: Number(releasedCredits),
  };
}

export function costReportOf({ models, from, to }: GetModelCostsResponse): CostReport {
  return {
    from,
    to,
    models: models.map(({ modelKey, money, ...sums }) => ({
      modelKey,
      generations: Number(sums.generations),
      chargedCredits: Number(sums.chargedCredits),
      withoutMoney: Number(sums.withoutMoney),
      inputTokens: Number(sums.inputTokens),
      outputTokens: Number(sums.outputTokens),
      computeMs: Number(sums.computeMs),
      money: money.map(({ currency, micros }) => ({ currency, micros: Number(micros) })),
    })),
  };
}

/** For calls that examine all data. */
const EVERYTHING_MS = 3_600_000;

/** Throws `Failure` for options that cannot be. Nothing is asked of the server yet. */
export function openGrpcOperator(io: CliIo, options: GrpcOptions): GrpcOperator {
  return new GrpcOperator(
    new GrpcCalls(readGrpcPlace(io, options), (sentence) => {
      say(io, sentence);
    }),
  );
}

/** Operators' work on a server elsewhere, through its gRPC front. */
export class GrpcOperator implements Operator {
  private readonly people: GrpcPeople;

  constructor(private readonly calls: GrpcCalls) {
    this.people = new GrpcPeople(calls);
  }

  close(): void {
    this.calls.close();
  }

  async createAccount({ name, currency }: NewAccount): Promise<ShownAccount> {
    return accountOf(
      (
        await this.calls.call(Access.method.createAccount, {
          displayName: name,
          ...(currency === undefined ? {} : { currency }),
        })
      ).account,
    );
  }

  async getAccount(accountId: string): Promise<ShownAccount> {
    return accountOf((await this.calls.call(Access.method.getAccount, { accountId })).account);
  }

  async getStorage(accountId: string, page: PageRequest): Promise<AccountStorage> {
    return storageOf(await this.calls.call(Access.method.getAccountStorage, { accountId, ...sizeAndToken(page) }));
  }

  async listAccounts(page: PageRequest): Promise<Page<ShownAccount>> {
    const { accounts, nextPageToken } = await this.calls.call(Access.method.listAccounts, sizeAndToken(page));
    return { items: accounts.map(accountOf), ...cursorOf(nextPageToken) };
  }

  async suspendAccount(accountId: string, { cancelWork }: { readonly cancelWork: boolean }): Promise<Suspended> {
    const { account, cancelledWork } = await this.calls.call(
      Access.method.suspendAccount,
      { accountId, cancelWork },
      cancelWork ? EVERYTHING_MS : undefined,
    );
    if (cancelledWork === undefined) return { account: accountOf(account) };
    const { cancelled, stopping, unfinished } = cancelledWork;
    return { account: accountOf(account), work: { cancelled, stopping, unfinished } };
  }

  async resumeAccount(accountId: string): Promise<ShownAccount> {
    return accountOf((await this.calls.call(Access.method.resumeAccount, { accountId })).account);
  }

  async renameAccount(accountId: string, displayName: string): Promise<ShownAccount> {
    return accountOf((await this.calls.call(Access.method.renameAccount, { accountId, displayName })).account);
  }

  async createApp({ accountId, name }: Pick<App, 'accountId' | 'name'>): Promise<App> {
    return appOf((await this.calls.call(Access.method.createApp, { accountId, displayName: name })).app);
  }

  async listApps(accountId: string, page: PageRequest): Promise<Page<App>> {
    const { apps, nextPageToken } = await this.calls.call(Access.method.listApps, { accountId, ...sizeAndToken(page) });
    return { items: apps.map(appOf), ...cursorOf(nextPageToken) };
  }

  async createKey({
    appId,
    name,
    scopes = DEFAULT_SCOPES,
    expiresAt,
    monthlyCap,
  }: NewKey): Promise<{ readonly key: ShownKey; readonly secret: string }> {
    const expiry = expiresAt === undefined ? {} : { expireTime: timestampFromMs(expiresAt) };
    const { apiKey, secret } = await this.calls.call(Access.method.createApiKey, {
      appId,
      displayName: name,
      scopes: [...scopes],
      ...expiry,
      ...(monthlyCap === undefined ? {} : { monthlyCap: BigInt(monthlyCap) }),
    });
    return { key: keyOf(apiKey), secret };
  }

  async listKeys(accountId: string, page: PageRequest): Promise<Page<ShownKey>> {
    const { apiKeys, nextPageToken } = await this.calls.call(Access.method.listApiKeys, {
      accountId,
      ...sizeAndToken(page),
    });
    return { items: apiKeys.map(keyOf), ...cursorOf(nextPageToken) };
  }

  createPerson(person: NewPerson): Promise<WithSignInLink> {
    return this.people.create(person);
  }

  listPeople(accountId: string, page: PageRequest): Promise<Page<ShownPerson>> {
    return this.people.list(accountId, page);
  }

  disablePerson(personId: string): Promise<ShownPerson> {
    return this.people.disable(personId);
  }

  enablePerson(personId: string): Promise<ShownPerson> {
    return this.people.enable(personId);
  }

  promotePerson(personId: string): Promise<ShownPerson> {
    return this.people.promote(personId);
  }

  demotePerson(personId: string): Promise<ShownPerson> {
    return this.people.demote(personId);
  }

  resetPerson(personId: string): Promise<WithSignInLink> {
    return this.people.reset(personId);
  }

  async revokeKey(keyId: string): Promise<ShownKey> {
    return keyOf((await this.calls.call(Access.method.revokeApiKey, { keyId })).apiKey);
  }

  async expireKey(keyId: string, expiresAt: number): Promise<ShownKey> {
    return keyOf(
      (await this.calls.call(Access.method.expireApiKey, { keyId, expireTime: timestampFromMs(expiresAt) })).apiKey,
    );
  }

  async grantCredits({ credits, ...operation }: CreditOperation): Promise<Operated> {
    return operatedOf(await this.calls.call(Credits.method.grantCredits, { ...operation, credits: BigInt(credits) }));
  }

  async adjustCredits({ credits, ...operation }: CreditOperation): Promise<Operated> {
    return operatedOf(await this.calls.call(Credits.method.adjustCredits, { ...operation, credits: BigInt(credits) }));
  }

  async listEntries(accountId: string, page: PageRequest): Promise<Page<ShownEntry>> {
    const { entries, nextPageToken } = await this.calls.call(Credits.method.listEntries, {
      accountId,
      ...sizeAndToken(page),
    });
    return { items: entries.map(entryOf), ...cursorOf(nextPageToken) };
  }

  async getUsage(accountId: string, sent: SentUsage, page: PageRequest): Promise<Usage> {
    const asked = { accountId, by: usageByOf(sent.by), ...daysOf(sent), ...sizeAndToken(page) };
    return usageOf(await this.calls.call(Credits.method.getAccountUsage, asked), sent.by);
  }

  async getModelCosts({ accountId = '', ...sent }: SentCosts): Promise<CostReport> {
    const asked = { accountId, ...daysOf(sent) };
    return costReportOf(await this.calls.call(Operations.method.getModelCosts, asked, EVERYTHING_MS));
  }

  async searchGenerations(
    { accountId = '', appId = '', statuses = [] }: GenerationFilter,
    page: PageRequest,
  ): Promise<Page<ShownGeneration>> {
    const asked = { accountId, appId, statuses: statuses.map((status) => STATUS[status]), ...sizeAndToken(page) };
    const { generations, nextPageToken } = await this.calls.call(Operations.method.searchGenerations, asked);
    return { items: generations.map(generationOf), ...cursorOf(nextPageToken) };
  }

  async inspectGeneration(generationId: string): Promise<InspectedGeneration> {
    const { generation, content } = await this.calls.call(Operations.method.inspectGeneration, { generationId });
    return inspectedOf(generation, content);
  }

  async cancelGeneration(generationId: string): Promise<ShownGeneration> {
    return generationOf((await this.calls.call(Operations.method.stopGeneration, { generationId })).generation);
  }

  async listProviders(): Promise<readonly ConnectedProvider[]> {
    return (await this.calls.call(Operations.method.listProviders, {})).providers.map(providerOf);
  }

  async verifyCredits(): ReturnType<Operator['verifyCredits']> {
    const { accounts, entries, generations, findings } = await this.calls.call(
      Credits.method.verifyCredits,
      {},
      EVERYTHING_MS,
    );
    return { accounts: Number(accounts), entries: Number(entries), generations: Number(generations), findings };
  }

  async recover(): ReturnType<Operator['recover']> {
    const total = await this.calls.call(Operations.method.runRecovery, {}, EVERYTHING_MS);
    return {
      generations_woken: Number(total.generationsWoken),
      generations_ended: Number(total.generationsEnded),
      generations_settled: Number(total.generationsSettled),
      generations_retired: Number(total.generationsRetired),
      holds_released: Number(total.holdsReleased),
      holds_settled: Number(total.holdsSettled),
      uploads_swept: Number(total.uploadsSwept),
      uploads_removed: Number(total.uploadsRemoved),
      claims_removed: Number(total.claimsRemoved),
      artefacts_removed: Number(total.artefactsRemoved),
      deliveries_woken: Number(total.deliveriesWoken),
      deliveries_removed: Number(total.deliveriesRemoved),
      failed: Number(total.failed),
    };
  }
}

function sizeAndToken({ limit, cursor = '' }: PageRequest): { readonly pageSize: number; readonly pageToken: string } {
  return { pageSize: limit, pageToken: cursor };
}

function cursorOf(nextPageToken: string): { readonly nextCursor?: string } {
  return nextPageToken === '' ? {} : { nextCursor: nextPageToken };
}
