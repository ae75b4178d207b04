import type { Identity, Machine } from '../../../core/context.js';
import { ServiceError } from '../../../core/errors.js';
import {
  addPasskey,
  beginPasskey,
  PASSKEY_CHALLENGE_MS,
  removePasskey,
  renamePasskey,
} from '../../../core/people/passkeys.js';
import { type Passkey, PASSKEY_ALGORITHMS } from '../../../core/people/person.js';
import { requireRecentSignIn } from '../../../core/people/sessions.js';
import { beginOutsideSignIn, changePassword } from '../../../core/people/sign-in.js';
import { bodySchema } from '../host/request.js';
import { canUsePasskeys, outsideCookie, requireRelyingParty } from '../pages/browser-sessions.js';
import { type ConsoleOperation, get, NAME, NAME_WORDING, post, postBody, shownTime } from './console-operation.js';

const PASSWORD = { type: 'string', maxLength: 1_000 } as const;
const TEXT = { type: 'string', minLength: 1, maxLength: 1_000 } as const;
const PASSKEY_ID = { type: 'string', minLength: 1, maxLength: 1_400 } as const;
const BASE64URL = { type: 'string', minLength: 1, maxLength: 8_192, pattern: '^[A-Za-z0-9_-]+$' } as const;

const NEW_PASSKEY = bodySchema(
  {
    name: NAME,
    challenge: BASE64URL,
    client_data: BASE64URL,
    attestation_object: BASE64URL,
    transports: { type: 'array', items: { type: 'string', maxLength: 100 }, maxItems: 20 },
  },
  ['name', 'challenge', 'client_data', 'attestation_object'],
);

/** How the person signs in. */
export const SIGN_IN_OPERATIONS: readonly ConsoleOperation<Identity & Machine>[] = [
  /** Every session ends, and a new one begins in this browser. Tries count as those to sign in do. */
  postBody(
    '/password',
    bodySchema({ current_password: PASSWORD, new_password: PASSWORD }, ['new_password']),
    async ({ context, sessions, signInRates, addresses }, { ctx, signedIn, body }) => {
      const { person, session } = signedIn;
      // The session has a pace of its own: one that was stolen cannot slow the person's own sign-in down.
      const device = `session ${session.sessionId}`;
      await signInRates.take({ address: addresses.ofRequest(ctx.req), person: person.personId, device });
      const changed = await changePassword(context, signedIn, {
        current: body.current_password,
        next: body.new_password,
      });
      await sessions.begin(ctx, changed, { method: 'password' });
      return {};
    },
  ),
  /** The person's passkeys, oldest first. */
  get('/passkeys', async ({ publicUrl }, { ctx, signedIn: { person } }) => {
    return { passkeys: person.passkeys.map(renderPasskey), can_be_used: canUsePasskeys(ctx, publicUrl()) };
  }),
  /** The data with which the browser makes a passkey for this person. */
  post('/passkeys/begin', async ({ context, publicUrl }, { signedIn }) => {
    const { id } = requireRelyingParty(publicUrl());
    const challenge = await beginPasskey(context, signedIn);
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
  }),
  /** Adds the passkey that the browser has made. */
  postBody(
    '/passkeys',
    NEW_PASSKEY,
    async ({ context, publicUrl }, { signedIn, body: sent }) => {
      const passkey = await addPasskey(context, signedIn, requireRelyingParty(publicUrl()), {
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
    NAME_WORDING,
  ),
  postBody(
    '/passkeys/rename',
    bodySchema({ id: PASSKEY_ID, name: NAME }),
    async ({ context }, { signedIn: { person }, body: { id, name } }) => ({
      passkey: renderPasskey(await renamePasskey(context, person, id, name)),
    }),
    NAME_WORDING,
  ),
  /** It can no longer be used to sign in. The device still has it until it is removed there. */
  postBody('/passkeys/remove', bodySchema({ id: PASSKEY_ID }), async ({ context }, { signedIn, body }) => {
    await removePasskey(context, signedIn, body.id);
    return {};
  }),
  /** The identities at outside providers that sign this person in, oldest first. */
  get('/identities', async ({ context }, { signedIn: { person } }) => {
    const identities = await context.people.listIdentities(person.personId);
    const shown = identities.map(({ issuer, subject, linkedAt }) => ({
      issuer,
      subject,
      linked_at: shownTime(linkedAt),
    }));
    return { identities: shown };
  }),
  /** The URL at the outside provider where the person continues. The identity that returns is linked to this person. */
  post('/identities/link', async ({ context, publicUrl, outsideProvider: provider }, { ctx, signedIn }) => {
    if (!provider) throw new ServiceError('NOT_FOUND', 'No outside provider is configured.');
    requireRecentSignIn(context, signedIn.session);
    const { location, secret } = await beginOutsideSignIn(context, provider, {
      returnTo: '/console/account',
      sessionId: signedIn.session.sessionId,
    });
    outsideCookie(publicUrl).write(ctx, secret);
    return { location };
  }),
  postBody(
    '/identities/unlink',
    bodySchema({ issuer: TEXT, subject: TEXT }),
    async ({ context }, { signedIn: { person, session }, body: identity }) => {
      requireRecentSignIn(context, session);
      const known = await context.people.findIdentity(identity);
      if (known?.personId !== person.personId) throw new ServiceError('NOT_FOUND', 'There is no such identity.');
      await context.people.removeIdentity(identity, person.personId);
      return {};
    },
  ),
];

function renderPasskey({ credentialId, name, createdAt, lastUsedAt }: Passkey) {
  return {
    id: credentialId,
    name,
    created_at: shownTime(createdAt),
    /** The UTC day. */
    last_used_on: shownTime(lastUsedAt),
  };
}
