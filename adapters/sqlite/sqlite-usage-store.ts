import { assert } from '../../core/assert.js';
import { type Cancellation, throwIfAborted } from '../../core/cancellation.js';
import { checkedLimit, type Page, pageOf, type PageRequest } from '../../core/paging.js';
import type { DayRange, TracePage, UsageChange, UsageStore } from '../../core/ports/stores.js';
import { isTrace, type TraceRow, type UsageKey, type UsageRow, type UseRow } from '../../core/usage/usage.js';
import { type Row, type SqlValue, uuidOfHex } from './database.js';
import { type Query, type SqliteReader, yieldBetweenPages } from './reader.js';
import type { SqliteWriter } from './writer.js';

const select = (table: string, key: string) => `
  SELECT hex(account) AS account, ${key}, last_sequence, generations, failed, reserved, charged, released
  FROM ${table} WHERE account = unhex(?, '-')`;
const USES = select('usage', 'day, credential, model');
const TRACES = select('usage_by_trace', 'day, trace');

/** Rows of usage in SQLite. */
export class SqliteUsageStore implements UsageStore {
  private readonly use: Query;
  private readonly usesFromDay: Query;
  private readonly usesFromCursor: Query;
  private readonly trace: Query;
  private readonly tracesFromDay: Query;
  private readonly tracesFromPlace: Query;

  constructor(
    private readonly writer: Pick<SqliteWriter, 'write'>,
    reader: SqliteReader,
  ) {
    this.use = reader.query(`${USES} AND day = ? AND credential = ? AND model = ?`);
    const rest = 'AND day <= ? ORDER BY day, credential, model LIMIT ?';
    this.usesFromDay = reader.query(`${USES} AND day >= ? ${rest}`);
    this.usesFromCursor = reader.query(`${USES} AND (day, credential, model) > (?, ?, ?) ${rest}`);
    this.trace = reader.query(`${TRACES} AND day = ? AND trace = ?`);
    this.tracesFromDay = reader.query(`${TRACES} AND day >= ? AND day <= ? ORDER BY day, trace LIMIT ?`);
    this.tracesFromPlace = reader.query(`${TRACES} AND (day, trace) > (?, ?) AND day <= ? ORDER BY day, trace LIMIT ?`);
  }

  async read(keys: readonly UsageKey[], call?: Cancellation): Promise<readonly UsageRow[]> {
    throwIfAborted(call);
    assert(keys.length <= 1_000, 'at most 1,000 rows are read at once');
    return keys.flatMap((key): UsageRow[] => {
      const { accountId, day } = key;
      if (isTrace(key)) return this.trace.all(accountId, day, key.clientTraceId).map(traceRowOf);
      return this.use.all(accountId, day, key.credentialId, key.modelKey).map(useRowOf);
    });
  }

  async apply(changes: readonly UsageChange[]): Promise<'applied' | 'conflict'> {
    assert(changes.length <= 1_000, 'at most 1,000 rows are written at once');
    const [first] = changes;
    if (first === undefined) return 'applied';
    const write = isTrace(first.row) ? 'applyTraceUsage' : 'applyUsage';
    const written = await this.writer.write(write, ...changes.flatMap(valuesOf));
    return written === changes.length ? 'applied' : 'conflict';
  }

  async list(accountId: string, { from, to }: DayRange, page: PageRequest, call?: Cancellation): Promise<Page<UseRow>> {
    await yieldBetweenPages(call);
    const limit = checkedLimit(page.limit) + 1;
    const rows =
      page.cursor === undefined
        ? this.usesFromDay.all(accountId, from, to, limit)
        : this.usesFromCursor.all(accountId, ...(JSON.parse(page.cursor) as string[]), to, limit);
    return pageOf(rows.map(useRowOf), page, ({ day, credentialId, modelKey }) =>
      JSON.stringify([day, credentialId, modelKey]),
    );
  }

  async listTraces(
    accountId: string,
    { from, to }: DayRange,
    page: TracePage,
    call?: Cancellation,
  ): Promise<readonly TraceRow[]> {
    await yieldBetweenPages(call);
    const { limit, after } = page;
    const rows =
      after === undefined
        ? this.tracesFromDay.all(accountId, from, to, checkedLimit(limit))
        : this.tracesFromPlace.all(accountId, after.day, after.clientTraceId, to, checkedLimit(limit));
    return rows.map(traceRowOf);
  }
}

function valuesOf({ row, expectedSequence }: UsageChange): SqlValue[] {
  const { accountId, day, lastSequence } = row;
  const { generations, failed, reservedCredits, chargedCredits, releasedCredits } = row;
  return [
    accountId,
    expectedSequence,
    lastSequence,
    generations,
    failed,
    reservedCredits,
    chargedCredits,
    releasedCredits,
    day,
    ...(isTrace(row) ? [row.clientTraceId] : [row.credentialId, row.modelKey]),
  ];
}

function useRowOf(row: Row): UseRow {
  return { ...countedOf(row), credentialId: row['credential'] as string, modelKey: row['model'] as string };
}

function traceRowOf(row: Row): TraceRow {
  return { ...countedOf(row), clientTraceId: row['trace'] as string };
}

function countedOf(row: Row) {
  return {
    accountId: uuidOfHex(row['account'] as string),
    day: row['day'] as string,
    lastSequence: row['last_sequence'] as number,
    generations: row['generations'] as number,
    failed: row['failed'] as number,
    reservedCredits: row['reserved'] as number,
    chargedCredits: row['charged'] as number,
    releasedCredits: row['released'] as number,
  };
}
