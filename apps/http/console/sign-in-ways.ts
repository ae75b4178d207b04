import { ServiceError } from '../../../core/errors.js';
import type { JsonObject } from '../../../core/json.js';
import {
  addPasskey as add,
  beginPasskey as begin,
  PASSKEY_CHALLENGE_MS,
  removePasskey as remove,
  renamePasskey as rename,
} from '../../../core/people/passkeys.js';
import { type Passkey, PASSKEY_ALGORITHMS } from '../../../core/people/person.js';
import { requireRecentSignIn } from '../../../core/people/sessions.js';
import { beginOutsideSignIn, changePassword as change } from '../../../core/people/sign-in.js';
import type { IdentityKey } from '../../../core/ports/stores.js';
import { outsideCookie, relyingParty, requireRelyingParty } from '../pages/browser-sessions.js';
import { type ConsoleOperation, NAME, NAME_WORDING, shownTime } from './console-operation.js';

function renderPasskey({ credentialId, name, createdAt, lastUsedAt }: Passkey) {
  return {
    id: credentialId,
    name,
    created_at: shownTime(createdAt),
    /** The UTC day. */
    last_used_on: shownTime(lastUsedAt),
  };
}

const BASE64URL = { type: 'string', minLength: 1, maxLength: 8_192, pattern: '^[A-Za-z0-9_-]+$' } as const;

const ADD_PASSKEY_SCHEMA = {
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

interface AddPasskeyBody {
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
  body: { schema: ADD_PASSKEY_SCHEMA, wording: NAME_WORDING },
  async answer({ context, publicUrl }, { signedIn, body }) {
    const sent = body as unknown as AddPasskeyBody;
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

/** The data with which the browser makes a passkey for this person. */
export const beginPasskey: ConsoleOperation = {
  method: 'POST',
  path: '/passkeys/begin',
  async answer({ context, publicUrl }, { signedIn }) {
    const { id } = requireRelyingParty(publicUrl());
    const challenge = await begin(context, signedIn);
    const { personId, email, passkeys } = signedIn.person;
    return {
      challenge,
      rp_id: id,
      // A later sign-in identifies the person by this.
      user_handle: Buffer.from(personId).toString('base64url'),
      user_name: email,
      algorithms: PASSKEY_ALGORITHMS,
      known: passkeys.map(({ credentialId, transports }) => ({ id: credentialId, transports })),
      timeout_ms: PASSKEY_CHALLENGE_MS,
    };
  },
};

/** The person's passkeys, oldest first. */
export const listPasskeys: ConsoleOperation = {
  method: 'GET',
  path: '/passkeys',
  async answer({ publicUrl }, { signedIn: { person } }) {
    return {
      passkeys: person.passkeys.map(renderPasskey),
      can_be_used: relyingParty(publicUrl()) !== undefined,
    };
  },
};

const REMOVE_PASSKEY_SCHEMA = {
  type: 'object',
  additionalProperties: false,
  required: ['id'],
  properties: { id: { type: 'string', minLength: 1, maxLength: 1_400 } },
} as const satisfies JsonObject;

/** It can no longer be used to sign in. The device still has it until it is removed there. */
export const removePasskey: ConsoleOperation = {
  method: 'POST',
  path: '/passkeys/remove',
  body: { schema: REMOVE_PASSKEY_SCHEMA },
  async answer({ context }, { signedIn: { person }, body }) {
    await remove(context, person, (body as unknown as { readonly id: string }).id);
    return {};
  },
};

const RENAME_PASSKEY_SCHEMA = {
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
  body: { schema: RENAME_PASSKEY_SCHEMA, wording: NAME_WORDING },
  async answer({ context }, { signedIn: { person }, body }) {
    const { id, name } = body as unknown as { readonly id: string; readonly name: string };
    return { passkey: renderPasskey(await rename(context, person, id, name)) };
  },
};

/** The URL at the outside provider where the person continues. The identity that returns is linked to this person. */
export const linkIdentity: ConsoleOperation = {
  method: 'POST',
  path: '/identities/link',
  async answer({ context, publicUrl, outsideProvider: provider }, { ctx, signedIn }) {
    if (!provider) throw new ServiceError('NOT_FOUND', 'No outside provider is configured.');
    requireRecentSignIn(context, signedIn.session);
    const { location, secret } = await beginOutsideSignIn(context, provider, {
      returnTo: '/console/sign-in',
      sessionId: signedIn.session.sessionId,
    });
    outsideCookie(publicUrl).write(ctx, secret);
    return { location };
  },
};

/** The identities at outside providers that sign this person in, oldest first. */
export const listIdentities: ConsoleOperation = {
  method: 'GET',
  path: '/identities',
  async answer({ context }, { signedIn: { person } }) {
    const identities = await context.people.listIdentities(person.personId);
    return {
      identities: identities.map(({ issuer, subject, linkedAt }) => ({
        issuer,
        subject,
        linked_at: shownTime(linkedAt),
      })),
    };
  },
};

const TEXT = { type: 'string', minLength: 1, maxLength: 1_000 } as const;

const UNLINK_IDENTITY_SCHEMA = {
  type: 'object',
  additionalProperties: false,
  required: ['issuer', 'subject'],
  properties: { issuer: TEXT, subject: TEXT },
} as const satisfies JsonObject;

export const unlinkIdentity: ConsoleOperation = {
  method: 'POST',
  path: '/identities/unlink',
  body: { schema: UNLINK_IDENTITY_SCHEMA },
  async answer({ context }, { signedIn: { person }, body }) {
    const { issuer, subject } = body as unknown as IdentityKey;
    const known = await context.people.findIdentity({ issuer, subject });
    if (known?.personId !== person.personId) throw new ServiceError('NOT_FOUND', 'There is no such identity.');
    await context.people.removeIdentity({ issuer, subject }, person.personId);
    return {};
  },
};

const PASSWORD = { type: 'string', maxLength: 1_000 } as const;

const CHANGE_PASSWORD_SCHEMA = {
  type: 'object',
  additionalProperties: false,
  required: ['new_password'],
  properties: { current_password: PASSWORD, new_password: PASSWORD },
} as const satisfies JsonObject;

interface ChangePasswordBody {
  readonly current_password?: string;
  readonly new_password: string;
}

/** Every session ends, and a new one begins in this browser. Tries count as those to sign in do. */
export const changePassword: ConsoleOperation = {
  method: 'POST',
  path: '/password',
  body: { schema: CHANGE_PASSWORD_SCHEMA },
  async answer({ context, sessions, signInRates, addresses }, { ctx, signedIn, body }) {
    const { current_password: current, new_password: next } = body as unknown as ChangePasswordBody;
    const { person, session } = signedIn;
    // The session has a pace of its own: one that was stolen cannot slow the person's own sign-in down.
    const device = `session ${session.sessionId}`;
    await signInRates.take({ address: addresses.ofRequest(ctx.req), person: person.personId, device });
    const changed = await change(context, signedIn, { current, next });
    await sessions.begin(ctx, changed, { method: 'password' });
    return {};
  },
};
