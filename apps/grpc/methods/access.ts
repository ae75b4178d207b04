import type { MessageInitShape } from '@bufbuild/protobuf';
import type { App } from '../../../core/access/credential.js';
import { ServiceError } from '../../../core/errors.js';
import type { ShownKey } from '../../operator/operator.js';
import { StoreOperator } from '../../operator/store-operator.js';
import { Access, type ApiKeySchema, type AppSchema } from '../generated/darkroom/v1/access_pb.js';
import { plain } from '../method.js';
import { readPage } from '../pages.js';
import { renderAccount } from '../render/credits.js';
import { readTimestamp } from '../read-timestamp.js';
import { timestamp } from '../render/times.js';

const { method } = Access;

export const ACCESS_METHODS = [
  plain(method.createAccount, {
    scope: 'access:write',
    async answer({ context, request: { displayName: name, currency } }) {
      return {
        account: renderAccount(
          await new StoreOperator(context).createAccount({ name, ...(currency === '' ? {} : { currency }) }),
        ),
      };
    },
  }),
  plain(method.listAccounts, {
    scope: 'access:read',
    async answer({ context, request }) {
      const { items, nextCursor = '' } = await new StoreOperator(context).listAccounts(readPage(request));
      return { accounts: items.map(renderAccount), nextPageToken: nextCursor };
    },
  }),
  plain(method.getAccount, {
    scope: 'access:read',
    answer: async ({ context, request: { accountId } }) => ({
      account: renderAccount(await new StoreOperator(context).getAccount(accountId)),
    }),
  }),
  plain(method.suspendAccount, {
    scope: 'access:write',
    async answer({ context, request: { accountId, cancelWork } }) {
      const { account, work } = await new StoreOperator(context).suspendAccount(accountId, { cancelWork });
      return { account: renderAccount(account), ...(work === undefined ? {} : { cancelledWork: work }) };
    },
  }),
  plain(method.resumeAccount, {
    scope: 'access:write',
    answer: async ({ context, request: { accountId } }) => ({
      account: renderAccount(await new StoreOperator(context).resumeAccount(accountId)),
    }),
  }),
  plain(method.renameAccount, {
    scope: 'access:write',
    answer: async ({ context, request: { accountId, displayName: name } }) => ({
      account: renderAccount(await new StoreOperator(context).renameAccount(accountId, name)),
    }),
  }),
  plain(method.createApp, {
    scope: 'access:write',
    answer: async ({ context, request: { accountId, displayName: name } }) => ({
      app: renderApp(await new StoreOperator(context).createApp({ accountId, name })),
    }),
  }),
  plain(method.listApps, {
    scope: 'access:read',
    async answer({ context, request }) {
      const { items, nextCursor = '' } = await new StoreOperator(context).listApps(
        request.accountId,
        readPage(request),
      );
      return { apps: items.map(renderApp), nextPageToken: nextCursor };
    },
  }),
  plain(method.createApiKey, {
    scope: 'access:write',
    async answer({ context, request: { appId, displayName: name, scopes, expireTime, monthlyCap } }) {
      // Core takes no list for all scopes; here one that was lost on its way would make a key to everything.
      if (scopes.length === 0)
        throw new ServiceError('FIELD_REQUIRED', 'scopes is required: name all that the key may do.', {
          pointer: '/scopes',
        });
      const { key, secret } = await new StoreOperator(context).createKey({
        appId,
        name,
        scopes,
        ...(expireTime === undefined ? {} : { expiresAt: readTimestamp(expireTime, 'expire_time') }),
        // Core refuses what is no safe integer.
        ...(monthlyCap === undefined ? {} : { monthlyCap: Number(monthlyCap) }),
      });
      return { apiKey: renderKey(key), secret };
    },
  }),
  plain(method.listApiKeys, {
    scope: 'access:read',
    async answer({ context, request }) {
      const { items, nextCursor = '' } = await new StoreOperator(context).listKeys(
        request.accountId,
        readPage(request),
      );
      return { apiKeys: items.map(renderKey), nextPageToken: nextCursor };
    },
  }),
  plain(method.revokeApiKey, {
    scope: 'access:write',
    answer: async ({ context, request: { keyId } }) => ({
      apiKey: renderKey(await new StoreOperator(context).revokeKey(keyId)),
    }),
  }),
  plain(method.expireApiKey, {
    scope: 'access:write',
    async answer({ context, request: { keyId, expireTime } }) {
      if (expireTime === undefined)
        throw new ServiceError('FIELD_REQUIRED', 'expire_time is required.', { pointer: '/expire_time' });
      return {
        apiKey: renderKey(await new StoreOperator(context).expireKey(keyId, readTimestamp(expireTime, 'expire_time'))),
      };
    },
  }),
] as const;

function renderApp({ appId, accountId, name, createdAt }: App): MessageInitShape<typeof AppSchema> {
  return { appId, accountId, displayName: name, createTime: timestamp(createdAt) };
}

function renderKey({
  keyId,
  accountId,
  appId,
  name,
  scopes,
  createdAt,
  expiresAt,
  revokedAt,
  lastUsedAt,
  monthlyCap,
}: ShownKey): MessageInitShape<typeof ApiKeySchema> {
  return {
    keyId,
    accountId,
    appId,
    displayName: name,
    scopes: [...scopes],
    createTime: timestamp(createdAt),
    ...(expiresAt === undefined ? {} : { expireTime: timestamp(expiresAt) }),
    ...(revokedAt === undefined ? {} : { revokeTime: timestamp(revokedAt) }),
    ...(lastUsedAt === undefined ? {} : { lastUseTime: timestamp(lastUsedAt) }),
    ...(monthlyCap === undefined ? {} : { monthlyCap: BigInt(monthlyCap) }),
  };
}
