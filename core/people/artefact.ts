import type { JsonObject } from '../json.js';

/**
 * Something short-lived that a secret in somebody's hands stands for: a session, a sign-in link, an OAuth code or token.
 * It is kept under a digest of the secret, never under the secret.
 */
export interface Artefact {
  /** What it is: 1 to 32 lower-case letters, digits and hyphens. */
  readonly kind: string;
  /** Digest of its secret, unique among those of the kind: 1 to 128 letters, digits, hyphens and underscores. */
  readonly id: string;
  /** What it ends with, such as the id of an OAuth grant; as long as an id may be. */
  readonly group?: string;
  /** Whose it is, for lists; as long as an id may be. */
  readonly owner?: string;
  /** Another digest that it is found by, such as that of a user code; as long as an id may be. */
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
