import { timestampMs, type Timestamp } from '@bufbuild/protobuf/wkt';
import type { MessageInitShape } from '@bufbuild/protobuf';
import { createAccount, createApp, createKey, revokeKey } from '../../../core/access/manage.js';
import type { ApiKey, App } from '../../../core/access/credential.js';
import { fieldInvalid } from '../../../core/fields.js';
import type { Account } from '../../../core/credits/account.js';
import { Access, type AccountSchema, type ApiKeySchema, type AppSchema } from '../generated/darkroom/v1/access_pb.js';
import { plain } from '../method.js';
import { nextPageToken, readPage } from '../pages.js';
import { readUuid } from '../read-uuid.js';
import { timestamp } from '../render/times.js';

const { method } = Access;

export const ACCESS_METHODS = [
  plain(method.createAccount, {
    scope: 'access:write',
    async answer({ context, request: { displayName, currency } }) {
      return { account: renderAccount(await createAccount(context, { name: displayName, ...(currency === '' ? {} : { currency }) })) };
    },
  }),
  plain(method.listAccounts, {
    scope: 'access:read',
    async answer({ context, request }) {
      const page = await context.accounts.list(readPage(request, 'accounts'), context.call);
      return { accounts: page.items.map(renderAccount), nextPageToken: nextPageToken(page, 'accounts') };
    },
  }),
  plain(method.createApp, {
    scope: 'access:write',
    async answer({ context, request: { accountId, displayName } }) {
      return { app: renderApp(await createApp(context, { accountId: readUuid(accountId, '/account_id'), name: displayName })) };
    },
  }),
  plain(method.listApps, {
    scope: 'access:read',
    async answer({ context, request }) {
      const accountId = readUuid(request.accountId, '/account_id');
      const page = await context.credentials.listApps(accountId, readPage(request, `apps of ${accountId}`), context.call);
      return { apps: page.items.map(renderApp), nextPageToken: nextPageToken(page, `apps of ${accountId}`) };
    },
  }),
  plain(method.createApiKey, {
    scope: 'access:write',
    async answer({ context, request: { appId, displayName, scopes, expireTime } }) {
      const { key, secret } = await createKey(context, {
        appId: readUuid(appId, '/app_id'), name: displayName, ...(scopes.length === 0 ? {} : { scopes }), ...expiryOf(expireTime),
      });
      return { apiKey: renderKey(key), secret };
    },
  }),
  plain(method.listApiKeys, {
    scope: 'access:read',
    async answer({ context, request }) {
      const accountId = readUuid(request.accountId, '/account_id');
      const page = await context.credentials.listKeys(accountId, readPage(request, `keys of ${accountId}`), context.call);
      return { apiKeys: page.items.map(renderKey), nextPageToken: nextPageToken(page, `keys of ${accountId}`) };
    },
  }),
  plain(method.revokeApiKey, {
    scope: 'access:write',
    answer: async ({ context, request: { keyId } }) => ({ apiKey: renderKey(await revokeKey(context, readUuid(keyId, '/key_id'))) }),
  }),
] as const;

/** 9999-12-31T23:59:59Z, the last that a Timestamp may be. */
const LAST_SECOND = 253_402_300_799n;

function expiryOf(expireTime: Timestamp | undefined): { readonly expiresAt?: number } {
  if (expireTime === undefined) return {};
  const { seconds, nanos } = expireTime;
  if (seconds < 0n || seconds > LAST_SECOND || nanos < 0 || nanos > 999_999_999) throw fieldInvalid('/expire_time', 'expire_time must be a time from 1970 to 9999.');
  return { expiresAt: timestampMs(expireTime) };
}

function renderAccount({ accountId, name, currency, createdAt }: Account): MessageInitShape<typeof AccountSchema> {
  return { accountId, displayName: name, currency, createTime: timestamp(createdAt) };
}

function renderApp({ appId, accountId, name, createdAt }: App): MessageInitShape<typeof AppSchema> {
  return { appId, accountId, displayName: name, createTime: timestamp(createdAt) };
}

function renderKey({ keyId, accountId, appId, name, scopes, createdAt, expiresAt, revokedAt }: ApiKey): MessageInitShape<typeof ApiKeySchema> {
  return {
    keyId, accountId, appId, displayName: name, scopes: [...scopes], createTime: timestamp(createdAt),
    ...(expiresAt === undefined ? {} : { expireTime: timestamp(expiresAt) }),
    ...(revokedAt === undefined ? {} : { revokeTime: timestamp(revokedAt) }),
  };
}
