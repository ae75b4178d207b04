import type { MessageInitShape } from '@bufbuild/protobuf';
import type { App } from '../../core/access/credential.js';
import { ServiceError } from '../../core/errors.js';
import type { ShownKey, ShownPerson, SignInLink } from '../operator/operator.js';
import { StoreOperator } from '../operator/store-operator.js';
import { renderAccount } from './credits.js';
import { readTimestamp, timestamp } from './enums.js';
import { Access, type ApiKeySchema, type AppSchema } from './generated/darkroom/v1/access_pb.js';
import { People, type PersonSchema, type SignInLinkSchema } from './generated/darkroom/v1/people_pb.js';
import { plain, readPage } from './method.js';

const { method: methodAccess } = Access;

export const ACCESS_METHODS = [
  plain(methodAccess.createAccount, {
    scope: 'access:write',
    async answer({ context, request: { displayName: name, currency } }) {
      return {
        account: renderAccount(
          await new StoreOperator(context).createAccount({ name, ...(currency === '' ? {} : { currency }) }),
        ),
      };
    },
  }),
  plain(methodAccess.listAccounts, {
    scope: 'access:read',
    async answer({ context, request }) {
      const { items, nextCursor = '' } = await new StoreOperator(context).listAccounts(readPage(request));
      return { accounts: items.map(renderAccount), nextPageToken: nextCursor };
    },
  }),
  plain(methodAccess.getAccount, {
    scope: 'access:read',
    answer: async ({ context, request: { accountId } }) => ({
      account: renderAccount(await new StoreOperator(context).getAccount(accountId)),
    }),
  }),
  plain(methodAccess.suspendAccount, {
    scope: 'access:write',
    async answer({ context, request: { accountId, cancelWork } }) {
      const { account, work } = await new StoreOperator(context).suspendAccount(accountId, { cancelWork });
      return { account: renderAccount(account), ...(work === undefined ? {} : { cancelledWork: work }) };
    },
  }),
  plain(methodAccess.resumeAccount, {
    scope: 'access:write',
    answer: async ({ context, request: { accountId } }) => ({
      account: renderAccount(await new StoreOperator(context).resumeAccount(accountId)),
    }),
  }),
  plain(methodAccess.renameAccount, {
    scope: 'access:write',
    answer: async ({ context, request: { accountId, displayName: name } }) => ({
      account: renderAccount(await new StoreOperator(context).renameAccount(accountId, name)),
    }),
  }),
  plain(methodAccess.createApp, {
    scope: 'access:write',
    answer: async ({ context, request: { accountId, displayName: name } }) => ({
      app: renderApp(await new StoreOperator(context).createApp({ accountId, name })),
    }),
  }),
  plain(methodAccess.listApps, {
    scope: 'access:read',
    async answer({ context, request }) {
      const { items, nextCursor = '' } = await new StoreOperator(context).listApps(
        request.accountId,
        readPage(request),
      );
      return { apps: items.map(renderApp), nextPageToken: nextCursor };
    },
  }),
  plain(methodAccess.createApiKey, {
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
  plain(methodAccess.listApiKeys, {
    scope: 'access:read',
    async answer({ context, request }) {
      const { items, nextCursor = '' } = await new StoreOperator(context).listKeys(
        request.accountId,
        readPage(request),
      );
      return { apiKeys: items.map(renderKey), nextPageToken: nextCursor };
    },
  }),
  plain(methodAccess.revokeApiKey, {
    scope: 'access:write',
    answer: async ({ context, request: { keyId } }) => ({
      apiKey: renderKey(await new StoreOperator(context).revokeKey(keyId)),
    }),
  }),
  plain(methodAccess.expireApiKey, {
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

const { method: methodPeople } = People;

export const PEOPLE_METHODS = [
  plain(methodPeople.createPerson, {
    scope: 'access:write',
    async answer({ context, request: { accountId, email, password } }) {
      const { person, link } = await new StoreOperator(context).createPerson({
        accountId,
        email,
        ...(password === '' ? {} : { password }),
      });
      return { person: renderPerson(person), ...renderLink(link) };
    },
  }),
  plain(methodPeople.listPeople, {
    scope: 'access:read',
    async answer({ context, request }) {
      const { items, nextCursor = '' } = await new StoreOperator(context).listPeople(
        request.accountId,
        readPage(request),
      );
      return { people: items.map(renderPerson), nextPageToken: nextCursor };
    },
  }),
  plain(methodPeople.disablePerson, {
    scope: 'access:write',
    answer: async ({ context, request: { personId } }) => ({
      person: renderPerson(await new StoreOperator(context).disablePerson(personId)),
    }),
  }),
  plain(methodPeople.enablePerson, {
    scope: 'access:write',
    answer: async ({ context, request: { personId } }) => ({
      person: renderPerson(await new StoreOperator(context).enablePerson(personId)),
    }),
  }),
  plain(methodPeople.resetPerson, {
    scope: 'access:write',
    async answer({ context, request: { personId } }) {
      const { person, link } = await new StoreOperator(context).resetPerson(personId);
      return { person: renderPerson(person), ...renderLink(link) };
    },
  }),
  plain(methodPeople.promotePerson, {
    scope: 'operators:write',
    answer: async ({ context, request: { personId } }) => ({
      person: renderPerson(await new StoreOperator(context).promotePerson(personId)),
    }),
  }),
  plain(methodPeople.demotePerson, {
    scope: 'operators:write',
    answer: async ({ context, request: { personId } }) => ({
      person: renderPerson(await new StoreOperator(context).demotePerson(personId)),
    }),
  }),
] as const;

function renderPerson(person: ShownPerson): MessageInitShape<typeof PersonSchema> {
  const { personId, accountId, email, createdAt, disabledAt, lastSignInAt, operatorSince, hasPassword, passkeyCount } =
    person;
  return {
    personId,
    accountId,
    email,
    createTime: timestamp(createdAt),
    ...(disabledAt === undefined ? {} : { disableTime: timestamp(disabledAt) }),
    ...(lastSignInAt === undefined ? {} : { lastSignInTime: timestamp(lastSignInAt) }),
    ...(operatorSince === undefined ? {} : { promoteTime: timestamp(operatorSince) }),
    hasPassword,
    passkeys: passkeyCount,
  };
}

function renderLink(link: SignInLink | undefined): { signInLink?: MessageInitShape<typeof SignInLinkSchema> } {
  return link === undefined ? {} : { signInLink: { path: link.path, expireTime: timestamp(link.expiresAt) } };
}
