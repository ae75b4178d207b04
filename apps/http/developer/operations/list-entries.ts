import { listEntries } from '../../../../core/credits/list-entries.js';
import { cursorOf, tokenOf } from '../../../requests/page-token.js';
import { renderStatement, STATEMENT_SCHEMA } from '../../render/statement.js';
import type { ProtectedOperation } from '../operation.js';
import { CURSOR, LIMIT, readPage } from '../paging.js';

export const listEntriesOperation: ProtectedOperation = {
  operationId: 'listCreditEntries',
  summary: "List the account's ledger entries",
  description:
    'Every movement of credits of the account, newest first. `opening_credits` and every `available_change` of a page sum to its `closing_credits`; `opening_credits` are the `closing_credits` of the next page.',
  status: 200,
  query: { limit: LIMIT, cursor: CURSOR },
  data: STATEMENT_SCHEMA,
  errors: ['FIELD_INVALID'],
  async answer({ context, caller, query }) {
    const list = `statement of ${caller.accountId}`;
    const statement = await listEntries(context, caller, cursorOf(readPage(query), list, 'cursor'));
    return { data: renderStatement(statement, tokenOf(list, statement.nextCursor)) };
  },
};
