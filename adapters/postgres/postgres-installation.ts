import { compareFacts, type ComparedFacts, type Installation, type InstallationFacts } from '../driver.js';
import type { PostgresDatabase } from './connection.js';

const READ = 'SELECT secret, objects FROM darkroom.installation';
const CLAIM = 'INSERT INTO darkroom.installation (row, secret, objects) VALUES (1, $1, $2) ON CONFLICT DO NOTHING';

/** Keeps a server that is configured for another secret or another object store from a database. */
export class PostgresInstallation implements Installation {
  constructor(private readonly db: PostgresDatabase) {}

  async check(facts: Partial<InstallationFacts>): Promise<ComparedFacts> {
    const [existing] = (await this.db.ask(READ)).rows;
    return existing === undefined ? 'same' : compareFacts(existing as unknown as InstallationFacts, facts);
  }

  async claim(facts: InstallationFacts): Promise<ComparedFacts> {
    await this.db.ask(CLAIM, [facts.secret, facts.objects]);
    return this.check(facts);
  }
}
