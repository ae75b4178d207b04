import type { Query, SqliteReader } from './reader.js';
import type { SqliteWriter } from './writer.js';

/** What a database was first used with, as fingerprints that reveal none of it. */
export interface InstallationFacts {
  /** Of the secret that digests are keyed with. */
  readonly secret: string;
  /** Of the place objects are kept in. */
  readonly objects: string;
}

/** Keeps a server that is configured for another secret or another object store from a database file. */
export class SqliteInstallation {
  private readonly facts: Query;

  constructor(
    private readonly writer: Pick<SqliteWriter, 'write'>,
    reader: SqliteReader,
  ) {
    this.facts = reader.query(`SELECT secret, objects FROM installation`);
  }

  /**
   * Which of the facts differs from what the first process wrote, for callers that do not know them all. Throws
   * `StoreUnavailable`.
   */
  async check(facts: Partial<InstallationFacts>): Promise<'same' | { readonly other: 'secret' | 'objects' }> {
    const existing = this.facts.get();
    return existing === undefined ? 'same' : compared(existing as Record<keyof InstallationFacts, string>, facts);
  }

  /**
   * The first process writes its facts, durably; a later one learns which of its own differs. Throws
   * `StoreUnavailable`.
   */
  async claim(facts: InstallationFacts): Promise<'same' | { readonly other: 'secret' | 'objects' }> {
    const result = await this.writer.write('claimInstallation', facts.secret, facts.objects);
    return result === 1 ? 'same' : compared(JSON.parse(result as string) as InstallationFacts, facts);
  }
}

function compared(
  existing: InstallationFacts,
  { secret = existing.secret, objects = existing.objects }: Partial<InstallationFacts>,
): 'same' | { readonly other: 'secret' | 'objects' } {
  if (existing.secret !== secret) return { other: 'secret' };
  return existing.objects === objects ? 'same' : { other: 'objects' };
}
