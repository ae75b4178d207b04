import { findAccounts } from '../../../../core/access/manage.js';
import { pageByToken } from '../../../page-token.js';
import { bodySchema } from '../../host/request.js';
import { NAME, NAME_WORDING } from '../console-operation.js';
import { change, changeWith, type OperatorOperation, read } from './operator-operation.js';

const ACCOUNT = '/accounts/:account_id';
const NEW_ACCOUNT = bodySchema({ name: NAME, currency: { type: 'string', maxLength: 100 } }, ['name']);
const NEW_NAME = bodySchema({ name: NAME });
/** The operator must confirm an action that cannot be undone. */
const UNDERSTOOD = { type: 'boolean', const: true } as const;
export const NOT_UNDONE = bodySchema({ is_final: UNDERSTOOD });
const ERASED_TRACE = bodySchema({
  client_trace_id: { type: 'string', minLength: 1, maxLength: 128 },
  is_final: UNDERSTOOD,
});
const SUSPENSION = bodySchema({ cancel_work: { type: 'boolean' } });

/** Accounts, and what they store. */
export const ACCOUNT_OPERATIONS: readonly OperatorOperation[] = [
  // In order of id, or those that match a search.
  read(
    '/accounts',
    'list accounts',
    async ({ context, operator, query: { search }, page, paging, json }) => {
      if (search === undefined) return operator.access.listAccounts(paging);
      const { items, nextCursor } = await pageByToken(
        page,
        `accounts with ${JSON.stringify(search)}`,
        (asked) => findAccounts(context, search, asked),
        'cursor',
      );
      return { accounts: items.map(json.accountJson), next_cursor: nextCursor };
    },
    { query: ['search'] },
  ),
  changeWith(
    '/accounts',
    'create an account',
    NEW_ACCOUNT,
    async ({ operator, body: { name, currency = '' }, act }) => {
      const created = await operator.access.createAccount({ displayName: name, currency });
      act.note({ accountId: created.account?.accountId });
      return created;
    },
    NAME_WORDING,
  ),
  read(ACCOUNT, 'read an account', ({ id, operator }) => operator.access.getAccount({ accountId: id })),
  // With the result for its open generations, where they were to be cancelled.
  changeWith(`${ACCOUNT}/suspend`, 'suspend an account', SUSPENSION, ({ id, operator, body, act }) => {
    const cancelWork = body.cancel_work;
    act.note({ cancelWork });
    return operator.access.suspendAccount({ accountId: id, cancelWork });
  }),
  change(`${ACCOUNT}/resume`, 'resume an account', ({ id, operator }) =>
    operator.access.resumeAccount({ accountId: id }),
  ),
  changeWith(
    `${ACCOUNT}/rename`,
    'rename an account',
    NEW_NAME,
    ({ id, operator, body }) => operator.access.renameAccount({ accountId: id, displayName: body.name }),
    NAME_WORDING,
  ),
  changeWith(`${ACCOUNT}/erase`, 'erase an account', NOT_UNDONE, ({ id, operator }) =>
    operator.access.eraseAccount({ accountId: id }),
  ),
  // The trace id is a client's text, and not recorded.
  changeWith(
    `${ACCOUNT}/erase-trace`,
    'erase a trace of an account',
    ERASED_TRACE,
    async ({ id, operator, body: { client_trace_id: clientTraceId }, act }) => {
      const requested = await operator.access.eraseTrace({ accountId: id, clientTraceId });
      act.note({ erasureId: requested.erasure?.erasureId });
      return requested;
    },
    { '/client_trace_id': 'client_trace_id must have 1 to 128 characters.' },
  ),
  read('/erasures/:erasure_id', 'read the state of an erasure', ({ id, operator }) =>
    operator.access.getErasure({ erasureId: id }),
  ),
  // With a page of its Apps.
  read(`${ACCOUNT}/storage`, 'read the storage of an account', ({ id, operator, paging }) =>
    operator.access.getAccountStorage({ accountId: id, ...paging }),
  ),
];
