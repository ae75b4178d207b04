import type { OperatorOperation } from './operator-operation.js';
import { adjustCredits } from './operations/adjust-credits.js';
import { cancelGeneration } from './operations/cancel-generation.js';
import { createAccount } from './operations/create-account.js';
import { createPerson } from './operations/create-person.js';
import { disablePerson } from './operations/disable-person.js';
import { enablePerson } from './operations/enable-person.js';
import { getAccount } from './operations/get-account.js';
import { getContent } from './operations/get-content.js';
import { getGeneration } from './operations/get-generation.js';
import { grantCredits } from './operations/grant-credits.js';
import { listAccountKeys } from './operations/list-account-keys.js';
import { listAccounts } from './operations/list-accounts.js';
import { listLedger } from './operations/list-ledger.js';
import { listOpenWork } from './operations/list-open-work.js';
import { listPeople } from './operations/list-people.js';
import { listProviders } from './operations/list-providers.js';
import { listStorage } from './operations/list-storage.js';
import { renameAccount } from './operations/rename-account.js';
import { resetPerson } from './operations/reset-person.js';
import { resumeAccount } from './operations/resume-account.js';
import { revokeAnyKey } from './operations/revoke-any-key.js';
import { suspendAccount } from './operations/suspend-account.js';
import { verifyBooks } from './operations/verify-books.js';

/** Everything that the operator's area asks of its server, under `/console/api/operator`. */
export const OPERATOR_OPERATIONS: readonly OperatorOperation[] = [
  listAccounts,
  createAccount,
  getAccount,
  suspendAccount,
  resumeAccount,
  renameAccount,
  listStorage,
  listAccountKeys,
  revokeAnyKey,
  listLedger,
  grantCredits,
  adjustCredits,
  listPeople,
  createPerson,
  disablePerson,
  enablePerson,
  resetPerson,
  listProviders,
  listOpenWork,
  getGeneration,
  getContent,
  cancelGeneration,
  verifyBooks,
];

/** The area's own addresses, so that each of its pages can be opened by itself. */
export const OPERATOR_PAGES = [
  '/operator/accounts',
  '/operator/accounts/:account_id',
  '/operator/work',
  '/operator/work/:generation_id',
  '/operator/providers',
  '/operator/books',
] as const;
