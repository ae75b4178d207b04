import type { JsonObject } from '../../../../core/json.js';
import { addPasskey as add } from '../../../../core/people/passkeys.js';
import { requireRelyingParty } from '../../pages/relying-party.js';
import type { ConsoleOperation } from '../console-operation.js';
import { NAME, NAME_WORDING } from '../name-field.js';
import { renderPasskey } from '../render-passkey.js';

const BASE64URL = { type: 'string', minLength: 1, maxLength: 8_192, pattern: '^[A-Za-z0-9_-]+$' } as const;

const SCHEMA = {
  type: 'object',
  additionalProperties: false,
  required: ['name', 'challenge', 'client_data', 'attestation_object'],
  properties: {
    name: NAME,
    challenge: BASE64URL,
    client_data: BASE64URL,
    attestation_object: BASE64URL,
    transports: { type: 'array', items: { type: 'string', maxLength: 100 }, maxItems: 20 },
  },
} as const satisfies JsonObject;

interface Sent {
  readonly name: string;
  readonly challenge: string;
  readonly client_data: string;
  readonly attestation_object: string;
  readonly transports?: readonly string[];
}

/** Adds the passkey that the browser has made. */
export const addPasskey: ConsoleOperation = {
  method: 'POST',
  path: '/passkeys',
  body: { schema: SCHEMA, wording: NAME_WORDING },
  async answer({ context, publicUrl }, { signedIn, body }) {
    const sent = body as unknown as Sent;
    const passkey = await add(context, signedIn, requireRelyingParty(publicUrl()), {
      name: sent.name,
      challenge: sent.challenge,
      attestation: {
        clientData: sent.client_data,
        attestationObject: sent.attestation_object,
        transports: sent.transports ?? [],
      },
    });
    return { passkey: renderPasskey(passkey) };
  },
};
