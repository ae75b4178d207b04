import {
  createAccount,
  getAccount,
  listAccountKeys,
  listAccounts,
  listStorage,
  renameAccount,
  resumeAccount,
  revokeAnyKey,
  suspendAccount,
} from './accounts.js';
import { adjustCredits, grantCredits, listLedger, verifyBooks } from './credits.js';
import type { OperatorOperation } from './operator-operation.js';
import { createPerson, disablePerson, enablePerson, listPeople, resetPerson } from './people.js';
import { cancelGeneration, getContent, getGeneration, listOpenWork, listProviders } from './work.js';

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
