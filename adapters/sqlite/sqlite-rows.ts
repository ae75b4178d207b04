import { setImmediate as nextTurn } from 'node:timers/promises';
import {
  COPIED_TABLES,
  type CopiedRow,
  type CopiedTable,
  type CopiedTableName,
  ROWS_AT_ONCE,
} from '../copied-tables.js';
import type { Column, RowValue } from '../rows/row-mapping.js';
import { uuidOfHex } from './columns.js';
import type { Row } from './database.js';
import type { SqliteReader } from './reader.js';

/** All rows of a table in the order of its key, some at a time. Throws `StoreUnavailable`. */
export async function* rowsOf(reader: SqliteReader, name: CopiedTableName): AsyncGenerator<readonly CopiedRow[]> {
  const table = COPIED_TABLES[name] as CopiedTable<object>;
  const key = table.key.map((column) => table.columns.findIndex((one) => one.name === column));
  const places = key.map((index) => placeOf(table.columns[index])).join(', ');
  const selection = `SELECT ${table.each(selected)} FROM ${table.table}`;
  const order = `ORDER BY ${table.key.join(', ')} LIMIT ${ROWS_AT_ONCE}`;
  for (let after: CopiedRow | undefined; ;) {
    const place = after;
    const found: Row[] =
      place === undefined
        ? reader.all(`${selection} ${order}`)
        : reader.all(
            `${selection} WHERE (${table.key.join(', ')}) > (${places}) ${order}`,
            ...key.map((index) => place[index] ?? null),
          );
    const rows = found.map((row) => table.columns.map((column) => valueOf(column, row[column.name] as RowValue)));
    if (rows.length > 0) yield rows;
    after = rows.at(-1);
    if (after === undefined || rows.length < ROWS_AT_ONCE) return;
    await nextTurn();
  }
}

function selected({ name, type }: Column): string {
  return type === 'uuid' || type === 'bytes' ? `hex(${name}) AS ${name}` : name;
}

function placeOf(column: Column | undefined): string {
  return column?.type === 'uuid' ? `unhex(?, '-')` : column?.type === 'bytes' ? 'unhex(?)' : '?';
}

/** `hex` of NULL is the empty text. */
function valueOf({ type }: Column, value: RowValue): RowValue {
  if (type === 'uuid') return value === '' ? null : uuidOfHex(value as string);
  return type === 'bytes' ? (value as string).toLowerCase() : value;
}
