import type { Ports } from '../../core/ports/ports.js';
import { provideModule } from '../provide.js';
import { WebAuthnVerifier } from './webauthn-verifier.js';

/** Checks passkeys with the library of SimpleWebAuthn. */
export function webAuthnModule() {
  return provideModule<Ports>((provide) => {
    provide('passkeys', [], () => new WebAuthnVerifier());
  });
}
