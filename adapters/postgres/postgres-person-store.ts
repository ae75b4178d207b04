import type { Cancellation } from '../../core/cancellation.js';
import { type Page, pageOf, type PageRequest } from '../../core/paging.js';
import type { OutsideIdentity, Person } from '../../core/people/person.js';
import type { IdentityKey, PersonStore } from '../../core/ports/stores.js';
import { isUuid } from '../rows/row-mapping.js';
import { IDENTITIES, idOrNull } from './columns.js';
import type { PostgresDatabase, Row } from './connection.js';
import { createdOf } from './postgres-credential-store.js';
import { outcomeOf, rowsOfAccount } from './postgres-records.js';

const PERSON = 'SELECT account, email, doc FROM darkroom.people';

/** People and their outside identities in PostgreSQL. Fields that no query uses are one JSON text. */
export class PostgresPersonStore implements PersonStore {
  constructor(private readonly db: PostgresDatabase) {}

  async insert(person: Person): Promise<'created' | 'exists'> {
    const { personId, accountId, version, email } = person;
    const sql = `INSERT INTO darkroom.people (id, account, version, email, doc) VALUES ($1, $2, $3, $4, $5) ON CONFLICT DO NOTHING`;
    return createdOf((await this.db.ask(sql, [personId, accountId, version, email, JSON.stringify(person)])).rowCount);
  }

  async read(personId: string, call?: Cancellation): Promise<Person | null> {
    return isUuid(personId) ? this.first(`${PERSON} WHERE id = $1`, personId, call) : null;
  }

  findByEmail(email: string): Promise<Person | null> {
    return this.first(`${PERSON} WHERE email = $1`, email);
  }

  async replace(next: Person, expectedVersion: number): Promise<'applied' | 'conflict'> {
    const sql = 'UPDATE darkroom.people SET version = $3, doc = $4 WHERE id = $1 AND version = $2';
    const values = [next.personId, expectedVersion, next.version, JSON.stringify(next)];
    return outcomeOf((await this.db.ask(sql, values)).rowCount);
  }

  async list(accountId: string, page: PageRequest, call?: Cancellation): Promise<Page<Person>> {
    const rows = await rowsOfAccount(this.db, PERSON, accountId, page, call);
    return pageOf(rows.map(personOf), page, (person) => person.personId);
  }

  async remove(personId: string, expectedVersion: number): Promise<'applied' | 'conflict'> {
    const sql = 'DELETE FROM darkroom.people WHERE id = $1 AND version = $2';
    return outcomeOf((await this.db.ask(sql, [idOrNull(personId), expectedVersion])).rowCount);
  }

  async insertIdentity(identity: OutsideIdentity): Promise<'created' | 'exists'> {
    return createdOf((await this.db.ask(IDENTITIES.insertion, IDENTITIES.valuesOf(identity))).rowCount);
  }

  async findIdentity({ issuer, subject }: IdentityKey): Promise<OutsideIdentity | null> {
    const sql = `${IDENTITIES.selection} WHERE issuer = $1 AND subject = $2`;
    return IDENTITIES.found((await this.db.ask(sql, [issuer, subject])).rows[0]);
  }

  async listIdentities(personId: string): Promise<readonly OutsideIdentity[]> {
    if (!isUuid(personId)) return [];
    const sql = `${IDENTITIES.selection} WHERE person = $1 ORDER BY linked_at`;
    return (await this.db.ask(sql, [personId])).rows.map(IDENTITIES.recordOf);
  }

  async removeIdentity({ issuer, subject }: IdentityKey, personId: string): Promise<void> {
    const sql = 'DELETE FROM darkroom.identities WHERE issuer = $1 AND subject = $2 AND person = $3';
    await this.db.ask(sql, [issuer, subject, idOrNull(personId)]);
  }

  private async first(sql: string, value: string, call?: Cancellation): Promise<Person | null> {
    const [row] = (await this.db.ask(sql, [value], call)).rows;
    return row === undefined ? null : personOf(row);
  }
}

/** Account and address are those of the first insert. */
function personOf(row: Row): Person {
  const [accountId, email] = [row['account'] as string, row['email'] as string];
  return { ...(JSON.parse(row['doc'] as string) as Person), accountId, email };
}
