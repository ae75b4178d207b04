import { personJson } from '../../../../operator/records.js';
import type { OperatorOperation } from '../operator-operation.js';
import { requireOther } from '../require-other.js';

export const disablePerson: OperatorOperation = {
  method: 'POST',
  path: '/people/:person_id/disable',
  act: 'disable a person',
  async answer(_parts, { ctx, signedIn, operator, act }) {
    const personId = requireOther(ctx.params['person_id'], signedIn);
    const person = await operator.disablePerson(personId);
    act.note({ accountId: person.accountId });
    return { person: personJson(person) };
  },
};
