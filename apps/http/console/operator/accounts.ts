import { findAccounts } from '../../../../core/access/manage.js';
import type { JsonObject } from '../../../../core/json.js';
import { accountJson, keyJson, moreJson, storageJson } from '../../../operator/records.js';
import { shownAccount } from '../../../operator/store-operator.js';
import { pageByToken } from '../../../page-token.js';
import { NAME, NAME_WORDING } from '../console-operation.js';
import type { OperatorOperation } from './operator-operation.js';

const SCHEMA_CREATEACCOUNT = {
  type: 'object',
  additionalProperties: false,
  required: ['name'],
  properties: { name: NAME, currency: { type: 'string', maxLength: 100 } },
} as const satisfies JsonObject;

export const createAccount: OperatorOperation = {
  method: 'POST',
  path: '/accounts',
  act: 'create an account',
  body: { schema: SCHEMA_CREATEACCOUNT, wording: NAME_WORDING },
  async answer(_parts, { operator, body, act }) {
    const { name, currency = '' } = body as unknown as { readonly name: string; readonly currency?: string };
    const account = await operator.createAccount({ name, ...(currency === '' ? {} : { currency }) });
    act.note({ accountId: account.accountId });
    return { account: accountJson(account) };
  },
};

/** One account with its books. */
export const getAccount: OperatorOperation = {
  method: 'GET',
  path: '/accounts/:account_id',
  act: 'read an account',
  async answer(_parts, { ctx, operator }) {
    return { account: accountJson(await operator.getAccount(ctx.params['account_id'] ?? '')) };
  },
};

/** All accounts in order of id, or those that are looked for. */
export const listAccounts: OperatorOperation = {
  method: 'GET',
  path: '/accounts',
  act: 'list accounts',
  query: ['search'],
  async answer({ context }, { operator, query: { search }, page }) {
    if (search === undefined) {
      const accounts = await operator.listAccounts(page);
      return { accounts: accounts.items.map(accountJson), ...moreJson(accounts) };
    }
    const found = await pageByToken(
      page,
      `accounts with ${JSON.stringify(search)}`,
      (asked) => findAccounts(context, search, asked),
      'cursor',
    );
    return { accounts: found.items.map((account) => accountJson(shownAccount(account))), ...moreJson(found) };
  },
};

const SCHEMA_RENAMEACCOUNT = {
  type: 'object',
  additionalProperties: false,
  required: ['name'],
  properties: { name: NAME },
} as const satisfies JsonObject;

export const renameAccount: OperatorOperation = {
  method: 'POST',
  path: '/accounts/:account_id/rename',
  act: 'rename an account',
  body: { schema: SCHEMA_RENAMEACCOUNT, wording: NAME_WORDING },
  async answer(_parts, { ctx, operator, body }) {
    const { name } = body as unknown as { readonly name: string };
    return { account: accountJson(await operator.renameAccount(ctx.params['account_id'] ?? '', name)) };
  },
};

const SCHEMA_SUSPENDACCOUNT = {
  type: 'object',
  additionalProperties: false,
  required: ['cancel_work'],
  properties: { cancel_work: { type: 'boolean' } },
} as const satisfies JsonObject;

/** With the result for its open generations, where they were to be cancelled. */
export const suspendAccount: OperatorOperation = {
  method: 'POST',
  path: '/accounts/:account_id/suspend',
  act: 'suspend an account',
  body: { schema: SCHEMA_SUSPENDACCOUNT },
  async answer(_parts, { ctx, operator, body, act }) {
    const { cancel_work: cancelWork } = body as unknown as { readonly cancel_work: boolean };
    act.note({ cancelWork });
    const { account, work } = await operator.suspendAccount(ctx.params['account_id'] ?? '', { cancelWork });
    return { account: accountJson(account), ...(work === undefined ? {} : { work }) };
  },
};

export const resumeAccount: OperatorOperation = {
  method: 'POST',
  path: '/accounts/:account_id/resume',
  act: 'resume an account',
  async answer(_parts, { ctx, operator }) {
    return { account: accountJson(await operator.resumeAccount(ctx.params['account_id'] ?? '')) };
  },
};

/** What an account makes the service keep, with a page of its Apps. */
export const listStorage: OperatorOperation = {
  method: 'GET',
  path: '/accounts/:account_id/storage',
  act: 'read the storage of an account',
  async answer(_parts, { ctx, operator, page }) {
    return storageJson(await operator.getStorage(ctx.params['account_id'] ?? '', page));
  },
};

export const listAccountKeys: OperatorOperation = {
  method: 'GET',
  path: '/accounts/:account_id/keys',
  act: 'list the keys of an account',
  async answer(_parts, { ctx, operator, page }) {
    const keys = await operator.listKeys(ctx.params['account_id'] ?? '', page);
    return { keys: keys.items.map(keyJson), ...moreJson(keys) };
  },
};

export const revokeAnyKey: OperatorOperation = {
  method: 'POST',
  path: '/keys/:key_id/revoke',
  act: 'revoke a key',
  async answer(_parts, { ctx, operator, act }) {
    const key = await operator.revokeKey(ctx.params['key_id'] ?? '');
    act.note({ accountId: key.accountId });
    return { key: keyJson(key) };
  },
};
