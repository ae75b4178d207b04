import { personJson } from '../../../../operator/records.js';
import type { OperatorOperation } from '../operator-operation.js';

export const enablePerson: OperatorOperation = {
  method: 'POST',
  path: '/people/:person_id/enable',
  act: 'enable a person',
  async answer(_parts, { ctx, operator, act }) {
    const person = await operator.enablePerson(ctx.params['person_id'] ?? '');
    act.note({ accountId: person.accountId });
    return { person: personJson(person) };
  },
};
