import type { ApiKey, App } from '../access/credential.js';
import { createKey, derivedApp, type NewKey, revokeKey } from '../access/manage.js';
import type { Call, Identity, Machine, Money } from '../context.js';
import { ServiceError } from '../errors.js';
import { derivedUuid, isDerivedUuid, isUuid } from '../ids.js';
import { pagesOf } from '../paging.js';

/** An account's Apps are shown and chosen from as far as one page of the store. */
const MAX_APPS = 1_000;

/** The Apps of an account that keys can be made for, the default one first, then the oldest first. */
export interface AccountApps {
  readonly defaultApp: App;
  readonly others: readonly App[];
}

/**
 * The App that keys are made for unless another one is picked is the oldest that an operator has made. An account
 * without one gets one. The console's own App and those of connected clients are not for keys.
 */
export async function appsForKeys(ports: Identity & Machine & Call, accountId: string): Promise<AccountApps> {
  const { items } = await ports.credentials.listApps(accountId, { limit: MAX_APPS }, ports.call);
  const of = `default app of ${accountId}`;
  const defaultId = derivedUuid(ports.digests.keyed(of));
  const apps = items
    .filter(({ appId }) => appId === defaultId || !isDerivedUuid(appId))
    .toSorted((a, b) => a.createdAt - b.createdAt);
  const known = apps.find(({ appId }) => appId === defaultId) ?? apps[0];
  const defaultApp = known ?? (await derivedApp(ports, of, { accountId, name: 'default' }));
  return { defaultApp, others: apps.filter((app) => app !== known) };
}

/** The App in which the account page acts for the people of an account. */
export function consoleApp(ports: Identity & Machine & Call, accountId: string): Promise<App> {
  return derivedApp(ports, `console app of ${accountId}`, { accountId, name: 'account page' });
}

/** A person can make a key while their account has fewer of them, ended ones included. */
export const MAX_KEYS = 10_000;
const PAGE = 1_000;

export interface AskedKey extends Omit<NewKey, 'appId'> {
  /** The account's default App when absent. */
  readonly appId?: string;
}

/** The keys of an account, newest first, at most 10,000. */
export async function listAccountKeys(
  { credentials, call }: Identity & Call,
  accountId: string,
): Promise<readonly ApiKey[]> {
  const keys: ApiKey[] = [];
  for await (const items of pagesOf((page) => credentials.listKeys(accountId, page, call), PAGE)) {
    keys.push(...items);
    if (keys.length >= MAX_KEYS) break;
  }
  return keys.toSorted((a, b) => b.createdAt - a.createdAt);
}

/**
 * Makes a key for a person of the account. Throws what `createKey` does, NOT_FOUND for an App of another account, and
 * CONFLICT for an account with 10,000 keys.
 */
export async function createAccountKey(
  context: Money & Identity & Machine & Call,
  accountId: string,
  { appId, ...asked }: AskedKey,
): Promise<{ readonly key: ApiKey; readonly secret: string }> {
  const { defaultApp, others } = await appsForKeys(context, accountId);
  const app =
    appId === undefined ? defaultApp : [defaultApp, ...others].find((one) => one.appId === appId.toLowerCase());
  if (!app) throw new ServiceError('NOT_FOUND', 'There is no such App.');
  if ((await listAccountKeys(context, accountId)).length >= MAX_KEYS)
    throw new ServiceError(
      'CONFLICT',
      'This account has as many keys as it may have; ask the operator for another one.',
    );
  return createKey(context, { ...asked, appId: app.appId });
}

/** Same as `revokeKey`, for a key of this account. Throws NOT_FOUND for any other. */
export async function revokeAccountKey(
  context: Identity & Machine & Call,
  accountId: string,
  keyId: string,
): Promise<ApiKey> {
  const key = isUuid(keyId) ? await context.credentials.findKey({ keyId: keyId.toLowerCase() }) : null;
  if (key?.accountId !== accountId) throw new ServiceError('NOT_FOUND', 'There is no such key.');
  return revokeKey(context, key.keyId);
}
