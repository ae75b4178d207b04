import { assert } from '../../core/assert.js';
import { type Cancellation, throwIfAborted } from '../../core/cancellation.js';
import { checkedLimit, type Page, pageOf, type PageRequest } from '../../core/paging.js';
import type { DayRange, TracePage, UsageChange, UsageStore } from '../../core/ports/stores.js';
import { isTrace, type TraceRow, type UsageKey, type UsageRow, type UseRow } from '../../core/usage/usage.js';
import { TRACES, USES } from './columns.js';
import { type Connections, yieldBetweenPages } from './reader.js';

const USES_OF_ACCOUNT = `${USES.selection} WHERE account = unhex(?, '-')`;
const TRACES_OF_ACCOUNT = `${TRACES.selection} WHERE account = unhex(?, '-')`;
/** The index leaves out rows without an App, and SQLite would choose the primary key. */
const TRACES_OF_APP = `${TRACES.selection} INDEXED BY usage_by_app_trace WHERE account = unhex(?, '-') AND app_use = ? AND app_use > ''`;
const USES_UNTIL = 'AND day <= ? ORDER BY day, credential, model, app_use LIMIT ?';
const TRACES_UNTIL = 'AND day <= ? ORDER BY day, trace, app_use LIMIT ?';

/** Rows of usage in SQLite. */
export class SqliteUsageStore implements UsageStore {
  constructor(private readonly db: Connections) {}

  async read(keys: readonly UsageKey[], call?: Cancellation): Promise<readonly UsageRow[]> {
    throwIfAborted(call);
    assert(keys.length <= 1_000, 'at most 1,000 rows are read at once');
    const { reader } = this.db;
    return keys.flatMap((key): UsageRow[] => {
      const found = isTrace(key)
        ? TRACES.found(
            reader.get(
              `${TRACES_OF_ACCOUNT} AND day = ? AND trace = ? AND app_use = ?`,
              key.accountId,
              key.day,
              key.clientTraceId,
              key.appUse,
            ),
          )
        : USES.found(
            reader.get(
              `${USES_OF_ACCOUNT} AND day = ? AND credential = ? AND model = ? AND app_use = ?`,
              key.accountId,
              key.day,
              key.credentialId,
              key.modelKey,
              key.appUse,
            ),
          );
      return found === null ? [] : [found];
    });
  }

  async apply(changes: readonly UsageChange[]): Promise<'applied' | 'conflict'> {
    assert(changes.length <= 1_000, 'at most 1,000 rows are written at once');
    const [first] = changes;
    if (first === undefined) return 'applied';
    const write = isTrace(first.row) ? 'applyTraceUsage' : 'applyUsage';
    const rows = changes.flatMap(({ row, expectedSequence }) => [
      ...(isTrace(row) ? TRACES.valuesOf(row) : USES.valuesOf(row)),
      expectedSequence,
    ]);
    return (await this.db.writer.write(write, ...rows)) === changes.length ? 'applied' : 'conflict';
  }

  async list(accountId: string, { from, to }: DayRange, page: PageRequest, call?: Cancellation): Promise<Page<UseRow>> {
    await yieldBetweenPages(call);
    const [after, start] =
      page.cursor === undefined
        ? ['day >= ?', [from]]
        : ['(day, credential, model, app_use) > (?, ?, ?, ?)', JSON.parse(page.cursor) as string[]];
    const sql = `${USES_OF_ACCOUNT} AND ${after} ${USES_UNTIL}`;
    const rows = this.db.reader.all(sql, accountId, ...start, to, checkedLimit(page.limit) + 1);
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
    await yieldBetweenPages(call);
    const [place, start] =
      after === undefined
        ? ['day >= ?', [from]]
        : after.appUse === undefined || appUse !== undefined
          ? ['(day, trace) > (?, ?)', [after.day, after.clientTraceId]]
          : ['(day, trace, app_use) > (?, ?, ?)', [after.day, after.clientTraceId, after.appUse]];
    const [of, app] = appUse === undefined ? [TRACES_OF_ACCOUNT, []] : [TRACES_OF_APP, [appUse]];
    const rows = this.db.reader.all(
      `${of} AND ${place} ${TRACES_UNTIL}`,
      accountId,
      ...app,
      ...start,
      to,
      checkedLimit(limit),
    );
    return rows.map(TRACES.recordOf);
  }

  removeTraces(accountId: string, limit: number): Promise<number> {
    // No day sorts before the empty one of the whole account.
    const sql = `DELETE FROM usage_by_trace WHERE (account, day, trace, app_use) IN
      (SELECT account, day, trace, app_use FROM usage_by_trace WHERE account = unhex(?, '-') ORDER BY day, trace, app_use LIMIT ?)`;
    return this.db.writer.run(sql, accountId, checkedLimit(limit));
  }
}
