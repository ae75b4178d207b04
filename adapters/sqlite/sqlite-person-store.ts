import { type Cancellation, throwIfAborted } from '../../core/cancellation.js';
import { checkedLimit, type Page, pageOf, type PageRequest } from '../../core/paging.js';
import type { OutsideIdentity, Person } from '../../core/people/person.js';
import type { IdentityKey, PersonStore } from '../../core/ports/stores.js';
import { isUuid, type Row, uuidOfHex } from './database.js';
import { type Query, type SqliteReader, yieldBetweenPages } from './reader.js';
import type { SqliteWriter } from './writer.js';

const PERSON = `SELECT hex(account) AS account, email, doc FROM people`;
const IDENTITY = `SELECT issuer, subject, hex(person) AS person, linked_at FROM identities`;

/** People and their outside identities in SQLite. Fields that no query uses are one JSON text. */
export class SqlitePersonStore implements PersonStore {
  private readonly byId: Query;
  private readonly byEmail: Query;
  private readonly byAccount: Query;
  private readonly identityByKey: Query;
  private readonly identitiesByPerson: Query;

  constructor(
    private readonly writer: Pick<SqliteWriter, 'write'>,
    reader: SqliteReader,
  ) {
    this.byId = reader.query(`${PERSON} WHERE id = unhex(?, '-')`);
    this.byEmail = reader.query(`${PERSON} WHERE email = ?`);
    this.byAccount = reader.query(`${PERSON} WHERE account = unhex(?, '-') AND id > unhex(?, '-') ORDER BY id LIMIT ?`);
    this.identityByKey = reader.query(`${IDENTITY} WHERE issuer = ? AND subject = ?`);
    this.identitiesByPerson = reader.query(`${IDENTITY} WHERE person = unhex(?, '-') ORDER BY linked_at`);
  }

  async insert(person: Person): Promise<'created' | 'exists'> {
    const { personId, accountId, version, email } = person;
    const values = [personId, accountId, version, email, JSON.stringify(person)] as const;
    return (await this.writer.write('insertPerson', ...values)) === 1 ? 'created' : 'exists';
  }

  async read(personId: string, call?: Cancellation): Promise<Person | null> {
    throwIfAborted(call);
    return isUuid(personId) ? personOf(this.byId.get(personId)) : null;
  }

  async findByEmail(email: string): Promise<Person | null> {
    return personOf(this.byEmail.get(email));
  }

  async replace(next: Person, expectedVersion: number): Promise<'applied' | 'conflict'> {
    const values = [next.personId, expectedVersion, next.version, JSON.stringify(next)] as const;
    return (await this.writer.write('replacePerson', ...values)) === 1 ? 'applied' : 'conflict';
  }

  async list(accountId: string, page: PageRequest, call?: Cancellation): Promise<Page<Person>> {
    await yieldBetweenPages(call);
    const rows = this.byAccount.all(accountId, page.cursor ?? '', checkedLimit(page.limit) + 1);
    return pageOf(
      rows.map((row) => personOf(row) as Person),
      page,
      (person) => person.personId,
    );
  }

  async insertIdentity({ issuer, subject, personId, linkedAt }: OutsideIdentity): Promise<'created' | 'exists'> {
    const created = await this.writer.write('insertIdentity', issuer, subject, personId, linkedAt);
    return created === 1 ? 'created' : 'exists';
  }

  async findIdentity({ issuer, subject }: IdentityKey): Promise<OutsideIdentity | null> {
    const row = this.identityByKey.get(issuer, subject);
    return row === undefined ? null : identityOf(row);
  }

  async listIdentities(personId: string): Promise<readonly OutsideIdentity[]> {
    return isUuid(personId) ? this.identitiesByPerson.all(personId).map(identityOf) : [];
  }

  async removeIdentity({ issuer, subject }: IdentityKey, personId: string): Promise<void> {
    await this.writer.write('removeIdentity', issuer, subject, personId);
  }
}

/** Account and address are those of the first insert. */
function personOf(row: Row | undefined): Person | null {
  if (row === undefined) return null;
  const accountId = uuidOfHex(row['account'] as string);
  return { ...(JSON.parse(row['doc'] as string) as Person), accountId, email: row['email'] as string };
}

function identityOf(row: Row): OutsideIdentity {
  return {
    issuer: row['issuer'] as string,
    subject: row['subject'] as string,
    personId: uuidOfHex(row['person'] as string),
    linkedAt: row['linked_at'] as number,
  };
}
