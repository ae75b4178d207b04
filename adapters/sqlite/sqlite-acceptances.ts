import type { GenerationRecord } from '../../core/generation/generation.js';
import type { Claim } from '../../core/idempotency/claim.js';
import type { AcceptanceBatch, AcceptanceOutcome, AcceptanceStore } from '../../core/ports/stores.js';
import { recordFrom, recordText } from '../record-text.js';
import { changeValues } from './sqlite-account-store.js';
import type { Row } from './database.js';
import type { Connections } from './reader.js';
import { claimOf, claimValues } from './sqlite-claim-store.js';
import { generationValues, type RecordCache } from './sqlite-generation-store.js';

/** Accepts generations in SQLite: all in one transaction, or nothing. */
export class SqliteAcceptances implements AcceptanceStore {
  constructor(
    private readonly db: Connections,
    private readonly cache: RecordCache,
  ) {}

  async accept({ claims, change, generations }: AcceptanceBatch): Promise<AcceptanceOutcome> {
    const ids = generations.map(({ generationId }) => generationId);
    const inserted = generations.map((generation) => ({ generation, text: recordText(generation) }));
    const result = await this.cache.whileInserting(ids, () =>
      this.db.writer.write(
        'acceptGenerations',
        claims.length,
        generations.length,
        ...claims.flatMap(claimValues),
        ...inserted.flatMap(({ generation, text }) => generationValues(generation, text)),
        ...changeValues(change),
      ),
    );
    if (result === 1) {
      // Whoever runs them reads them next.
      for (const { generation, text } of inserted) this.cache.keep(generation, text.length);
      return { outcome: 'accepted', existing: [] };
    }
    if (result === 0) return { outcome: 'conflict', claimsStand: false };
    const found = JSON.parse(result as string) as
      | { readonly taken: readonly (Row | null)[] }
      | { readonly existing: readonly string[] };
    if ('existing' in found)
      return { outcome: 'accepted', existing: found.existing.map((text) => recordFrom<GenerationRecord>(text)) };
    return {
      outcome: 'taken',
      taken: found.taken.flatMap((row, index) => (row === null ? [] : [claimOf(claims[index] as Claim, row)])),
      claimsStand: false,
    };
  }
}
