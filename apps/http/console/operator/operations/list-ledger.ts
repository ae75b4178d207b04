import { listEntries } from '../../../../../core/credits/list-entries.js';
import { cursorOf, tokenOf } from '../../../../requests/page-token.js';
import { entryJson } from '../../../../operator/records.js';
import { operatorOf } from '../operation-ids.js';
import type { OperatorOperation } from '../operator-operation.js';

/** The ledger of an account, the newest entry first, with the operators who made entries here. */
export const listLedger: OperatorOperation = {
  method: 'GET',
  path: '/accounts/:account_id/entries',
  act: 'read the ledger of an account',
  async answer({ context }, { ctx, operator, page }) {
    const { accountId } = await operator.getAccount(ctx.params['account_id'] ?? '');
    const list = `newest entries of ${accountId}`;
    const { entries, nextCursor } = await listEntries(context, { accountId }, cursorOf(page, list, 'cursor'));
    const ids = new Set(entries.flatMap(({ entry }) => operatorOf(entry.operationId) ?? []));
    const people = await Promise.all([...ids].map((id) => context.people.read(id, context.call)));
    const emails = new Map(people.flatMap((person) => (person === null ? [] : [[person.personId, person.email]])));
    return {
      entries: entries.map(({ entry, availableChange, credentialName }) => ({
        ...entryJson(entry),
        available_change: availableChange,
        credential_name: credentialName,
        operator_email: emails.get(operatorOf(entry.operationId) ?? ''),
      })),
      next_cursor: tokenOf(list, nextCursor),
    };
  },
};
