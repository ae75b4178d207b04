import type { Cancellation } from '../cancellation.js';
import type { Page, PageRequest } from '../paging.js';
import type { OutsideIdentity, Person } from '../people/person.js';

/** Names one outside identity. Both texts are compared exactly. */
export type IdentityKey = Pick<OutsideIdentity, 'issuer' | 'subject'>;

/**
 * Keeps people and their outside identities. Each method is atomic for one person or identity. Every method may throw
 * `StoreUnavailable`. A read that is given a `Cancellation` ends with `CallOver` as soon as the call is over.
 */
export interface PersonStore {
  /** Inserts a person if their id and their e-mail address are free. Durable on return. */
  insert(person: Person): Promise<'created' | 'exists'>;

  read(personId: string, call?: Cancellation): Promise<Person | null>;

  /** By the address in lower case. */
  findByEmail(email: string): Promise<Person | null>;

  /**
   * Replaces a person if their version still is `expectedVersion`. Account and e-mail address stay as they are. Durable
   * on return.
   */
  replace(next: Person, expectedVersion: number): Promise<'applied' | 'conflict'>;

  /** People of one account, in order of id. */
  list(accountId: string, page: PageRequest, call?: Cancellation): Promise<Page<Person>>;

  /** Links an identity to a person, unless it is linked already. Durable on return. */
  insertIdentity(identity: OutsideIdentity): Promise<'created' | 'exists'>;

  findIdentity(key: IdentityKey): Promise<OutsideIdentity | null>;

  /** The identities of one person, oldest first. */
  listIdentities(personId: string): Promise<readonly OutsideIdentity[]>;

  /** Unlinks an identity from this person. No effect where it is linked to another one, or to none. Durable on return. */
  removeIdentity(key: IdentityKey, personId: string): Promise<void>;
}
