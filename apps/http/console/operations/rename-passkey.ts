import type { JsonObject } from '../../../../core/json.js';
import { renamePasskey as rename } from '../../../../core/people/passkeys.js';
import type { ConsoleOperation } from '../console-operation.js';
import { NAME, NAME_WORDING } from '../name-field.js';
import { renderPasskey } from '../render-passkey.js';

const SCHEMA = {
  type: 'object',
  additionalProperties: false,
  required: ['id', 'name'],
  properties: {
    id: { type: 'string', minLength: 1, maxLength: 1_400 },
    name: NAME,
  },
} as const satisfies JsonObject;

export const renamePasskey: ConsoleOperation = {
  method: 'POST',
  path: '/passkeys/rename',
  body: { schema: SCHEMA, wording: NAME_WORDING },
  async answer({ context }, { signedIn: { person }, body }) {
    const { id, name } = body as unknown as { readonly id: string; readonly name: string };
    return { passkey: renderPasskey(await rename(context, person, id, name)) };
  },
};
