import type { Collection, UUID } from 'mongodb';
import type { Cancellation } from '../../core/cancellation.js';
import { type Page, pageOf, type PageRequest } from '../../core/paging.js';
import type { OutsideIdentity, Person } from '../../core/people/person.js';
import type { IdentityKey, PersonStore } from '../../core/ports/stores.js';
import type { CommandLimits, MongoConnection } from './connection.js';
import { insertIfFree, listByAccount, ownUuid, textOf, uuidOf } from './documents.js';
import { BY_ID } from './schema.js';

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
  private readonly people: Collection<PersonDocument>;
  private readonly identities: Collection<IdentityDocument>;

  constructor(private readonly connection: MongoConnection) {
    this.people = connection.collection('people');
    this.identities = connection.collection('identities');
  }

  /** Id and e-mail address are unique alike, so an insert is refused completely if either is taken. */
  insert(person: Person): Promise<'created' | 'exists'> {
    const { personId, accountId, version, email } = person;
    const record = JSON.stringify(person);
    const document = { _id: ownUuid(personId), account: ownUuid(accountId), version, email, record };
    return this.create((limits) => this.people.insertOne(document, limits));
  }

  async read(personId: string, call?: Cancellation): Promise<Person | null> {
    const _id = uuidOf(personId);
    const found =
      _id === null ? null : await this.connection.ask((limits) => this.people.findOne({ _id }, limits), call);
    return found === null ? null : personOf(found);
  }

  async findByEmail(email: string): Promise<Person | null> {
    const found = await this.connection.ask((limits) =>
      this.people.findOne({ email }, { ...limits, hint: 'people_by_email' }),
    );
    return found === null ? null : personOf(found);
  }

  async replace(next: Person, expectedVersion: number): Promise<'applied' | 'conflict'> {
    const filter = { _id: ownUuid(next.personId), version: expectedVersion };
    const change = { $set: { version: next.version, record: JSON.stringify(next) } };
    const { matchedCount } = await this.connection.ask((limits) =>
      this.people.updateOne(filter, change, { ...limits, hint: BY_ID }),
    );
    return matchedCount === 1 ? 'applied' : 'conflict';
  }

  async list(accountId: string, page: PageRequest, call?: Cancellation): Promise<Page<Person>> {
    const found = await listByAccount(this.connection, this.people, 'people_by_account', accountId, page, call);
    return pageOf(found.map(personOf), page, (person) => person.personId);
  }

  insertIdentity(identity: OutsideIdentity): Promise<'created' | 'exists'> {
    const { personId, linkedAt } = identity;
    const document = { _id: keyOf(identity), person: ownUuid(personId), linkedAt };
    return this.create((limits) => this.identities.insertOne(document, limits));
  }

  async findIdentity(key: IdentityKey): Promise<OutsideIdentity | null> {
    const found = await this.connection.ask((limits) => this.identities.findOne({ _id: keyOf(key) }, limits));
    return found === null ? null : identityOf(found);
  }

  async listIdentities(personId: string): Promise<readonly OutsideIdentity[]> {
    const person = uuidOf(personId);
    if (person === null) return [];
    const options = { sort: { linkedAt: 1 }, hint: 'identities_by_person' } as const;
    const found = await this.connection.ask((limits) =>
      this.identities.find({ person }, { ...options, ...limits }).toArray(),
    );
    return found.map(identityOf);
  }

  async removeIdentity(key: IdentityKey, personId: string): Promise<void> {
    const filter = { _id: keyOf(key), person: ownUuid(personId) };
    await this.connection.ask((limits) => this.identities.deleteOne(filter, { ...limits, hint: BY_ID }));
  }

  private async create(insert: (limits: CommandLimits) => Promise<unknown>): Promise<'created' | 'exists'> {
    return (await insertIfFree(() => this.connection.ask(insert))) ? 'created' : 'exists';
  }
}

function keyOf({ issuer, subject }: IdentityKey): string {
  return JSON.stringify([issuer, subject]);
}

/** Account and address are those of the first insert. */
function personOf({ account, email, record }: PersonDocument): Person {
  return { ...(JSON.parse(record) as Person), accountId: textOf(account), email };
}

function identityOf({ _id, person, linkedAt }: IdentityDocument): OutsideIdentity {
  const [issuer, subject] = JSON.parse(_id) as [string, string];
  return { issuer, subject, personId: textOf(person), linkedAt };
}
