import { relyingParty } from '../../pages/relying-party.js';
import type { ConsoleOperation } from '../console-operation.js';
import { renderPasskey } from '../render-passkey.js';

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
