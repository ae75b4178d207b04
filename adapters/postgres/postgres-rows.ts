import { COPIED_TABLES, type CopiedRow, type CopiedTableName, rowsByKey } from '../copied-tables.js';
import type { Column, RowValue } from '../rows/row-mapping.js';
import type { PostgresDatabase, Row } from './connection.js';
import { columnsOfGeneration } from './postgres-generation-store.js';
import { COLUMNS_BESIDE } from './postgres-records.js';

/** All rows of a table in the order of its key, some at a time. Throws `StoreUnavailable`. */
export function rowsOf(db: PostgresDatabase, name: CopiedTableName): AsyncGenerator<readonly CopiedRow[]> {
  return rowsByKey(name, {
    table: (table) => `darkroom.${table}`,
    selected: ({ name: column, type }) =>
      type === 'bytes' ? `encode(stored.${column}, 'hex') AS ${column}` : `stored.${column}`,
    placeOf: ({ type }, place) => (type === 'bytes' ? `decode($${place}, 'hex')` : `$${place}`),
    valueOf: (_, value) => value,
    all: async (sql, values) => (await db.ask(sql, values)).rows,
  });
}

/** Inserts rows of another database by one statement, with the columns that follow from the text of a record. */
export async function insertRows(
  db: PostgresDatabase,
  name: CopiedTableName,
  rows: readonly CopiedRow[],
): Promise<void> {
  const { columns } = COPIED_TABLES[name];
  const complete = rows.map((row) => {
    const given = Object.fromEntries(columns.map((column, index) => [column.name, written(column, row[index])]));
    return { ...given, ...columnsBeside(name, given) };
  });
  const names = Object.keys(complete[0] ?? {});
  await db.ask(
    `INSERT INTO darkroom.${name} (${names.join(', ')})
    SELECT ${names.join(', ')} FROM json_populate_recordset(NULL::darkroom.${name}, $1::json)`,
    [JSON.stringify(complete)],
  );
}

function written({ type }: Column, value: RowValue | undefined): RowValue | undefined {
  return type === 'bytes' ? `\\x${value}` : value;
}

function columnsBeside(name: CopiedTableName, { doc }: Row): Row {
  if (name === 'generations') return columnsOfGeneration(doc as string);
  return name === 'uploads' || name === 'deliveries' || name === 'erasures' ? COLUMNS_BESIDE[name](doc as string) : {};
}
