import type { ApiKey } from '../access/credential.js';
import { createKey, revokeKey, type NewKey } from '../access/manage.js';
import type { Context } from '../context.js';
import { ServiceError } from '../errors.js';
import { isUuid } from '../uuid.js';
import { appsForKeys } from './account-apps.js';

/** A person can make a key while their account has fewer of them, ended ones included. */
export const MAX_KEYS = 10_000;
const PAGE = 1_000;

export interface AskedKey extends Omit<NewKey, 'appId'> {
  /** The account's default App when absent. */
  readonly appId?: string;
}

/** The keys of an account, newest first, at most 10,000. */
export async function listAccountKeys(
  { credentials, call }: Pick<Context, 'credentials' | 'call'>,
  accountId: string,
): Promise<readonly ApiKey[]> {
  const keys: ApiKey[] = [];
  let cursor: string | undefined;
  do {
    const page = await credentials.listKeys(
      accountId,
      { limit: PAGE, ...(cursor === undefined ? {} : { cursor }) },
      call,
    );
    keys.push(...page.items);
    cursor = page.nextCursor;
  } while (cursor !== undefined && keys.length < MAX_KEYS);
  return keys.toSorted((a, b) => b.createdAt - a.createdAt);
}

/**
 * Makes a key for a person of the account. Throws what `createKey` does, NOT_FOUND for an App of another account, and
 * CONFLICT for an account with 10,000 keys.
 */
export async function createAccountKey(
  context: Context,
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

/** As `revokeKey`, for a key of this account. Throws NOT_FOUND for any other. */
export async function revokeAccountKey(context: Context, accountId: string, keyId: string): Promise<ApiKey> {
  const key = isUuid(keyId) ? await context.credentials.findKey({ keyId: keyId.toLowerCase() }) : null;
  if (key?.accountId !== accountId) throw new ServiceError('NOT_FOUND', 'There is no such key.');
  return revokeKey(context, key.keyId);
}
