import {
  COPIED_TABLES,
  type CopiedRow,
  type CopiedTable,
  type CopiedTableName,
  ROWS_AT_ONCE,
} from '../copied-tables.js';
import type { Column, RowValue } from '../rows/row-mapping.js';
import type { PostgresDatabase, Row } from './connection.js';
import { columnsOfGeneration } from './postgres-generation-store.js';
import { COLUMNS_BESIDE } from './postgres-records.js';

/** All rows of a table in the order of its key, some at a time. Throws `StoreUnavailable`. */
export async function* rowsOf(db: PostgresDatabase, name: CopiedTableName): AsyncGenerator<readonly CopiedRow[]> {
  const table = COPIED_TABLES[name] as CopiedTable<object>;
  const key = table.key.map((column) => table.columns.findIndex((one) => one.name === column));
  const places = key.map((index, place) => placeOf(table.columns[index], place + 1)).join(', ');
  const selection = `SELECT ${table.each(selected)} FROM darkroom.${table.table} AS stored`;
  const order = `ORDER BY ${table.key.map((column) => `stored.${column}`).join(', ')} LIMIT ${ROWS_AT_ONCE}`;
  for (let after: CopiedRow | undefined; ;) {
    const place = after;
    const { rows: found } =
      place === undefined
        ? await db.ask(`${selection} ${order}`)
        : await db.ask(
            `${selection} WHERE (${table.key.join(', ')}) > (${places}) ${order}`,
            key.map((index) => place[index] ?? null),
          );
    const rows = found.map((row) => table.columns.map((column) => row[column.name] as RowValue));
    if (rows.length > 0) yield rows;
    after = rows.at(-1);
    if (after === undefined || rows.length < ROWS_AT_ONCE) return;
  }
}

function selected({ name, type }: Column): string {
  return type === 'bytes' ? `encode(stored.${name}, 'hex') AS ${name}` : `stored.${name}`;
}

function placeOf(column: Column | undefined, place: number): string {
  return column?.type === 'bytes' ? `decode($${place}, 'hex')` : `$${place}`;
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
