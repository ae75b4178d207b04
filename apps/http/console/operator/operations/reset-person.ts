import type { OperatorOperation } from '../operator-operation.js';
import { requireOther } from '../require-other.js';
import { withLink } from '../with-link.js';

/** With a link that this answer alone has. An operator is none afterwards. */
export const resetPerson: OperatorOperation = {
  method: 'POST',
  path: '/people/:person_id/reset',
  act: 'reset a person',
  async answer({ publicUrl }, { ctx, signedIn, operator, act }) {
    const personId = requireOther(ctx.params['person_id'], signedIn);
    const reset = await operator.resetPerson(personId);
    act.note({ accountId: reset.person.accountId });
    return withLink(reset, publicUrl());
  },
};
