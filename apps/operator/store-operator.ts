import type { App } from '../../core/access/credential.js';
import {
  createAccount,
  createApp,
  createKey,
  expireKey,
  type NewKey,
  renameAccount,
  resumeAccount,
  revokeKey,
  suspendAccount,
} from '../../core/access/manage.js';
import type { Context } from '../../core/context.js';
import type { Account } from '../../core/credits/account.js';
import { adjustCredits, type CreditOperation, grantCredits } from '../../core/credits/operate.js';
import { verifyCredits } from '../../core/credits/verify.js';
import { ServiceError } from '../../core/errors.js';
import { fieldInvalid } from '../../core/fields.js';
import { cancelOpenGenerations } from '../../core/generation/end-generation.js';
import type { Generation } from '../../core/generation/generation.js';
import {
  cancelAnyGeneration,
  findGeneration,
  type GenerationFilter,
  searchGenerations,
} from '../../core/generation/operators-generations.js';
import { isUuid } from '../../core/ids.js';
import type { Page, PageRequest } from '../../core/paging.js';
import {
  createPerson,
  disablePerson,
  enablePerson,
  type NewPerson,
  resetPerson,
} from '../../core/people/manage-people.js';
import { demotePerson, promotePerson } from '../../core/people/operators.js';
import type { Person } from '../../core/people/person.js';
import { createSignInLink } from '../../core/people/sign-in.js';
import { type ConnectedProvider, listProviders } from '../../core/providers/list-providers.js';
import { addUpCosts, readUsage, readUsageRequest, type SentUsage, type Usage } from '../../core/usage/read-usage.js';
import { cursorOf, pageByToken, tokenOf } from '../page-token.js';
import {
  accountStorage,
  type AccountStorage,
  type CostReport,
  type InspectedGeneration,
  type NewAccount,
  type Operated,
  type Operator,
  recoverAll,
  type SentCosts,
  type ShownAccount,
  type ShownEntry,
  type ShownGeneration,
  type ShownKey,
  type ShownPerson,
  type Suspended,
  type WithSignInLink,
} from './operator.js';

/** In lower case. Throws FIELD_INVALID, as some stores can hold nothing else. */
export function readUuid(text: string, pointer: string): string {
  if (!isUuid(text)) throw fieldInvalid(pointer, `${pointer.slice(1)} must be a UUID.`);
  return text.toLowerCase();
}

export function shownPerson({ password, passkeys, ...person }: Person): ShownPerson {
  const { personId, accountId, email, createdAt, disabledAt, lastSignInAt, operatorSince } = person;
  return {
    personId,
    accountId,
    email,
    createdAt,
    ...(disabledAt === undefined ? {} : { disabledAt }),
    ...(lastSignInAt === undefined ? {} : { lastSignInAt }),
    ...(operatorSince === undefined ? {} : { operatorSince }),
    hasPassword: password !== undefined,
    passkeyCount: passkeys.length,
  };
}

/** Where the front for sign-in takes the secret of a link. */
export function signInPath(secret: string): string {
  return `/sign-in/link/${secret}`;
}

/** A person with a link, if they have no password and may sign in. */
export async function withSignInLink(context: Context, person: Person): Promise<WithSignInLink> {
  if (person.password !== undefined || person.disabledAt !== undefined) return { person: shownPerson(person) };
  const { secret, expiresAt } = await createSignInLink(context, person.personId);
  return { person: shownPerson(person), link: { path: signInPath(secret), expiresAt } };
}

/** The operators' operations on the stores, for the gRPC front and the commands. */
export class StoreOperator implements Operator {
  constructor(private readonly context: Context) {}

  async createAccount(account: NewAccount): Promise<ShownAccount> {
    return shownAccount(await createAccount(this.context, account));
  }

  async getAccount(accountId: string): Promise<ShownAccount> {
    return shownAccount(await this.account(accountId));
  }

  async getStorage(id: string, page: PageRequest): Promise<AccountStorage> {
    return accountStorage(this.context, readUuid(id, '/account_id'), await this.listApps(id, page));
  }

  async listAccounts(page: PageRequest): Promise<Page<ShownAccount>> {
    const { items, ...more } = await pageByToken(page, 'accounts', (asked) =>
      this.context.accounts.list(asked, this.context.call),
    );
    return { items: items.map(shownAccount), ...more };
  }

  async suspendAccount(id: string, { cancelWork }: { readonly cancelWork: boolean }): Promise<Suspended> {
    const accountId = readUuid(id, '/account_id');
    const account = await suspendAccount(this.context, accountId);
    if (!cancelWork) return { account: shownAccount(account) };
    const work = await cancelOpenGenerations(this.context, accountId);
    return { account: await this.getAccount(accountId), work };
  }

  async resumeAccount(id: string): Promise<ShownAccount> {
    return shownAccount(await resumeAccount(this.context, readUuid(id, '/account_id')));
  }

  async renameAccount(id: string, name: string): Promise<ShownAccount> {
    return shownAccount(await renameAccount(this.context, readUuid(id, '/account_id'), name));
  }

  createApp({ accountId, name }: Pick<App, 'accountId' | 'name'>): Promise<App> {
    return createApp(this.context, { accountId: readUuid(accountId, '/account_id'), name });
  }

  listApps(id: string, page: PageRequest): Promise<Page<App>> {
    return this.pageOf(id, 'apps', page, (accountId, asked) =>
      this.context.credentials.listApps(accountId, asked, this.context.call),
    );
  }

  createKey(key: NewKey): Promise<{ readonly key: ShownKey; readonly secret: string }> {
    return createKey(this.context, { ...key, appId: readUuid(key.appId, '/app_id') });
  }

  listKeys(id: string, page: PageRequest): Promise<Page<ShownKey>> {
    return this.pageOf(id, 'keys', page, (accountId, asked) =>
      this.context.credentials.listKeys(accountId, asked, this.context.call),
    );
  }

  revokeKey(keyId: string): Promise<ShownKey> {
    return revokeKey(this.context, readUuid(keyId, '/key_id'));
  }

  async expireKey(id: string, expiresAt: number): Promise<ShownKey> {
    const keyId = readUuid(id, '/key_id');
    const before = await this.context.credentials.findKey({ keyId });
    if (before?.revokedAt !== undefined)
      throw new ServiceError('CONFLICT', `Key ${keyId} (${before.name}) is revoked already; nothing was changed.`);
    return expireKey(this.context, keyId, expiresAt);
  }

  async createPerson(person: NewPerson): Promise<WithSignInLink> {
    const accountId = readUuid(person.accountId, '/account_id');
    return withSignInLink(this.context, await createPerson(this.context, { ...person, accountId }));
  }

  async listPeople(id: string, page: PageRequest): Promise<Page<ShownPerson>> {
    const { items, ...more } = await this.pageOf(id, 'people', page, (accountId, asked) =>
      this.context.people.list(accountId, asked, this.context.call),
    );
    return { items: items.map(shownPerson), ...more };
  }

  async disablePerson(personId: string): Promise<ShownPerson> {
    return shownPerson(await disablePerson(this.context, readUuid(personId, '/person_id')));
  }

  async enablePerson(personId: string): Promise<ShownPerson> {
    return shownPerson(await enablePerson(this.context, readUuid(personId, '/person_id')));
  }

  async resetPerson(personId: string): Promise<WithSignInLink> {
    return withSignInLink(this.context, await resetPerson(this.context, readUuid(personId, '/person_id')));
  }

  async promotePerson(personId: string): Promise<ShownPerson> {
    return shownPerson(await promotePerson(this.context, readUuid(personId, '/person_id')));
  }

  async demotePerson(personId: string): Promise<ShownPerson> {
    return shownPerson(await demotePerson(this.context, readUuid(personId, '/person_id')));
  }

  grantCredits(operation: CreditOperation): Promise<Operated> {
    return this.operate(grantCredits, operation);
  }

  adjustCredits(operation: CreditOperation): Promise<Operated> {
    return this.operate(adjustCredits, operation);
  }

  listEntries(id: string, page: PageRequest): Promise<Page<ShownEntry>> {
    return this.pageOf(id, 'entries', page, (accountId, asked) =>
      this.context.accounts.entries(accountId, asked, this.context.call),
    );
  }

  async getUsage(id: string, sent: SentUsage, page: PageRequest): Promise<Usage> {
    const { accountId } = await this.account(id);
    const request = readUsageRequest(sent, this.context.clock.now());
    const list = `usage of ${accountId} ${JSON.stringify(request)}`;
    const { nextCursor, ...usage } = await readUsage(this.context, { accountId }, request, cursorOf(page, list));
    return { ...usage, ...(nextCursor === undefined ? {} : { nextCursor: tokenOf(list, nextCursor) }) };
  }

  async getModelCosts({ accountId: id, ...sent }: SentCosts): Promise<CostReport> {
    const account = id === undefined ? {} : { accountId: (await this.account(id)).accountId };
    const { from, to } = readUsageRequest({ ...sent, by: 'model' }, this.context.clock.now());
    return { from, to, models: await addUpCosts(this.context, { from, to, ...account }) };
  }

  async searchGenerations(asked: GenerationFilter, page: PageRequest): Promise<Page<ShownGeneration>> {
    const filter = await this.filterOf(asked);
    const { accountId = 'all accounts', appId = 'all Apps', statuses = [] } = filter;
    const list = `generations of ${accountId} and ${appId} ${statuses.join(' ')}`;
    const { items, ...more } = await pageByToken(page, list, (within) =>
      searchGenerations(this.context, filter, within),
    );
    return { items: items.map(shownGeneration), ...more };
  }

  async inspectGeneration(id: string): Promise<InspectedGeneration> {
    const generation = await findGeneration(this.context, readUuid(id, '/generation_id'));
    const { prompt, negativePrompt, parameters, references } = generation;
    return {
      ...shownGeneration(generation),
      prompt,
      ...(negativePrompt === undefined ? {} : { negativePrompt }),
      parameters,
      referenceUploadIds: references.map(({ uploadId }) => uploadId),
    };
  }

  async cancelGeneration(id: string): Promise<ShownGeneration> {
    return shownGeneration(await cancelAnyGeneration(this.context, readUuid(id, '/generation_id')));
  }

  listProviders(): Promise<readonly ConnectedProvider[]> {
    return listProviders(this.context);
  }

  verifyCredits(): ReturnType<Operator['verifyCredits']> {
    return verifyCredits(this.context);
  }

  recover(): ReturnType<Operator['recover']> {
    return recoverAll(this.context);
  }

  /** With the account that an App is of; an empty list would not say that there is no such account, or App. */
  private async filterOf({ accountId, appId, statuses }: GenerationFilter): Promise<GenerationFilter> {
    const stand =
      statuses === undefined || statuses.length === 0 ? {} : { statuses: [...new Set(statuses)].toSorted() };
    const account = accountId === undefined ? undefined : (await this.account(accountId)).accountId;
    if (appId === undefined) return { ...stand, ...(account === undefined ? {} : { accountId: account }) };
    const app = await this.context.credentials.readApp(readUuid(appId, '/app_id'), this.context.call);
    if (!app) throw new ServiceError('NOT_FOUND', `There is no App ${appId.toLowerCase()}.`);
    if (account !== undefined && account !== app.accountId)
      throw new ServiceError('NOT_FOUND', `Account ${account} has no App ${app.appId}.`);
    return { ...stand, accountId: app.accountId, appId: app.appId };
  }

  /** An empty list would not say that there is no such account. */
  private async pageOf<T>(
    id: string,
    what: string,
    page: PageRequest,
    list: (accountId: string, asked: PageRequest) => Promise<Page<T>>,
  ): Promise<Page<T>> {
    const { accountId } = await this.account(id);
    return pageByToken(page, `${what} of ${accountId}`, (asked) => list(accountId, asked));
  }

  private async operate(make: typeof grantCredits, operation: CreditOperation): Promise<Operated> {
    const accountId = readUuid(operation.accountId, '/account_id');
    // Core accepts a repeated operation, so that it can be sent again; that it changed nothing is determined here.
    const earlier = await this.context.accounts.findOperation(accountId, operation.operationId);
    const account = shownAccount(await make(this.context, { ...operation, accountId }));
    return { account, ...(earlier === null ? {} : { earlierAt: earlier.at }) };
  }

  private async account(id: string): Promise<Account> {
    const accountId = readUuid(id, '/account_id');
    const account = await this.context.accounts.read(accountId, this.context.call);
    if (!account) throw new ServiceError('NOT_FOUND', `There is no account ${accountId}.`);
    return account;
  }
}

export function shownAccount(account: Account): ShownAccount {
  return { ...account, openHolds: account.holds.size };
}

export function shownGeneration(generation: Generation): ShownGeneration {
  const { lease, outputs, attempt } = generation;
  return {
    ...generation,
    ...(lease === undefined ? {} : { worker: lease.worker }),
    ...(attempt?.provider === undefined ? {} : { provider: attempt.provider }),
    outputCount: outputs.length,
  };
}
