import { ServiceError } from '../../../../core/errors.js';
import { disconnect as endConnection } from '../../../../core/people/grants.js';
import { isUuid } from '../../../../core/uuid.js';
import type { ConsoleOperation } from '../console-operation.js';

export const disconnect: ConsoleOperation = {
  method: 'POST',
  path: '/connections/:grant_id/disconnect',
  async answer({ context }, { ctx, signedIn: { person } }) {
    const grantId = ctx.params['grant_id'] ?? '';
    if (!isUuid(grantId)) throw new ServiceError('NOT_FOUND', 'There is no such connection.');
    await endConnection(context, person.personId, grantId.toLowerCase());
    return {};
  },
};
