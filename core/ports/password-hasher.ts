import type { PasswordHash } from '../people/person.js';

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
