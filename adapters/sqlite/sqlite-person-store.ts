import { type Cancellation, throwIfAborted } from '../../core/cancellation.js';
import { type Page, pageOf, type PageRequest } from '../../core/paging.js';
import type { OutsideIdentity, Person } from '../../core/people/person.js';
import type { IdentityKey, PersonStore } from '../../core/ports/stores.js';
import { isUuid } from '../rows/row-mapping.js';
import { IDENTITIES, uuidOfHex } from './columns.js';
import type { Row } from './database.js';
import { type Connections, rowsOfAccount } from './reader.js';
import { applied, created } from './writer.js';

const PERSON = `SELECT hex(account) AS account, email, doc FROM people`;

/** People and their outside identities in SQLite. Fields that no query uses are one JSON text. */
export class SqlitePersonStore implements PersonStore {
  constructor(private readonly db: Connections) {}

  insert(person: Person): Promise<'created' | 'exists'> {
    const { personId, accountId, version, email } = person;
    const sql = `INSERT INTO people (id, account, version, email, doc) VALUES (unhex(?, '-'), unhex(?, '-'), ?, ?, ?) ON CONFLICT DO NOTHING`;
    return created(this.db.writer.run(sql, personId, accountId, version, email, JSON.stringify(person)));
  }

  async read(personId: string, call?: Cancellation): Promise<Person | null> {
    throwIfAborted(call);
    const row = isUuid(personId) ? this.db.reader.get(`${PERSON} WHERE id = unhex(?, '-')`, personId) : undefined;
    return row === undefined ? null : personOf(row);
  }

  async findByEmail(email: string): Promise<Person | null> {
    const row = this.db.reader.get(`${PERSON} WHERE email = ?`, email);
    return row === undefined ? null : personOf(row);
  }

  replace(next: Person, expectedVersion: number): Promise<'applied' | 'conflict'> {
    const sql = `UPDATE people SET version = ?, doc = ? WHERE id = unhex(?, '-') AND version = ?`;
    return applied(this.db.writer.run(sql, next.version, JSON.stringify(next), next.personId, expectedVersion));
  }

  async list(accountId: string, page: PageRequest, call?: Cancellation): Promise<Page<Person>> {
    const rows = await rowsOfAccount(this.db.reader, PERSON, accountId, page, call);
    return pageOf(rows.map(personOf), page, (person) => person.personId);
  }

  remove(personId: string, expectedVersion: number): Promise<'applied' | 'conflict'> {
    const sql = `DELETE FROM people WHERE id = unhex(?, '-') AND version = ?`;
    return applied(this.db.writer.run(sql, personId, expectedVersion));
  }

  insertIdentity(identity: OutsideIdentity): Promise<'created' | 'exists'> {
    return created(this.db.writer.run(IDENTITIES.insertion, ...IDENTITIES.valuesOf(identity)));
  }

  async findIdentity({ issuer, subject }: IdentityKey): Promise<OutsideIdentity | null> {
    const sql = `${IDENTITIES.selection} WHERE issuer = ? AND subject = ?`;
    return IDENTITIES.found(this.db.reader.get(sql, issuer, subject));
  }

  async listIdentities(personId: string): Promise<readonly OutsideIdentity[]> {
    if (!isUuid(personId)) return [];
    const sql = `${IDENTITIES.selection} WHERE person = unhex(?, '-') ORDER BY linked_at`;
    return this.db.reader.all(sql, personId).map(IDENTITIES.recordOf);
  }

  async removeIdentity({ issuer, subject }: IdentityKey, personId: string): Promise<void> {
    const sql = `DELETE FROM identities WHERE issuer = ? AND subject = ? AND person = unhex(?, '-')`;
    await this.db.writer.run(sql, issuer, subject, personId);
  }
}

/** Account and address are those of the first insert. */
function personOf(row: Row): Person {
  const accountId = uuidOfHex(row['account'] as string);
  return { ...(JSON.parse(row['doc'] as string) as Person), accountId, email: row['email'] as string };
}
