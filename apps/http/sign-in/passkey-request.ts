import { readBody, type BodySchema } from '../../../core/fields.js';
import type { Json } from '../../../core/json.js';
import type { PasskeyAssertion } from '../../../core/ports/passkey-verifier.js';
import type { Ports } from '../../../core/ports/tokens.js';

const BASE64URL = { type: 'string', minLength: 1, maxLength: 4_096, pattern: '^[A-Za-z0-9_-]+$' } as const;
const FIELDS = ['credential_id', 'user_handle', 'client_data', 'authenticator_data', 'signature'] as const;

const SCHEMA: BodySchema = {
  type: 'object',
  additionalProperties: false,
  required: [...FIELDS],
  properties: {
    ...Object.fromEntries(FIELDS.map((name) => [name, BASE64URL])),
    return: { type: 'string', maxLength: 2_000 },
  },
};
const WORDING = Object.fromEntries(
  FIELDS.map((name) => [`/${name}`, `${name} must be 1 to 4096 characters of base64url.`]),
);

interface Body extends Record<(typeof FIELDS)[number], string> {
  readonly return?: string;
}

/** What the sign-in page sends once an authenticator has signed. */
export interface PasskeyRequest {
  readonly personId: string;
  readonly assertion: PasskeyAssertion;
  readonly returnTo: string | undefined;
}

/** Throws FIELD_REQUIRED and FIELD_INVALID. */
export function readPasskeyRequest(ports: Pick<Ports, 'jsonSchemas'>, sent: Json): PasskeyRequest {
  const body = readBody<Body>(ports, SCHEMA, sent, WORDING);
  return {
    personId: Buffer.from(body.user_handle, 'base64url').toString('utf8'),
    assertion: {
      credentialId: body.credential_id,
      clientData: body.client_data,
      authenticatorData: body.authenticator_data,
      signature: body.signature,
    },
    returnTo: body.return,
  };
}
