import { ACCOUNT_OPERATIONS } from './accounts.js';
import { APP_OPERATIONS } from './apps-and-keys.js';
import { CATALOG_OPERATIONS } from './catalog.js';
import { CREDIT_OPERATIONS } from './credits.js';
import type { OperatorOperation } from './operator-operation.js';
import { OVERVIEW_OPERATIONS } from './overview.js';
import { PEOPLE_OPERATIONS } from './people.js';
import { WORK_OPERATIONS } from './work.js';

/** The requests of the operator's area, under `/console/api/operator`. */
export const OPERATOR_OPERATIONS: readonly OperatorOperation[] = [
  ...OVERVIEW_OPERATIONS,
  ...CATALOG_OPERATIONS,
  ...ACCOUNT_OPERATIONS,
  ...APP_OPERATIONS,
  ...CREDIT_OPERATIONS,
  ...PEOPLE_OPERATIONS,
  ...WORK_OPERATIONS,
];

/** The area's own addresses, so that each of its pages can be opened by itself. */
export const OPERATOR_PAGES = [
  '/operator',
  '/operator/queue',
  '/operator/queue/:generation_id',
  '/operator/providers',
  '/operator/accounts',
  '/operator/accounts/:account_id',
  '/operator/catalog',
  '/operator/ledger',
] as const;
