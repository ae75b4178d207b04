import { assert } from '../../core/assert.js';
import { requireWanted, type Cancellation } from '../../core/cancellation.js';
import { checkedLimit, pageOf, type Page, type PageRequest } from '../../core/paging.js';
import type { DayRange, UsageChange, UsageStore } from '../../core/ports/usage-store.js';
import type { UsageKey, UsageRow } from '../../core/usage/usage.js';
import { requireWantedBetweenTurns } from './between-turns.js';
import type { Row, SqlValue } from './driver.js';
import type { Query, SqliteReader } from './reader.js';
import { uuidOfHex } from './uuid-text.js';
import type { SqliteWriter } from './writer.js';

const USAGE = `
  SELECT hex(account) AS account, day, credential, model, last_sequence, generations, failed, reserved, charged, released
  FROM usage WHERE account = unhex(?, '-')`;

/** Rows of usage in SQLite. */
export class SqliteUsageStore implements UsageStore {
  private readonly byKey: Query;
  private readonly fromDay: Query;
  private readonly fromCursor: Query;

  constructor(
    private readonly writer: Pick<SqliteWriter, 'write'>,
    reader: SqliteReader,
  ) {
    this.byKey = reader.query(`${USAGE} AND day = ? AND credential = ? AND model = ?`);
    const rest = 'AND day <= ? ORDER BY day, credential, model LIMIT ?';
    this.fromDay = reader.query(`${USAGE} AND day >= ? ${rest}`);
    this.fromCursor = reader.query(`${USAGE} AND (day, credential, model) > (?, ?, ?) ${rest}`);
  }

  async read(keys: readonly UsageKey[], call?: Cancellation): Promise<readonly UsageRow[]> {
    requireWanted(call);
    assert(keys.length <= 1_000, 'at most 1,000 rows are read at once');
    return keys.flatMap(({ accountId, day, credentialId, modelKey }) => {
      const row = this.byKey.get(accountId, day, credentialId, modelKey);
      return row === undefined ? [] : usageRowOf(row);
    });
  }

  async apply(changes: readonly UsageChange[]): Promise<'applied' | 'conflict'> {
    assert(changes.length <= 1_000, 'at most 1,000 rows are written at once');
    const written = await this.writer.write('applyUsage', ...changes.flatMap(valuesOf));
    return written === changes.length ? 'applied' : 'conflict';
  }

  async list(
    accountId: string,
    { from, to }: DayRange,
    page: PageRequest,
    call?: Cancellation,
  ): Promise<Page<UsageRow>> {
    await requireWantedBetweenTurns(call);
    const limit = checkedLimit(page.limit) + 1;
    const rows =
      page.cursor === undefined
        ? this.fromDay.all(accountId, from, to, limit)
        : this.fromCursor.all(accountId, ...(JSON.parse(page.cursor) as string[]), to, limit);
    return pageOf(rows.map(usageRowOf), page, ({ day, credentialId, modelKey }) =>
      JSON.stringify([day, credentialId, modelKey]),
    );
  }
}

function valuesOf({ row, expectedSequence }: UsageChange): SqlValue[] {
  const { accountId, day, credentialId, modelKey, lastSequence } = row;
  const { generations, failed, reservedCredits, chargedCredits, releasedCredits } = row;
  return [
    accountId,
    day,
    credentialId,
    modelKey,
    expectedSequence,
    lastSequence,
    generations,
    failed,
    reservedCredits,
    chargedCredits,
    releasedCredits,
  ];
}

function usageRowOf(row: Row): UsageRow {
  return {
    accountId: uuidOfHex(row['account'] as string),
    day: row['day'] as string,
    credentialId: row['credential'] as string,
    modelKey: row['model'] as string,
    lastSequence: row['last_sequence'] as number,
    generations: row['generations'] as number,
    failed: row['failed'] as number,
    reservedCredits: row['reserved'] as number,
    chargedCredits: row['charged'] as number,
    releasedCredits: row['released'] as number,
  };
}
