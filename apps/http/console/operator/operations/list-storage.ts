import { storageJson } from '../../../../operator/records.js';
import type { OperatorOperation } from '../operator-operation.js';

/** What an account makes the service keep, with a page of its Apps. */
export const listStorage: OperatorOperation = {
  method: 'GET',
  path: '/accounts/:account_id/storage',
  act: 'read the storage of an account',
  async answer(_parts, { ctx, operator, page }) {
    return storageJson(await operator.getStorage(ctx.params['account_id'] ?? '', page));
  },
};
