import type { accountWrites } from './account-writes.js';
import { CLAIM_OF_KEY, type claimWrites } from './claim-writes.js';
import type { Database, SqlValue } from './driver.js';
import type { generationWrites } from './generation-writes.js';

/** Arguments of one claim, and of one generation. */
const CLAIM_FIELDS = 8;
const GENERATION_FIELDS = 12;

type Writes = ReturnType<typeof accountWrites> & ReturnType<typeof claimWrites> & ReturnType<typeof generationWrites>;

export function acceptanceWrites(
  database: Database,
  { changeAccount, insertClaim, insertGeneration }: Pick<Writes, 'changeAccount' | 'insertClaim' | 'insertGeneration'>,
) {
  const claimOfKey = database.prepare(CLAIM_OF_KEY);

  return {
    /**
     * The counts of claims and of generations, then their arguments, then those of the change. Answers 1 when all is
     * written. 0: another version of the account. JSON otherwise: for each claim the columns of the one that has its key, or null,
     * when nothing is written; or under `existing` the records that have the ids of generations. All is read before anything
     * is written, so that nothing has to be rolled back.
     */
    acceptGenerations(claims: SqlValue, generations: SqlValue, ...values: SqlValue[]): number | string {
      const claimed = slices(values, 0, CLAIM_FIELDS, claims as number);
      const taken = claimed.map(([keyDigest = null]) => claimOfKey.get(keyDigest) ?? null);
      if (taken.some((row) => row !== null)) return JSON.stringify({ taken });

      const afterClaims = CLAIM_FIELDS * claimed.length;
      const inserted = slices(values, afterClaims, GENERATION_FIELDS, generations as number);
      if (changeAccount(...values.slice(afterClaims + GENERATION_FIELDS * inserted.length)) === 0) return 0;
      for (const [keyDigest = null, ...content] of claimed) insertClaim(keyDigest, ...content);
      const existing = inserted.map((generation) => insertGeneration(...generation)).filter((answer) => answer !== 1);
      return existing.length === 0 ? 1 : JSON.stringify({ existing });
    },
  };
}

function slices(values: readonly SqlValue[], from: number, size: number, count: number): SqlValue[][] {
  return Array.from({ length: count }, (_, index) => values.slice(from + index * size, from + (index + 1) * size));
}
