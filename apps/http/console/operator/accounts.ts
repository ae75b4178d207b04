import { findAccounts } from '../../../../core/access/manage.js';
import type { JsonObject } from '../../../../core/json.js';
import { pageByToken } from '../../../page-token.js';
import { NAME, NAME_WORDING } from '../console-operation.js';
import { idIn, type OperatorOperation } from './operator-operation.js';

const NEW_ACCOUNT = {
  type: 'object',
  additionalProperties: false,
  required: ['name'],
  properties: { name: NAME, currency: { type: 'string', maxLength: 100 } },
} as const satisfies JsonObject;

const createAccount: OperatorOperation = {
  method: 'POST',
  path: '/accounts',
  act: 'create an account',
  body: { schema: NEW_ACCOUNT, wording: NAME_WORDING },
  async answer(_parts, { operator, body, act }) {
    const { name, currency = '' } = body as unknown as { readonly name: string; readonly currency?: string };
    const created = await operator.access.createAccount({ displayName: name, currency });
    act.note({ accountId: created.account?.accountId });
    return created;
  },
};

/** One account with its books. */
const getAccount: OperatorOperation = {
  method: 'GET',
  path: '/accounts/:account_id',
  act: 'read an account',
  answer: (_parts, { ctx, operator }) => operator.access.getAccount({ accountId: idIn(ctx, 'account_id') }),
};

/** All accounts in order of id, or those that match a search. */
const listAccounts: OperatorOperation = {
  method: 'GET',
  path: '/accounts',
  act: 'list accounts',
  query: ['search'],
  async answer({ context }, { operator, query: { search }, page, paging, json }) {
    if (search === undefined) return operator.access.listAccounts(paging);
    const { items, nextCursor } = await pageByToken(
      page,
      `accounts with ${JSON.stringify(search)}`,
      (asked) => findAccounts(context, search, asked),
      'cursor',
    );
    return { accounts: items.map(json.accountJson), next_cursor: nextCursor };
  },
};

const NEW_NAME = {
  type: 'object',
  additionalProperties: false,
  required: ['name'],
  properties: { name: NAME },
} as const satisfies JsonObject;

const renameAccount: OperatorOperation = {
  method: 'POST',
  path: '/accounts/:account_id/rename',
  act: 'rename an account',
  body: { schema: NEW_NAME, wording: NAME_WORDING },
  answer(_parts, { ctx, operator, body }) {
    const { name } = body as unknown as { readonly name: string };
    return operator.access.renameAccount({ accountId: idIn(ctx, 'account_id'), displayName: name });
  },
};

const SUSPENSION = {
  type: 'object',
  additionalProperties: false,
  required: ['cancel_work'],
  properties: { cancel_work: { type: 'boolean' } },
} as const satisfies JsonObject;

/** With the result for its open generations, where they were to be cancelled. */
const suspendAccount: OperatorOperation = {
  method: 'POST',
  path: '/accounts/:account_id/suspend',
  act: 'suspend an account',
  body: { schema: SUSPENSION },
  answer(_parts, { ctx, operator, body, act }) {
    const { cancel_work: cancelWork } = body as unknown as { readonly cancel_work: boolean };
    act.note({ cancelWork });
    return operator.access.suspendAccount({ accountId: idIn(ctx, 'account_id'), cancelWork });
  },
};

const resumeAccount: OperatorOperation = {
  method: 'POST',
  path: '/accounts/:account_id/resume',
  act: 'resume an account',
  answer: (_parts, { ctx, operator }) => operator.access.resumeAccount({ accountId: idIn(ctx, 'account_id') }),
};

/** The storage that an account uses, with a page of its Apps. */
const listStorage: OperatorOperation = {
  method: 'GET',
  path: '/accounts/:account_id/storage',
  act: 'read the storage of an account',
  answer: (_parts, { ctx, operator, paging }) =>
    operator.access.getAccountStorage({ accountId: idIn(ctx, 'account_id'), ...paging }),
};

const listAccountKeys: OperatorOperation = {
  method: 'GET',
  path: '/accounts/:account_id/keys',
  act: 'list the keys of an account',
  answer: (_parts, { ctx, operator, paging }) =>
    operator.access.listApiKeys({ accountId: idIn(ctx, 'account_id'), ...paging }),
};

const revokeAnyKey: OperatorOperation = {
  method: 'POST',
  path: '/keys/:key_id/revoke',
  act: 'revoke a key',
  async answer(_parts, { ctx, operator, act }) {
    const revoked = await operator.access.revokeApiKey({ keyId: idIn(ctx, 'key_id') });
    act.note({ accountId: revoked.apiKey?.accountId });
    return revoked;
  },
};

/** Accounts, what they store, and their keys. */
export const ACCOUNT_OPERATIONS: readonly OperatorOperation[] = [
  listAccounts,
  createAccount,
  getAccount,
  suspendAccount,
  resumeAccount,
  renameAccount,
  listStorage,
  listAccountKeys,
  revokeAnyKey,
];
