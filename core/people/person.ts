import type { JsonObject } from '../json.js';

/** A human being who signs in for an account. All people of an account have equal rights in it. */
export interface Person {
  readonly personId: string;
  readonly accountId: string;
  /** Grows by one with each change. */
  readonly version: number;
  /** In lower case; no other person of the installation has it, and it never changes. */
  readonly email: string;
  readonly createdAt: number;
  /** Since when the person may not sign in; absent while they may. */
  readonly disabledAt?: number;
  /** Absent for a person without a password, who signs in by a link or through another provider. */
  readonly password?: PasswordHash;
  /** At most `MAX_PASSKEYS`. */
  readonly passkeys: readonly Passkey[];
  /**
   * Sessions carry the epoch in which they started, and end with it: a new password, a reset and disabling start a new
   * one.
   */
  readonly sessionEpoch: string;
  /**
   * Programs that the person has connected carry the epoch in which they were allowed, and end with it: a new password
   * and a reset start a new one. Absent until the first of these.
   */
  readonly grantEpoch?: string;
  readonly lastSignInAt?: number;
  /** Since when the person is an operator; absent for everybody else. */
  readonly operatorSince?: number;
}

/** An scrypt hash (RFC 7914) with its own parameters, so that they can be raised later. */
export interface PasswordHash {
  readonly n: number;
  readonly r: number;
  readonly p: number;
  /** Base64url, as is the salt. */
  readonly hash: string;
  readonly salt: string;
  readonly setAt: number;
}

/** An account at an outside OpenID provider that signs a person in. It belongs to one person of the installation. */
export interface OutsideIdentity {
  readonly issuer: string;
  readonly subject: string;
  readonly personId: string;
  readonly linkedAt: number;
}

/** A WebAuthn credential. */
export interface Passkey {
  /** Base64url, as the authenticator named it. */
  readonly credentialId: string;
  /** COSE key, base64url. */
  readonly publicKey: string;
  readonly counter: number;
  readonly transports: readonly string[];
  readonly name: string;
  readonly createdAt: number;
  readonly lastUsedAt?: number;
}

export const MAX_PASSKEYS = 20;
/** COSE algorithms of the keys that are taken, the preferred first: Ed25519, ES256 and RS256. */
export const PASSKEY_ALGORITHMS: readonly number[] = [-8, -7, -257];
export const MAX_IDENTITIES = 10;

/**
 * A short-lived object that a person's secret refers to: a session, a sign-in link, an OAuth code or token. It is
 * stored under a digest of the secret, never under the secret.
 */
export interface Artefact {
  /** The kind of artefact: 1 to 32 lower-case letters, digits and hyphens. */
  readonly kind: string;
  /** Digest of its secret, unique among those of the kind: 1 to 128 letters, digits, hyphens and underscores. */
  readonly id: string;
  /** The group that ends together, such as the id of an OAuth grant; up to the maximum length of an id. */
  readonly group?: string;
  /** The owner, for lists; up to the maximum length of an id. */
  readonly owner?: string;
  /** Another digest that it is found by, such as that of a user code; up to the maximum length of an id. */
  readonly alias?: string;
  /** Opaque to the store. */
  readonly data: JsonObject;
  readonly createdAt: number;
  /** From then on it counts for nothing. It is removed later, so that an ended one stays distinguishable from none. */
  readonly expiresAt: number;
  readonly removeAt: number;
  /** When it was used up, for those that can be used once. */
  readonly consumedAt?: number;
  /** When it was ended before its time. */
  readonly endedAt?: number;
}

/** The kinds of artefacts that show that a token was revoked, and is not merely unknown. */
export const PROOF_OF_REVOCATION = ['grant', 'access-token'] as const;

/** Every kind of artefact that is owned by a person. */
export const OWNED_ARTEFACTS = [
  'session',
  'sign-in-link',
  'passkey-registration',
  'consent-shown',
  'oauth-interaction',
  'oauth-session',
  'authorization-code',
  'device-code',
  'refresh-token',
  ...PROOF_OF_REVOCATION,
] as const;
