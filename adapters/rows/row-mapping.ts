/**
 * The field that a column has, and after a colon its type: a UUID, an integer, a record as the text of its JSON, bytes in
 * hexadecimal, else a text. Text and integers of a record are the values of the row; how a store writes a UUID is its own matter.
 */
export type StoredField<R> = `${keyof R & string}${'' | ':uuid' | ':int' | ':json' | ':bytes'}`;

export type ColumnType = 'text' | 'uuid' | 'int' | 'json' | 'bytes';

export interface Column {
  readonly name: string;
  readonly field: string;
  readonly type: ColumnType;
}

/** A table whose columns hold the fields of a record. */
export interface RowTable<R extends object> {
  readonly table: string;
  readonly columns: Readonly<Record<string, StoredField<R>>>;
}

/** A value of a column, as both databases take and return it. */
export type RowValue = string | number | null;

/** The way from a record to the values of its row and back, in the order of the columns. An absent field is NULL. */
export class RowMapping<R extends object> {
  readonly table: string;
  readonly columns: readonly Column[];

  constructor({ table, columns }: RowTable<R>) {
    this.table = table;
    this.columns = Object.entries(columns).map(([name, stored]) => {
      const [field = '', type = 'text'] = stored.split(':');
      return { name, field, type: type as ColumnType };
    });
  }

  get count(): number {
    return this.columns.length;
  }

  /** For a list of columns in a statement. */
  each(sql: (column: Column, index: number) => string): string {
    return this.columns.map(sql).join(', ');
  }

  valuesOf(record: R): RowValue[] {
    return this.columns.map(({ field, type }) => {
      const value = (record as Record<string, unknown>)[field];
      return type === 'json' ? JSON.stringify(value) : ((value ?? null) as RowValue);
    });
  }

  readonly recordOf = (row: Readonly<Record<string, unknown>>): R => {
    const record: Record<string, unknown> = {};
    for (const { name, field, type } of this.columns) {
      const value = row[name];
      // `hex` of NULL is the empty text.
      if (value === null || (type === 'uuid' && value === '')) continue;
      record[field] =
        type === 'json' ? JSON.parse(value as string) : type === 'uuid' ? this.idOf(value as string) : value;
    }
    return record as R;
  };

  /** The record of a row that was found, or null. */
  found(row: Readonly<Record<string, unknown>> | undefined): R | null {
    return row === undefined ? null : this.recordOf(row);
  }

  /** A UUID from what the store selects of its column. */
  protected idOf(selected: string): string {
    return selected;
  }
}

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/;

/** Whether the text is a UUID as we write them. Databases are more lenient, or fail: lookups ask this first. */
export function isUuid(text: string): boolean {
  return UUID.test(text);
}
