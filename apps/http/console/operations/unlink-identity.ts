import { ServiceError } from '../../../../core/errors.js';
import type { JsonObject } from '../../../../core/json.js';
import type { IdentityKey } from '../../../../core/ports/person-store.js';
import type { ConsoleOperation } from '../console-operation.js';

const TEXT = { type: 'string', minLength: 1, maxLength: 1_000 } as const;

const SCHEMA = {
  type: 'object',
  additionalProperties: false,
  required: ['issuer', 'subject'],
  properties: { issuer: TEXT, subject: TEXT },
} as const satisfies JsonObject;

export const unlinkIdentity: ConsoleOperation = {
  method: 'POST',
  path: '/identities/unlink',
  body: { schema: SCHEMA },
  async answer({ context }, { signedIn: { person }, body }) {
    const { issuer, subject } = body as unknown as IdentityKey;
    const known = await context.people.findIdentity({ issuer, subject });
    if (known?.personId !== person.personId) throw new ServiceError('NOT_FOUND', 'There is no such identity.');
    await context.people.removeIdentity({ issuer, subject }, person.personId);
    return {};
  },
};
