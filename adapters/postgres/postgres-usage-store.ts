import { assert } from '../../core/assert.js';
import type { Cancellation } from '../../core/cancellation.js';
import { checkedLimit, type Page, pageOf, type PageRequest } from '../../core/paging.js';
import type { DayRange, TracePage, UsageChange, UsageStore } from '../../core/ports/stores.js';
import { isTrace, type TraceRow, type UsageKey, type UsageRow, type UseRow } from '../../core/usage/usage.js';
import { arraysOf, type Columns, idOrNull, TRACES, type TypedColumns, unnest, USAGE_SUMS, USES } from './columns.js';
import type { PostgresDatabase, SqlValue } from './connection.js';
import { GroupedWrites } from './grouped-writes.js';

/** One of the two lists of usage: by use of credits, and by trace id. */
class UsageTable<R extends UseRow | TraceRow> {
  readonly read: string;
  private readonly insertion: string;
  private readonly replacement: string;
  private readonly keys: readonly string[];
  private readonly keyColumns: TypedColumns;
  private readonly changed: TypedColumns;

  constructor(private readonly columns: Columns<R>) {
    this.keys = columns.columns.slice(USAGE_SUMS.count).map(({ name }) => name);
    const equal = (one: string, other: string) =>
      this.keys.map((name) => `${one}.${name} = ${other}.${name}`).join(' AND ');
    this.keyColumns = columns.typed.slice(USAGE_SUMS.count);
    const { qualified, names } = columns;
    this.read = `SELECT ${columns.of('stored')} FROM ${unnest(this.keyColumns, 1, 'given')} JOIN ${qualified} AS stored
      ON ${equal('stored', 'given')}`;
    const returned = this.keys.map((name) => `stored.${name}`).join(', ');
    this.insertion = `INSERT INTO ${qualified} AS stored (${names})
      SELECT ${names} FROM ${columns.unnested(1, 'given')} ORDER BY ${this.keys.join(', ')}
      ON CONFLICT DO NOTHING RETURNING ${returned}`;
    this.changed = [...columns.typed, ['expected', 'int8']];
    // Locks the rows in one order before it changes them, so that no two statements deadlock.
    this.replacement = `
      WITH given AS (SELECT * FROM ${unnest(this.changed, 1, 'one')}),
      locked AS MATERIALIZED (
        SELECT ${returned} FROM given JOIN ${qualified} AS stored
          ON ${equal('stored', 'given')} AND stored.last_sequence = given.expected
        ORDER BY ${returned} FOR UPDATE OF stored
      )
      UPDATE ${qualified} AS stored SET ${USAGE_SUMS.each(({ name }) => `${name} = given.${name}`)}
      FROM locked JOIN given ON ${equal('given', 'locked')}
      WHERE ${equal('stored', 'locked')} AND stored.last_sequence = given.expected
      RETURNING ${returned}`;
  }

  keyValues(key: UsageKey): string[] {
    return this.columns.columns
      .slice(USAGE_SUMS.count)
      .map(({ field }) => (key as unknown as Record<string, string>)[field] ?? '');
  }

  /** The values of `read`. */
  keyArrays(keys: readonly UsageKey[]): readonly SqlValue[] {
    return arraysOf(
      this.keyColumns,
      keys.map((key) => this.keyValues(key)),
    );
  }

  /** The key as one text. */
  nameOf(key: UsageKey): string {
    return this.keyValues(key).join('\n');
  }

  /** Writes each row whose stored one has the expected sequence. */
  async write(db: PostgresDatabase, changes: readonly UsageChange[]): Promise<readonly ('applied' | 'conflict')[]> {
    const written = new Set<string>();
    const run = async (sql: string, some: readonly UsageChange[], withExpected: boolean) => {
      if (some.length === 0) return;
      const rows = some.map(({ row, expectedSequence }) => [
        ...this.columns.valuesOf(row as R),
        ...(withExpected ? [expectedSequence] : []),
      ]);
      const { rows: found } = await db.ask(sql, arraysOf(withExpected ? this.changed : this.columns.typed, rows));
      for (const row of found) written.add(this.keys.map((name) => row[name] as string).join('\n'));
    };
    await run(
      this.insertion,
      changes.filter(({ expectedSequence }) => expectedSequence === 0),
      false,
    );
    await run(
      this.replacement,
      changes.filter(({ expectedSequence }) => expectedSequence > 0),
      true,
    );
    return changes.map(({ row }) => (written.has(this.nameOf(row)) ? 'applied' : 'conflict'));
  }
}

const USE_TABLE = new UsageTable(USES);
const TRACE_TABLE = new UsageTable(TRACES);
const USES_OF_ACCOUNT = `${USES.selection} WHERE account = $1`;
const TRACES_OF_ACCOUNT = `${TRACES.selection} WHERE account = $1`;
/** The rows are chosen once: as a condition, the choice may be made again for each row, and removes more than the limit. */
const REMOVE_TRACES = `
  WITH first AS MATERIALIZED (
    SELECT account, day, trace, app_use FROM darkroom.usage_by_trace WHERE account = $1
    ORDER BY day, trace, app_use LIMIT $2 FOR UPDATE
  )
  DELETE FROM darkroom.usage_by_trace AS stored USING first
  WHERE ${TRACES.columns
    .slice(USAGE_SUMS.count)
    .map(({ name }) => `stored.${name} = first.${name}`)
    .join(' AND ')}`;

function tableOf(key: UsageKey): UsageTable<UseRow> | UsageTable<TraceRow> {
  return isTrace(key) ? TRACE_TABLE : USE_TABLE;
}

/** Rows of usage in PostgreSQL. */
export class PostgresUsageStore implements UsageStore {
  private readonly uses: GroupedWrites<UsageChange, 'applied' | 'conflict'>;
  private readonly traces: GroupedWrites<UsageChange, 'applied' | 'conflict'>;

  constructor(private readonly db: PostgresDatabase) {
    const grouped = (table: UsageTable<UseRow> | UsageTable<TraceRow>) =>
      new GroupedWrites<UsageChange, 'applied' | 'conflict'>({
        keyOf: ({ row }) => table.nameOf(row),
        bounded: (operation) => db.bounded(operation),
        write: (changes) => table.write(db, changes),
      });
    this.uses = grouped(USE_TABLE);
    this.traces = grouped(TRACE_TABLE);
  }

  async read(keys: readonly UsageKey[], call?: Cancellation): Promise<readonly UsageRow[]> {
    assert(keys.length <= 1_000, 'at most 1,000 rows are read at once');
    const [first] = keys;
    if (first === undefined) return [];
    const table = tableOf(first);
    const found = await this.db.ask(table.read, table.keyArrays(keys), call);
    return isTrace(first) ? found.rows.map(TRACES.recordOf) : found.rows.map(USES.recordOf);
  }

  async apply(changes: readonly UsageChange[]): Promise<'applied' | 'conflict'> {
    assert(changes.length <= 1_000, 'at most 1,000 rows are written at once');
    const outcomes = await Promise.all(
      changes.map((change) => (isTrace(change.row) ? this.traces : this.uses).apply(change)),
    );
    return outcomes.includes('conflict') ? 'conflict' : 'applied';
  }

  async list(accountId: string, { from, to }: DayRange, page: PageRequest, call?: Cancellation): Promise<Page<UseRow>> {
    const [after, start] =
      page.cursor === undefined
        ? ['day >= $4', [from]]
        : ['(day, credential, model, app_use) > ($4, $5, $6, $7)', JSON.parse(page.cursor) as string[]];
    const { rows } = await this.db.ask(
      `${USES_OF_ACCOUNT} AND ${after} AND day <= $2 ORDER BY day, credential, model, app_use LIMIT $3`,
      [idOrNull(accountId), to, checkedLimit(page.limit) + 1, ...start],
      call,
    );
    return pageOf(rows.map(USES.recordOf), page, ({ day, credentialId, modelKey, appUse }) =>
      JSON.stringify([day, credentialId, modelKey, appUse]),
    );
  }

  async listTraces(
    accountId: string,
    { from, to }: DayRange,
    { limit, after, appUse }: TracePage,
    call?: Cancellation,
  ): Promise<readonly TraceRow[]> {
    const values: SqlValue[] = [idOrNull(accountId), to, checkedLimit(limit)];
    const placed = (value: SqlValue): string => `$${values.push(value)}`;
    const of = appUse === undefined ? '' : `AND app_use = ${placed(appUse)} AND app_use > ''`;
    const place =
      after === undefined
        ? `day >= ${placed(from)}`
        : after.appUse === undefined || appUse !== undefined
          ? `(day, trace) > (${placed(after.day)}, ${placed(after.clientTraceId)})`
          : `(day, trace, app_use) > (${placed(after.day)}, ${placed(after.clientTraceId)}, ${placed(after.appUse)})`;
    const { rows } = await this.db.ask(
      `${TRACES_OF_ACCOUNT} ${of} AND ${place} AND day <= $2 ORDER BY day, trace, app_use LIMIT $3`,
      values,
      call,
    );
    return rows.map(TRACES.recordOf);
  }

  async removeTraces(accountId: string, limit: number): Promise<number> {
    // No day sorts before the empty one of the whole account.
    return (await this.db.ask(REMOVE_TRACES, [idOrNull(accountId), checkedLimit(limit)])).rowCount;
  }
}
