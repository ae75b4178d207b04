import type { GenerationRecord } from '../../core/generation/generation.js';
import type { Claim } from '../../core/idempotency/claim.js';
import type { AcceptanceBatch, AcceptanceOutcome, AcceptanceStore } from '../../core/ports/acceptance-store.js';
import { recordFrom } from '../record-text.js';
import { changeValues } from './sqlite-account-store.js';
import { claimOf, claimValues, type ClaimRow } from './sqlite-claim-store.js';
import { generationValues } from './sqlite-generation-store.js';
import type { SqliteWriter } from './writer.js';

/** Accepts generations in SQLite: all in one transaction, or nothing. */
export class SqliteAcceptances implements AcceptanceStore {
  constructor(private readonly writer: Pick<SqliteWriter, 'write'>) {}

  async accept({ claims, change, generations }: AcceptanceBatch): Promise<AcceptanceOutcome> {
    const result = await this.writer.write(
      'acceptGenerations',
      claims.length,
      generations.length,
      ...claims.flatMap(claimValues),
      ...generations.flatMap(generationValues),
      ...changeValues(change),
    );
    if (result === 1) return { outcome: 'accepted', existing: [] };
    if (result === 0) return { outcome: 'conflict', claimsStand: false };
    const found = JSON.parse(result as string) as
      | { readonly taken: readonly (ClaimRow | null)[] }
      | { readonly existing: readonly string[] };
    if ('existing' in found)
      return { outcome: 'accepted', existing: found.existing.map((text) => recordFrom<GenerationRecord>(text)) };
    return {
      outcome: 'taken',
      taken: found.taken.flatMap((row, index) => takenBy(claims, index, row)),
      claimsStand: false,
    };
  }
}

function takenBy(claims: readonly Claim[], index: number, row: ClaimRow | null): Claim[] {
  return row === null ? [] : [claimOf(claims[index] as Claim, row)];
}
