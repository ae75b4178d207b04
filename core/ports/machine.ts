import type { TopLevelDomains } from '../catalog/injection.js';
import type { Fault } from '../fields.js';
import type { Json, JsonObject } from '../json.js';
import type { Passkey, PasswordHash } from '../people/person.js';

export type { Fault, TopLevelDomains };

export interface Clock {
  /** Milliseconds since the epoch, an integer. May jump; do not rely on it to order writes. */
  now(): number;

  /**
   * Milliseconds since an arbitrary point of this process's life. Never goes back, whatever the wall clock is set to: only
   * differences between two readings of one process mean something. May stop while the machine is suspended.
   */
  monotonic(): number;

  /**
   * Calls back once after `delayMs`, 0 to 2^31 − 1, by the monotonic clock, unless the returned function is called before.
   */
  after(delayMs: number, callback: () => void): () => void;
}

export interface Ids {
  /** A new UUIDv7, lower case; ids made later in one process sort later. */
  uuid(): string;

  /** Cryptographically random bytes, 1 to 1,024. */
  random(byteCount: number): Uint8Array;
}

export interface Digests {
  /** SHA-256 of the value's canonical JSON (RFC 8785), lower-case hex. */
  ofJson(value: Json): string;

  /** Keyed SHA-256 of the text under the installation's secret, lower-case hex: stored instead of an API key. */
  keyed(text: string): string;

  /** SHA-256 of the bytes, lower-case hex, and their count. */
  ofBytes(bytes: AsyncIterable<Uint8Array>): Promise<{ readonly sha256: string; readonly byteSize: number }>;
}

/** JSON Schema 2020-12. String lengths count Unicode code points. */
export interface JsonSchemas {
  /**
   * Faults of `value` under `schema`, missing fields first, then in the value's document order; none when it conforms.
   * The first is always among them; where one rule is broken often, some of the others may be left out. `value` is not
   * changed; `withDefaults` is a copy with the schema's defaults filled in. A schema object is compiled once and kept.
   * `under` is the pointer of `value` in what the client sent: pointers and messages then begin with it.
   */
  check(
    schema: JsonObject,
    value: Json,
    under?: string,
  ): { readonly faults: readonly Fault[]; readonly withDefaults: Json };
}

/** A slow hash of passwords. It costs memory and CPU time, so an adapter computes a few at once and queues the others. */
export interface PasswordHasher {
  /** Hashes a password with a new salt. Throws SERVICE_UNAVAILABLE, with a time to try again, when too many wait. */
  hash(password: string): Promise<Omit<PasswordHash, 'setAt'>>;

  /**
   * Whether the password is the hashed one. Without a hash the answer is false, after as much work as with one: nobody
   * learns from the time whether there is such a person. Throws as `hash` does.
   */
  matches(password: string, hash: PasswordHash | undefined): Promise<boolean>;
}

/** For whom browsers keep passkeys, and the one origin whose pages may ask for them. */
export interface RelyingParty {
  /** A domain name. */
  readonly id: string;
  readonly origin: string;
}

/** The checks of a passkey's response: this challenge (base64url), on a page of this party. */
export interface PasskeyChecks {
  readonly challenge: string;
  readonly party: RelyingParty;
}

/** The response of a browser after an authenticator has made a passkey. All texts are base64url. */
export interface PasskeyAttestation {
  readonly clientData: string;
  readonly attestationObject: string;
  /** How the authenticator can be reached, such as `internal` or `usb`. */
  readonly transports: readonly string[];
}

/** The response of a browser after an authenticator has signed with a passkey. All texts are base64url. */
export interface PasskeyAssertion {
  readonly credentialId: string;
  readonly clientData: string;
  readonly authenticatorData: string;
  readonly signature: string;
}

/** The stored part of a new passkey, before it has a name. */
export type MadePasskey = Pick<Passkey, 'credentialId' | 'publicKey' | 'counter' | 'transports'>;

/**
 * Checks what authenticators sign (WebAuthn). Both methods want the person verified by the authenticator, and answer
 * undefined for whatever is not as it should be. Neither sends a request anywhere.
 */
export interface PasskeyVerifier {
  /** The passkey that was made. The maker of the authenticator is not checked. */
  readMade(attestation: PasskeyAttestation, checks: PasskeyChecks): Promise<MadePasskey | undefined>;

  /** The authenticator's counter, if it signed with this public key (COSE, base64url). Comparing it is the caller's. */
  readCounter(assertion: PasskeyAssertion, checks: PasskeyChecks, publicKey: string): Promise<number | undefined>;
}
