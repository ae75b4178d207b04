import type { Passkey } from '../people/person.js';

/** For whom browsers keep passkeys, and the one origin whose pages may ask for them. */
export interface RelyingParty {
  /** A domain name. */
  readonly id: string;
  readonly origin: string;
}

/** What a passkey must have answered: this challenge (base64url), on a page of this party. */
export interface PasskeyChecks {
  readonly challenge: string;
  readonly party: RelyingParty;
}

/** What a browser returns after an authenticator has made a passkey. All texts are base64url. */
export interface PasskeyAttestation {
  readonly clientData: string;
  readonly attestationObject: string;
  /** How the authenticator can be reached, such as `internal` or `usb`. */
  readonly transports: readonly string[];
}

/** What a browser returns after an authenticator has signed with a passkey. All texts are base64url. */
export interface PasskeyAssertion {
  readonly credentialId: string;
  readonly clientData: string;
  readonly authenticatorData: string;
  readonly signature: string;
}

/** What is kept of a new passkey, before it has a name. */
export type MadePasskey = Pick<Passkey, 'credentialId' | 'publicKey' | 'counter' | 'transports'>;

/**
 * Checks what authenticators sign (WebAuthn). Both methods want the person verified by the authenticator, and answer
 * undefined for whatever is not as it should be. Neither sends a request anywhere.
 */
export interface PasskeyVerifier {
  /** The passkey that was made. Who made the authenticator is not asked. */
  readMade(attestation: PasskeyAttestation, checks: PasskeyChecks): Promise<MadePasskey | undefined>;

  /** The authenticator's counter, if it signed with this public key (COSE, base64url). Comparing it is the caller's. */
  readCounter(assertion: PasskeyAssertion, checks: PasskeyChecks, publicKey: string): Promise<number | undefined>;
}
