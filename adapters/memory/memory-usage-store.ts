import { assert } from '../../core/assert.js';
import { type Cancellation, throwIfAborted } from '../../core/cancellation.js';
import { checkedLimit, type Page, pageOf, type PageRequest } from '../../core/paging.js';
import type { DayRange, TracePage, UsageChange, UsageStore } from '../../core/ports/stores.js';
import {
  isTrace,
  textOfKey,
  type TraceRow,
  type UsageKey,
  type UsageRow,
  type UseRow,
} from '../../core/usage/usage.js';
import { frozenCopy } from './frozen-copy.js';
import { compareText } from './ordered-list.js';

/** Rows of usage in this process's memory; gone when the process ends. */
export class MemoryUsageStore implements UsageStore {
  /** By account, then by key. */
  private readonly rows = new Map<string, Map<string, UsageRow>>();

  async read(keys: readonly UsageKey[], call?: Cancellation): Promise<readonly UsageRow[]> {
    throwIfAborted(call);
    assert(keys.length <= 1_000, 'at most 1,000 rows are read at once');
    return keys.flatMap((key) => this.rows.get(key.accountId)?.get(textOfKey(key)) ?? []);
  }

  async apply(changes: readonly UsageChange[]): Promise<'applied' | 'conflict'> {
    assert(changes.length <= 1_000, 'at most 1,000 rows are written at once');
    let outcome: 'applied' | 'conflict' = 'applied';
    for (const { row, expectedSequence } of changes) {
      const rows = this.rows.get(row.accountId) ?? new Map<string, UsageRow>();
      const key = textOfKey(row);
      if ((rows.get(key)?.lastSequence ?? 0) !== expectedSequence) {
        outcome = 'conflict';
        continue;
      }
      this.rows.set(row.accountId, rows.set(key, frozenCopy(row)));
    }
    return outcome;
  }

  async list(accountId: string, { from, to }: DayRange, page: PageRequest, call?: Cancellation): Promise<Page<UseRow>> {
    throwIfAborted(call);
    const found = this.within(accountId, { from, to })
      .flatMap((row) => (isTrace(row) ? [] : [[textOfKey(row), row] as const]))
      .filter(([key]) => page.cursor === undefined || key > page.cursor)
      .toSorted(([a], [b]) => compareText(a, b))
      .slice(0, checkedLimit(page.limit) + 1);
    return pageOf(
      found.map(([, row]) => row),
      page,
      textOfKey,
    );
  }

  async listTraces(
    accountId: string,
    range: DayRange,
    { limit, after }: TracePage,
    call?: Cancellation,
  ): Promise<readonly TraceRow[]> {
    throwIfAborted(call);
    return this.within(accountId, range)
      .filter((row) => isTrace(row))
      .filter((row) => after === undefined || compareTraces(row, after) > 0)
      .toSorted(compareTraces)
      .slice(0, checkedLimit(limit));
  }

  private within(accountId: string, { from, to }: DayRange): readonly UsageRow[] {
    const rows = [...(this.rows.get(accountId)?.values() ?? [])];
    return rows.filter(({ day }) => day >= from && day <= to && day !== '');
  }
}

function compareTraces(a: TracePlace, b: TracePlace): number {
  return compareText(a.day, b.day) || compareText(a.clientTraceId, b.clientTraceId);
}

type TracePlace = Pick<TraceRow, 'day' | 'clientTraceId'>;
