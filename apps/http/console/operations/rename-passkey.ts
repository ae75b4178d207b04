import type { JsonObject } from '../../../../core/json.js';
import { renamePasskey as rename } from '../../../../core/people/passkeys.js';
import type { ConsoleOperation } from '../console-operation.js';
import { renderPasskey } from '../render-passkey.js';

const SCHEMA = {
  type: 'object',
  additionalProperties: false,
  required: ['id', 'name'],
  properties: {
    id: { type: 'string', minLength: 1, maxLength: 1_400 },
    name: { type: 'string', minLength: 1, maxLength: 100 },
  },
} as const satisfies JsonObject;

const WORDING = { '/name': 'A name must have 1 to 100 characters.' } as const;

export const renamePasskey: ConsoleOperation = {
  method: 'POST',
  path: '/passkeys/rename',
  body: { schema: SCHEMA, wording: WORDING },
  async answer({ context }, { signedIn: { person }, body }) {
    const { id, name } = body as unknown as { readonly id: string; readonly name: string };
    return { passkey: renderPasskey(await rename(context, person, id, name)) };
  },
};
