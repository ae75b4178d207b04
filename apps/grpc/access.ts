import type { MessageInitShape } from '@bufbuild/protobuf';
import type { ApiKey, App } from '../../core/access/credential.js';
import {
  createAccount,
  createApp,
  createKey,
  expireKey,
  renameAccount,
  renameApp,
  resumeAccount,
  revokeKey,
  suspendAccount,
} from '../../core/access/manage.js';
import type { Call, Erasing, Files, Identity, Machine, Money, Webhooks, Work } from '../../core/context.js';
import type { Account } from '../../core/credits/account.js';
import { ERASABLE, type Erasure } from '../../core/erasure/erasure.js';
import { eraseAccount, eraseTrace, findErasure } from '../../core/erasure/request-erasure.js';
import { ServiceError } from '../../core/errors.js';
import { cancelOpenGenerations } from '../../core/generation/end-generation.js';
import type { Page, PageRequest } from '../../core/paging.js';
import { pageByToken } from '../page-token.js';
import { int64s, readTimestamp, timestamp, valuesByWord } from './enums.js';
import { Access, type ApiKeySchema, type AppSchema } from './generated/darkroom/v1/access_pb.js';
import type { AccountSchema } from './generated/darkroom/v1/accounts_pb.js';
import { type ErasureSchema, ErasureSubject } from './generated/darkroom/v1/erasure_pb.js';
import type { AppStorageSchema } from './generated/darkroom/v1/storage_pb.js';
import { plain, readPage, readUuid, type ServedMethod } from './method.js';

const { method } = Access;

/** Accounts, their Apps, API keys and storage, for operators. */
export const ACCESS_METHODS: readonly ServedMethod<
  Money & Work & Files & Identity & Webhooks & Erasing & Machine & Call
>[] = [
  plain(method.createAccount, 'access:write', async ({ context, request: { displayName: name, currency } }) => {
    const account = await createAccount(context, { name, ...(currency === '' ? {} : { currency }) });
    return { account: renderAccount(account) };
  }),
  plain(method.listAccounts, 'access:read', async ({ context, request }) => {
    const { items, nextCursor = '' } = await pageByToken(readPage(request), 'accounts', (page) =>
      context.accounts.list(page, context.call),
    );
    return { accounts: items.map(renderAccount), nextPageToken: nextCursor };
  }),
  plain(method.getAccount, 'access:read', async ({ context, request }) => ({
    account: renderAccount(await requireAccount(context, request)),
  })),
  plain(method.getAccountStorage, 'access:read', async ({ context, request }) => {
    const { settings, generations, uploads, credentials, call } = context;
    const { items, nextCursor = '' } = await pageOfAccount(context, request, 'apps', (id, page) =>
      credentials.listApps(id, page, call),
    );
    const accountId = request.accountId.toLowerCase();
    const uncharged = await generations.stored(accountId, 'uncharged', call);
    const thumbnails = await generations.stored(accountId, 'thumbnails', call);
    const apps: MessageInitShape<typeof AppStorageSchema>[] = [];
    // Each App costs a query of the index of uploads.
    for (const { appId, name: displayName } of items) {
      const usage = await uploads.usage(accountId, appId, call);
      apps.push({
        appId,
        displayName,
        ...int64s({ uploads: usage.uploads, unfinishedUploads: usage.unfinished, uploadBytes: usage.bytes }),
      });
    }
    return {
      unchargedContent: int64s(uncharged),
      thumbnails: int64s(thumbnails),
      apps,
      limits: int64s({
        unchargedContentBytes: settings.maxUnchargedContentBytesPerAccount,
        uploads: settings.maxStoredUploadsPerApp,
        unfinishedUploads: settings.maxUnfinishedUploadsPerApp,
        uploadBytes: settings.maxStoredUploadBytesPerApp,
      }),
      nextPageToken: nextCursor,
    };
  }),
  plain(method.suspendAccount, 'access:write', async ({ context, request }) => {
    const accountId = readUuid(request.accountId, '/account_id');
    const suspended = await suspendAccount(context, accountId);
    if (!request.cancelWork) return { account: renderAccount(suspended) };
    const cancelledWork = await cancelOpenGenerations(context, accountId);
    return { account: renderAccount(await requireAccount(context, { accountId })), cancelledWork };
  }),
  plain(method.resumeAccount, 'access:write', async ({ context, request }) => ({
    account: renderAccount(await resumeAccount(context, readUuid(request.accountId, '/account_id'))),
  })),
  plain(method.renameAccount, 'access:write', async ({ context, request }) => {
    const accountId = readUuid(request.accountId, '/account_id');
    return { account: renderAccount(await renameAccount(context, accountId, request.displayName)) };
  }),
  plain(method.eraseAccount, 'erasure:write', async ({ context, request }) => ({
    erasure: renderErasure(await eraseAccount(context, readUuid(request.accountId, '/account_id'))),
  })),
  plain(method.eraseTrace, 'erasure:write', async ({ context, request }) => {
    const accountId = readUuid(request.accountId, '/account_id');
    return { erasure: renderErasure(await eraseTrace(context, accountId, request.clientTraceId)) };
  }),
  plain(method.getErasure, 'access:read', async ({ context, request }) => ({
    erasure: renderErasure(await findErasure(context, readUuid(request.erasureId, '/erasure_id'))),
  })),
  plain(method.createApp, 'access:write', async ({ context, request }) => {
    const accountId = readUuid(request.accountId, '/account_id');
    return { app: renderApp(await createApp(context, { accountId, name: request.displayName })) };
  }),
  plain(method.renameApp, 'access:write', async ({ context, request }) => {
    const appId = readUuid(request.appId, '/app_id');
    return { app: renderApp(await renameApp(context, { appId, name: request.displayName })) };
  }),
  plain(method.listApps, 'access:read', async ({ context, request }) => {
    const { items, nextCursor = '' } = await pageOfAccount(context, request, 'apps', (accountId, page) =>
      context.credentials.listApps(accountId, page, context.call),
    );
    return { apps: items.map(renderApp), nextPageToken: nextCursor };
  }),
  plain(
    method.createApiKey,
    'access:write',
    async ({ context, request: { appId, displayName: name, scopes, expireTime, monthlyCap } }) => {
      // Core grants all scopes without a list; here a list that was lost on its way must not grant everything.
      if (scopes.length === 0)
        throw new ServiceError('FIELD_REQUIRED', 'scopes is required: name all that the key may do.', {
          pointer: '/scopes',
        });
      const expiry = expireTime === undefined ? {} : { expiresAt: readTimestamp(expireTime, 'expire_time') };
      // Core refuses a cap that is not a safe integer.
      const cap = monthlyCap === undefined ? {} : { monthlyCap: Number(monthlyCap) };
      const newKey = { appId: readUuid(appId, '/app_id'), name, scopes, ...expiry, ...cap };
      const { key, secret } = await createKey(context, newKey);
      return { apiKey: renderKey(key), secret };
    },
  ),
  plain(method.listApiKeys, 'access:read', async ({ context, request }) => {
    const { items, nextCursor = '' } = await pageOfAccount(context, request, 'keys', (accountId, page) =>
      context.credentials.listKeys(accountId, page, context.call),
    );
    return { apiKeys: items.map(renderKey), nextPageToken: nextCursor };
  }),
  plain(method.revokeApiKey, 'access:write', async ({ context, request }) => ({
    apiKey: renderKey(await revokeKey(context, readUuid(request.keyId, '/key_id'))),
  })),
  plain(method.expireApiKey, 'access:write', async ({ context, request: { keyId: id, expireTime } }) => {
    if (expireTime === undefined)
      throw new ServiceError('FIELD_REQUIRED', 'expire_time is required.', { pointer: '/expire_time' });
    const expiresAt = readTimestamp(expireTime, 'expire_time');
    const keyId = readUuid(id, '/key_id');
    const before = await context.credentials.findKey({ keyId });
    if (before?.revokedAt !== undefined)
      throw new ServiceError('CONFLICT', `Key ${keyId} (${before.name}) is revoked already; nothing was changed.`);
    return { apiKey: renderKey(await expireKey(context, keyId, expiresAt)) };
  }),
];

/** Throws FIELD_INVALID, and NOT_FOUND for an account that does not exist. */
export async function requireAccount(
  { accounts, call }: Money & Call,
  request: { readonly accountId: string },
): Promise<Account> {
  const accountId = readUuid(request.accountId, '/account_id');
  const account = await accounts.read(accountId, call);
  if (!account) throw new ServiceError('NOT_FOUND', `There is no account ${accountId}.`);
  return account;
}

/** A page of a list of one account. Throws NOT_FOUND, since an empty list would not show that there is no such account. */
export async function pageOfAccount<T>(
  context: Money & Call,
  request: { readonly accountId: string; readonly pageSize: number; readonly pageToken: string },
  what: string,
  list: (accountId: string, page: PageRequest) => Promise<Page<T>>,
): Promise<Page<T>> {
  const page = readPage(request);
  const { accountId } = await requireAccount(context, request);
  return pageByToken(page, `${what} of ${accountId}`, (asked) => list(accountId, asked));
}

export function renderAccount(account: Account): MessageInitShape<typeof AccountSchema> {
  const { accountId, name, currency, createdAt, suspendedAt, erasedAt, issued, available, reserved, spent, holds } =
    account;
  return {
    accountId,
    displayName: name,
    currency,
    createTime: timestamp(createdAt),
    suspendTime: timestamp(suspendedAt),
    eraseTime: timestamp(erasedAt),
    credits: { ...int64s({ issued, available, reserved, spent }), openHolds: holds.size },
  };
}

const SUBJECT = valuesByWord(ERASABLE, ErasureSubject);

/** Without the trace id. */
export function renderErasure(erasure: Erasure): MessageInitShape<typeof ErasureSchema> {
  const { erasureId, of, accountId, requestedAt, erasedAt, completedAt } = erasure;
  return {
    erasureId,
    subject: SUBJECT[of],
    accountId,
    requestTime: timestamp(requestedAt),
    eraseTime: timestamp(erasedAt),
    completeTime: timestamp(completedAt),
  };
}

function renderApp({ appId, accountId, name, createdAt }: App): MessageInitShape<typeof AppSchema> {
  return { appId, accountId, displayName: name, createTime: timestamp(createdAt) };
}

/** Renders a key with the hint of its secret, never the secret. */
function renderKey(key: ApiKey): MessageInitShape<typeof ApiKeySchema> {
  const { keyId, accountId, appId, name, hint, scopes, createdAt, expiresAt, revokedAt, lastUsedAt, monthlyCap } = key;
  return {
    keyId,
    accountId,
    appId,
    displayName: name,
    scopes: [...scopes],
    createTime: timestamp(createdAt),
    expireTime: timestamp(expiresAt),
    revokeTime: timestamp(revokedAt),
    lastUseTime: timestamp(lastUsedAt),
    ...int64s({ monthlyCap }),
    hint: hint ?? '',
  };
}
