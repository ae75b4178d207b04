import { PASSKEY_CHALLENGE_MS } from '../../../../core/people/passkey-challenge.js';
import { beginPasskey as begin } from '../../../../core/people/passkeys.js';
import { PASSKEY_ALGORITHMS } from '../../../../core/people/person.js';
import { requireRelyingParty } from '../../pages/relying-party.js';
import type { ConsoleOperation } from '../console-operation.js';

/** What the browser needs to make a passkey for this person. */
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
      // What a sign-in names the person by, later.
      user_handle: Buffer.from(personId).toString('base64url'),
      user_name: email,
      algorithms: PASSKEY_ALGORITHMS,
      known: passkeys.map(({ credentialId, transports }) => ({ id: credentialId, transports })),
      timeout_ms: PASSKEY_CHALLENGE_MS,
    };
  },
};
