import { compareFacts, type ComparedFacts, type Installation, type InstallationFacts } from '../driver.js';
import type { Connections } from './reader.js';

/** Keeps a server that is configured for another secret or another object store from a database file. */
export class SqliteInstallation implements Installation {
  constructor(private readonly db: Connections) {}

  async check(facts: Partial<InstallationFacts>): Promise<ComparedFacts> {
    const existing = this.db.reader.get('SELECT secret, objects FROM installation') as InstallationFacts | undefined;
    return existing === undefined ? 'same' : compareFacts(existing, facts);
  }

  async claim(facts: InstallationFacts): Promise<ComparedFacts> {
    const result = await this.db.writer.write('claimInstallation', facts.secret, facts.objects);
    return result === 1 ? 'same' : compareFacts(JSON.parse(result as string) as InstallationFacts, facts);
  }
}
