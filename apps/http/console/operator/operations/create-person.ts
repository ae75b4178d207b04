import type { JsonObject } from '../../../../../core/json.js';
import type { OperatorOperation } from '../operator-operation.js';
import { withLink } from '../with-link.js';

const SCHEMA = {
  type: 'object',
  additionalProperties: false,
  required: ['email'],
  properties: { email: { type: 'string', minLength: 1, maxLength: 254 } },
} as const satisfies JsonObject;

/** A person without a password, with a link that this answer alone has. */
export const createPerson: OperatorOperation = {
  method: 'POST',
  path: '/accounts/:account_id/people',
  act: 'create a person',
  body: { schema: SCHEMA },
  async answer({ publicUrl }, { ctx, operator, body, act }) {
    const { email } = body as unknown as { readonly email: string };
    const created = await operator.createPerson({ accountId: ctx.params['account_id'] ?? '', email });
    act.note({ personId: created.person.personId });
    return withLink(created, publicUrl());
  },
};
