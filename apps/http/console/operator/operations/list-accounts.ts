import { findAccounts } from '../../../../../core/access/find-accounts.js';
import { pageByToken } from '../../../../requests/page-token.js';
import { shownAccount } from '../../../../operator/store-operator.js';
import { accountJson, moreJson } from '../../../../operator/records.js';
import type { OperatorOperation } from '../operator-operation.js';

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
