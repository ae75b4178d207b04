import { changePassword as change } from '../../../../core/people/change-password.js';
import type { JsonObject } from '../../../../core/json.js';
import type { ConsoleOperation } from '../console-operation.js';

const PASSWORD = { type: 'string', maxLength: 1_000 } as const;

const SCHEMA = {
  type: 'object',
  additionalProperties: false,
  required: ['new_password'],
  properties: { current_password: PASSWORD, new_password: PASSWORD },
} as const satisfies JsonObject;

interface Sent {
  readonly current_password?: string;
  readonly new_password: string;
}

/** Every session ends, and a new one begins in this browser. Tries count as those to sign in do. */
export const changePassword: ConsoleOperation = {
  method: 'POST',
  path: '/password',
  body: { schema: SCHEMA },
  async answer({ context, sessions, signInRates, addresses }, { ctx, signedIn, body }) {
    const { current_password: current, new_password: next } = body as unknown as Sent;
    const { person, session } = signedIn;
    // The session has a pace of its own: one that was stolen cannot slow the person's own sign-in down.
    const device = `session ${session.sessionId}`;
    await signInRates.take({ address: addresses.ofRequest(ctx.req), person: person.personId, device });
    const changed = await change(context, signedIn, { current, next });
    await sessions.begin(ctx, changed, { method: 'password' });
    return {};
  },
};
