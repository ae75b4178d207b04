import { setImmediate as nextTurn } from 'node:timers/promises';
import { type CopiedRow, type CopiedTableName, rowsByKey } from '../copied-tables.js';
import type { Column, RowValue } from '../rows/row-mapping.js';
import { uuidOfHex } from './columns.js';
import type { SqliteReader } from './reader.js';

/** All rows of a table in the order of its key, some at a time. Throws `StoreUnavailable`. */
export function rowsOf(reader: SqliteReader, name: CopiedTableName): AsyncGenerator<readonly CopiedRow[]> {
  return rowsByKey(name, {
    table: (table) => table,
    selected,
    placeOf,
    valueOf,
    // Reads are synchronous, so other work runs in between.
    all: async (sql, values) => {
      await nextTurn();
      return reader.all(sql, ...values);
    },
  });
}

function selected({ name, type }: Column): string {
  return type === 'uuid' || type === 'bytes' ? `hex(stored.${name}) AS ${name}` : `stored.${name}`;
}

function placeOf({ type }: Column): string {
  return type === 'uuid' ? `unhex(?, '-')` : type === 'bytes' ? 'unhex(?)' : '?';
}

/** `hex` of NULL is the empty text. */
function valueOf({ type }: Column, value: RowValue): RowValue {
  if (type === 'uuid') return value === '' ? null : uuidOfHex(value as string);
  return type === 'bytes' ? (value as string).toLowerCase() : value;
}
