import { timestampFromMs } from '@bufbuild/protobuf/wkt';
import type { NewKey } from '../../../core/access/manage.js';
import { DEFAULT_SCOPES, type App } from '../../../core/access/credential.js';
import type { Usage } from '../../../core/usage/read-usage.js';
import type { SentUsage } from '../../../core/usage/usage-request.js';
import type { CreditOperation } from '../../../core/credits/operate.js';
import type { GenerationFilter } from '../../../core/generation/operators-generations.js';
import type { ConnectedProvider } from '../../../core/providers/list-providers.js';
import type { Page, PageRequest } from '../../../core/paging.js';
import type { NewPerson } from '../../../core/people/manage-people.js';
import { Access } from '../../grpc/generated/darkroom/v1/access_pb.js';
import { Credits } from '../../grpc/generated/darkroom/v1/credits_pb.js';
import { Operations } from '../../grpc/generated/darkroom/v1/operations_pb.js';
import { STATUS } from '../../grpc/render/enums.js';
import type {
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
  Suspended,
  WithSignInLink,
} from '../../operator/operator.js';
import type { CliIo } from '../io.js';
import { say } from '../terminal.js';
import { GrpcCalls } from './grpc-calls.js';
import { readGrpcPlace, type GrpcOptions } from './grpc-place.js';
import { accountOf, appOf, entryOf, generationOf, inspectedOf, keyOf, operatedOf } from './grpc-answers.js';
import type { AccountStorage } from '../../operator/account-storage.js';
import { GrpcPeople } from './grpc-people.js';
import { providerOf } from './grpc-providers.js';
import { storageOf } from './grpc-storage.js';
import { costReportOf, daysOf, usageByOf, usageOf } from './grpc-usage.js';

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
