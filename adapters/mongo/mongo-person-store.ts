import type { UUID } from 'mongodb';
import type { Cancellation } from '../../core/cancellation.js';
import { type Page, pageOf, type PageRequest } from '../../core/paging.js';
import type { OutsideIdentity, Person } from '../../core/people/person.js';
import type { IdentityKey, PersonStore } from '../../core/ports/stores.js';
import type { MongoConnection } from './connection.js';
import { Documents, ownUuid, textOf, uuidOf } from './documents.js';

interface PersonDocument {
  readonly _id: UUID;
  readonly account: UUID;
  readonly version: number;
  readonly email: string;
  /** The person as JSON: what others chose has names and texts that BSON gives a meaning to. */
  readonly record: string;
}

interface IdentityDocument {
  /** Issuer and subject, as one text. */
  readonly _id: string;
  readonly person: UUID;
  readonly linkedAt: number;
}

/** People and their outside identities in MongoDB. */
export class MongoPersonStore implements PersonStore {
  private readonly people: Documents<PersonDocument>;
  private readonly identities: Documents<IdentityDocument>;

  constructor(connection: MongoConnection) {
    this.people = new Documents(connection, 'people');
    this.identities = new Documents(connection, 'identities');
  }

  /** Id and e-mail address are unique alike, so an insert is refused completely if either is taken. */
  async insert(person: Person): Promise<'created' | 'exists'> {
    const { personId, accountId, version, email } = person;
    const record = JSON.stringify(person);
    const document = { _id: ownUuid(personId), account: ownUuid(accountId), version, email, record };
    return (await this.people.insert(document)) ? 'created' : 'exists';
  }

  async read(personId: string, call?: Cancellation): Promise<Person | null> {
    const _id = uuidOf(personId);
    const found = _id === null ? null : await this.people.first({ _id }, {}, call);
    return found === null ? null : personOf(found);
  }

  async findByEmail(email: string): Promise<Person | null> {
    const found = await this.people.first({ email }, { hint: 'people_by_email' });
    return found === null ? null : personOf(found);
  }

  async replace(next: Person, expectedVersion: number): Promise<'applied' | 'conflict'> {
    const filter = { _id: ownUuid(next.personId), version: expectedVersion };
    return this.people.update(filter, { $set: { version: next.version, record: JSON.stringify(next) } });
  }

  async list(accountId: string, page: PageRequest, call?: Cancellation): Promise<Page<Person>> {
    const found = await this.people.ofAccount('people_by_account', accountId, page, call);
    return pageOf(found.map(personOf), page, (person) => person.personId);
  }

  async remove(personId: string, expectedVersion: number): Promise<'applied' | 'conflict'> {
    const _id = uuidOf(personId);
    return _id === null ? 'conflict' : this.people.remove({ _id, version: expectedVersion });
  }

  async insertIdentity(identity: OutsideIdentity): Promise<'created' | 'exists'> {
    const { personId, linkedAt } = identity;
    const document = { _id: keyOf(identity), person: ownUuid(personId), linkedAt };
    return (await this.identities.insert(document)) ? 'created' : 'exists';
  }

  async findIdentity(key: IdentityKey): Promise<OutsideIdentity | null> {
    const found = await this.identities.first({ _id: keyOf(key) });
    return found === null ? null : identityOf(found);
  }

  async listIdentities(personId: string): Promise<readonly OutsideIdentity[]> {
    const person = uuidOf(personId);
    if (person === null) return [];
    const found = await this.identities.find({ person }, { sort: { linkedAt: 1 }, hint: 'identities_by_person' });
    return found.map(identityOf);
  }

  async removeIdentity(key: IdentityKey, personId: string): Promise<void> {
    await this.identities.remove({ _id: keyOf(key), person: ownUuid(personId) });
  }
}

function keyOf({ issuer, subject }: IdentityKey): string {
  return JSON.stringify([issuer, subject]);
}

/** Account and address are those of the first insert. */
function personOf({ account, email, record }: PersonDocument): Person {
  return { ...(JSON.parse(record) as Person), accountId: textOf(account), email };
}

export function identityOf({ _id, person, linkedAt }: IdentityDocument): OutsideIdentity {
  const [issuer, subject] = JSON.parse(_id) as [string, string];
  return { issuer, subject, personId: textOf(person), linkedAt };
}
