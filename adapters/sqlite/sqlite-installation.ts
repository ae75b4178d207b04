import { compareFacts, type ComparedFacts, type Installation, type InstallationFacts } from '../driver.js';
import type { Query, SqliteReader } from './reader.js';
import type { SqliteWriter } from './writer.js';

/** Keeps a server that is configured for another secret or another object store from a database file. */
export class SqliteInstallation implements Installation {
  private readonly facts: Query;

  constructor(
    private readonly writer: Pick<SqliteWriter, 'write'>,
    reader: SqliteReader,
  ) {
    this.facts = reader.query(`SELECT secret, objects FROM installation`);
  }

  async check(facts: Partial<InstallationFacts>): Promise<ComparedFacts> {
    const existing = this.facts.get() as InstallationFacts | undefined;
    return existing === undefined ? 'same' : compareFacts(existing, facts);
  }

  async claim(facts: InstallationFacts): Promise<ComparedFacts> {
    const result = await this.writer.write('claimInstallation', facts.secret, facts.objects);
    return result === 1 ? 'same' : compareFacts(JSON.parse(result as string) as InstallationFacts, facts);
  }
}
