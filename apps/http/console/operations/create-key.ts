import { createAccountKey } from '../../../../core/people/account-keys.js';
import { SCOPES } from '../../../../core/access/credential.js';
import { fieldInvalid } from '../../../../core/fields.js';
import type { JsonObject } from '../../../../core/json.js';
import type { ConsoleOperation } from '../console-operation.js';
import { NAME, NAME_WORDING } from '../name-field.js';
import { renderKey } from '../render-key.js';

const SCHEMA = {
  type: 'object',
  additionalProperties: false,
  required: ['name'],
  properties: {
    name: NAME,
    scopes: { type: 'array', items: { type: 'string', enum: [...SCOPES] }, minItems: 1, uniqueItems: true },
    expires_at: { type: 'string', pattern: '^\\d{4}-\\d{2}-\\d{2}T\\d{2}:\\d{2}:\\d{2}(\\.\\d{3})?Z$' },
    monthly_cap: { type: 'integer', minimum: 0, maximum: Number.MAX_SAFE_INTEGER },
    app_id: { type: 'string', format: 'uuid' },
  },
} as const satisfies JsonObject;

const WORDING = {
  ...NAME_WORDING,
  '/scopes': 'Tick what the key may do.',
  '/expires_at': 'An expiry must be a time such as 2030-01-31T23:59:59Z.',
  '/monthly_cap': 'A limit must be a whole number of credits, not below 0.',
} as const;

interface Sent {
  readonly name: string;
  readonly scopes?: readonly string[];
  readonly expires_at?: string;
  readonly monthly_cap?: number;
  readonly app_id?: string;
}

/** Makes a key. Its secret is in this answer and in no other. */
export const createKey: ConsoleOperation = {
  method: 'POST',
  path: '/keys',
  body: { schema: SCHEMA, wording: WORDING },
  async answer({ context }, { signedIn: { person }, body }) {
    const { name, scopes, expires_at: expiry, monthly_cap: monthlyCap, app_id: appId } = body as unknown as Sent;
    const { key, secret } = await createAccountKey(context, person.accountId, {
      name,
      ...(scopes === undefined ? {} : { scopes }),
      ...(expiry === undefined ? {} : { expiresAt: readTime(expiry) }),
      ...(monthlyCap === undefined ? {} : { monthlyCap }),
      ...(appId === undefined ? {} : { appId }),
    });
    const app = await context.credentials.readApp(key.appId);
    return {
      key: renderKey(key, {
        appName: app?.name ?? null,
        used: key.monthlyCap === undefined ? null : 0,
        isOver: false,
      }),
      secret,
    };
  },
};

function readTime(text: string): number {
  const at = Date.parse(text);
  // A day that does not exist is read as one of the next month.
  if (Number.isNaN(at) || new Date(at).toISOString().slice(0, 19) !== text.slice(0, 19))
    throw fieldInvalid('/expires_at', WORDING['/expires_at']);
  return at;
}
