import type { JsonObject } from '../../../../core/json.js';
import { removePasskey as remove } from '../../../../core/people/passkeys.js';
import type { ConsoleOperation } from '../console-operation.js';

const SCHEMA = {
  type: 'object',
  additionalProperties: false,
  required: ['id'],
  properties: { id: { type: 'string', minLength: 1, maxLength: 1_400 } },
} as const satisfies JsonObject;

/** It signs nobody in any more. The device still has it, until it is removed there. */
export const removePasskey: ConsoleOperation = {
  method: 'POST',
  path: '/passkeys/remove',
  body: { schema: SCHEMA },
  async answer({ context }, { signedIn: { person }, body }) {
    await remove(context, person, (body as unknown as { readonly id: string }).id);
    return {};
  },
};
