import { type Cancellation, throwIfAborted } from '../../core/cancellation.js';
import type { Page, PageRequest } from '../../core/paging.js';
import type { OutsideIdentity, Person } from '../../core/people/person.js';
import type { IdentityKey, PersonStore } from '../../core/ports/stores.js';
import { AccountThings } from './account-things.js';
import { frozenCopy } from './frozen-copy.js';

/** People in this process's memory; gone when the process ends. */
export class MemoryPersonStore implements PersonStore {
  private readonly people = new AccountThings<Person>((person) => person.personId);
  private readonly idByEmail = new Map<string, string>();
  private readonly identities = new Map<string, OutsideIdentity>();

  async insert(person: Person): Promise<'created' | 'exists'> {
    if (this.people.get(person.personId) !== undefined || this.idByEmail.has(person.email)) return 'exists';
    this.people.insert(person);
    this.idByEmail.set(person.email, person.personId);
    return 'created';
  }

  async read(personId: string, call?: Cancellation): Promise<Person | null> {
    throwIfAborted(call);
    return this.people.get(personId) ?? null;
  }

  async findByEmail(email: string): Promise<Person | null> {
    const personId = this.idByEmail.get(email);
    return (personId === undefined ? undefined : this.people.get(personId)) ?? null;
  }

  async replace(next: Person, expectedVersion: number): Promise<'applied' | 'conflict'> {
    const current = this.people.get(next.personId);
    if (current?.version !== expectedVersion) return 'conflict';
    this.people.put({ ...next, accountId: current.accountId, email: current.email });
    return 'applied';
  }

  async list(accountId: string, page: PageRequest, call?: Cancellation): Promise<Page<Person>> {
    throwIfAborted(call);
    return this.people.list(accountId, page);
  }

  async insertIdentity(identity: OutsideIdentity): Promise<'created' | 'exists'> {
    if (this.identities.has(keyOf(identity))) return 'exists';
    this.identities.set(keyOf(identity), frozenCopy(identity));
    return 'created';
  }

  async findIdentity(key: IdentityKey): Promise<OutsideIdentity | null> {
    return this.identities.get(keyOf(key)) ?? null;
  }

  async listIdentities(personId: string): Promise<readonly OutsideIdentity[]> {
    const own = [...this.identities.values()].filter((identity) => identity.personId === personId);
    return own.sort((a, b) => a.linkedAt - b.linkedAt);
  }

  async removeIdentity(key: IdentityKey, personId: string): Promise<void> {
    if (this.identities.get(keyOf(key))?.personId === personId) this.identities.delete(keyOf(key));
  }
}

function keyOf({ issuer, subject }: IdentityKey): string {
  return JSON.stringify([issuer, subject]);
}
