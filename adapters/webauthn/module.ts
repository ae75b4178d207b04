import { TOKENS } from '../../core/ports/ports.js';
import { provideModule } from '../provide.js';
import { WebAuthnVerifier } from './webauthn-verifier.js';

/** Checks passkeys with the library of SimpleWebAuthn. */
export function webAuthnModule() {
  return provideModule((provide) => {
    provide(TOKENS.passkeys, [], () => new WebAuthnVerifier());
  });
}
