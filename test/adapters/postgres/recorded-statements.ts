import { expect } from 'chai';
import type pg from 'pg';
import { PostgresConnection, type SqlResult } from '../../../adapters/postgres/connection.js';
import type { ColumnType } from '../../../adapters/rows/row-mapping.js';
import * as tables from '../../../adapters/rows/tables.js';

/** A connection that records the text of each statement, so that the checks include a new one as soon as a test uses it. */
export class RecordedConnection extends PostgresConnection {
  readonly texts = new Set<string>();

  override ask(...asked: Parameters<PostgresConnection['ask']>): Promise<SqlResult> {
    this.texts.add(asked[0]);
    return super.ask(...asked);
  }
}

/** The types that our parsers convert to texts, numbers, booleans and lists of texts; `numeric`, for example, is not included. */
const READ_TYPES = ['uuid', 'text', 'int8', 'int4', 'bool', 'json', '_text'];
const TYPE_OF: Readonly<Record<ColumnType, string>> = {
  text: 'text',
  json: 'text',
  uuid: 'uuid',
  int: 'int8',
  bytes: 'bytea',
};

/** Statements that read a whole table of one row. */
const ONE_ROW = [/^SELECT secret, objects FROM darkroom\.installation$/, /FROM darkroom\.migrations$/];
/** Lists that may be sorted because they are short: the artefacts of one code, and those of one person. */
const FEW = [/ FROM darkroom\.artefacts AS stored .* stored\.(alias|owner) = \$2 ORDER BY /s];

const ROWS = 10_000;
/** The approximate size of a generation as text. */
const RECORD_BYTES = 1_200;
/** The number of different values in columns whose values repeat; in other columns every row has its own value. */
const SHARED: Readonly<Record<string, number>> = {
  account: 100,
  app: 200,
  kind: 1,
  status: 5,
  model: 20,
  trace: 1_000,
  // Coprime with the others, so that keys of several columns are unique.
  day: 89,
  owner: 1_000,
  grp: 1_000,
  alias: 2_000,
  open_state: 3,
  open_provider: 4,
  endpoint: 300,
  person: 5_000,
  app_use: 50,
};
/** Columns that have a value in one of a hundred rows. */
const RARE = ['open_at', 'open_state', 'open_provider', 'uncharged_bytes', 'ended_at', 'consumed_at'];

/** Checks the statements of a connection in the database with the schema. */
export class StatementChecks {
  constructor(
    private readonly client: pg.Client,
    private readonly texts: readonly string[],
  ) {}

  /** Expects that the server knows every table and column, and that the result columns have the types that our code reads. */
  async expectTypes(): Promise<void> {
    const names = await this.typeNames();
    const tableNames = await this.tableNames();
    for (const text of this.texts) {
      const { parameters, columns } = await describe(this.client, text);
      for (const oid of parameters) expect(names.get(oid), `a value of ${text}`).not.to.be.oneOf(['int4', 'numeric']);
      for (const { name, dataTypeID, tableID } of columns) {
        const type = names.get(dataTypeID) ?? '';
        expect(type, `${name} of ${text}`).to.be.oneOf(READ_TYPES);
        const mapped = MAPPED.get(`${tableNames.get(tableID) ?? ''}.${name}`);
        if (mapped !== undefined) expect(type, `${name} of ${text}`).to.equal(TYPE_OF[mapped]);
      }
    }
  }

  /**
   * Fills the tables, so that a sequential scan is never the cheapest plan, and removes what the server has found out about
   * earlier rows.
   */
  async fill(): Promise<void> {
    const { rows } = await this.client.query<{
      table: string;
      columns: [name: string, type: string, isUnique: boolean][];
    }>(
      `SELECT relname AS table, json_agg(json_build_array(attname, typname, EXISTS (
        SELECT FROM pg_index WHERE indrelid = attrelid AND indisunique AND indkey[0] = attnum AND indnkeyatts = 1))) AS columns
      FROM pg_attribute JOIN pg_class ON pg_class.oid = attrelid JOIN pg_type ON pg_type.oid = atttypid
      WHERE relnamespace = 'darkroom'::regnamespace AND relkind = 'r' AND attnum > 0 AND relname NOT IN ('installation', 'migrations')
      GROUP BY relname`,
    );
    for (const { table, columns } of rows) {
      await this.client.query(`
        ALTER TABLE darkroom.${table} SET (autovacuum_enabled = false);
        TRUNCATE darkroom.${table};
        DELETE FROM pg_statistic WHERE starelid = 'darkroom.${table}'::regclass;
        INSERT INTO darkroom.${table} (${columns.map(([name]) => name).join(', ')})
        SELECT ${columns.map((column) => valueOf(...column)).join(', ')} FROM generate_series(1, ${ROWS}) AS n`);
    }
  }

  async analyse(): Promise<void> {
    await this.client.query('ANALYZE');
  }

  /** Expects that no statement reads a whole table, and that an index provides the order of lists. */
  async expectIndexes(): Promise<void> {
    expect(this.texts).not.to.have.length(0);
    const faults: string[] = [];
    for (const text of this.texts) {
      // The server may run such a subquery once for each row, and would then change more rows than the limit.
      expect(text).not.to.match(/\bIN\s*\(\s*SELECT\b[^()]*\bLIMIT\b/);
      const plan = nodesOf(await this.planOf(text));
      const fault = (what: string) => faults.push(`${what}: ${text}\n${plan.map(lineOf).join('\n')}`);
      if (plan.some(isScan) && !ONE_ROW.some((form) => form.test(text))) fault('reads a whole table');
      if (text.includes('LIMIT') && plan.some(isSort) && !FEW.some((form) => form.test(text))) fault('sorts');
    }
    expect(faults.join('\n\n')).to.equal('');
    const scan = nodesOf(await this.planOf('SELECT FROM darkroom.accounts WHERE name = $1 ORDER BY currency LIMIT 1'));
    expect(scan.some(isScan) && scan.some(isSort), 'what a scan and a sort look like').to.equal(true);
  }

  /** The generic plan, which does not depend on the values, as for a prepared statement. */
  private async planOf(text: string): Promise<Plan> {
    const { rows } = await this.client.query<{ 'QUERY PLAN': [{ Plan: Plan }] }>(
      `EXPLAIN (GENERIC_PLAN, FORMAT JSON) ${text}`,
    );
    return rows[0]!['QUERY PLAN'][0].Plan;
  }

  private async typeNames(): Promise<ReadonlyMap<number, string>> {
    const { rows } = await this.client.query<{ id: number; name: string }>(
      'SELECT oid AS id, typname AS name FROM pg_type',
    );
    return new Map(rows.map(({ id, name }) => [id, name]));
  }

  private async tableNames(): Promise<ReadonlyMap<number, string>> {
    const { rows } = await this.client.query<{ id: number; name: string }>(
      `SELECT oid AS id, relname AS name FROM pg_class WHERE relnamespace = 'darkroom'::regnamespace`,
    );
    return new Map(rows.map(({ id, name }) => [id, name]));
  }
}

/** The type of each column that a row mapping reads, as `table.column`. */
const MAPPED: ReadonlyMap<string, ColumnType> = new Map(
  Object.values(tables)
    .filter((value) => typeof value === 'object')
    .flatMap(({ table, columns }) =>
      Object.entries(columns).map(([name, field]) => {
        const [, type = 'text'] = field.split(':');
        return [`${table}.${name}`, type as ColumnType] as const;
      }),
    ),
);

function valueOf(name: string, type: string, isUnique: boolean): string {
  const shared = SHARED[name];
  const n = shared === undefined || isUnique ? 'n' : `n % ${shared}`;
  const value = VALUES[type]?.(n);
  if (value === undefined) throw new Error(`The test does not know how to fill ${name}, which is ${type}.`);
  const filled = name === 'kind' ? `'generation'` : name === 'doc' ? `repeat('x', ${RECORD_BYTES})` : value;
  return RARE.includes(name) ? `CASE WHEN n % 100 = 0 THEN ${filled} END` : filled;
}

const VALUES: Readonly<Record<string, (n: string) => string>> = {
  text: (n) => `'text ' || ${n}`,
  uuid: (n) => `md5((${n})::text)::uuid`,
  int8: (n) => n,
  int4: (n) => n,
  bytea: (n) => `sha256((${n})::text::bytea)`,
  tsvector: (n) => `array_to_tsvector(ARRAY['word' || n % 500, 'other' || ${n}])`,
};

interface Plan extends Readonly<Record<string, unknown>> {
  readonly Plans?: readonly Plan[];
}

function nodesOf(plan: Plan): readonly Plan[] {
  return [plan, ...(plan.Plans ?? []).flatMap(nodesOf)];
}

function isScan(node: Plan): boolean {
  return node['Node Type'] === 'Seq Scan';
}

function isSort(node: Plan): boolean {
  return node['Node Type'] === 'Sort' || node['Node Type'] === 'Incremental Sort';
}

function lineOf(node: Plan): string {
  const {
    'Node Type': type,
    'Relation Name': table = '',
    'Index Name': index = '',
    'Index Cond': condition = '',
  } = node;
  return `  ${String(type)} ${String(table)} ${String(index)} ${String(condition)}`;
}

interface Description {
  readonly parameters: readonly number[];
  readonly columns: readonly pg.FieldDef[];
}

/** Prepares a statement and lets the server describe it, without running it. */
function describe(client: pg.Client, text: string): Promise<Description> {
  return new Promise((resolve, reject) => {
    let columns: readonly pg.FieldDef[] = [];
    let parameters: readonly number[] = [];
    let fault: Error | undefined;
    const query = {
      submit(connection: pg.Connection) {
        connection.once('parameterDescription', (message: { readonly dataTypeIDs: readonly number[] }) => {
          parameters = message.dataTypeIDs;
        });
        connection.parse({ name: '', text, types: [] }, true);
        connection.describe({ type: 'S', name: '' }, true);
        connection.sync();
      },
      handleRowDescription: (message: { readonly fields: readonly pg.FieldDef[] }) => (columns = message.fields),
      handleError: (error: Error) => (fault = error),
      handleReadyForQuery: () =>
        fault === undefined
          ? resolve({ parameters, columns })
          : reject(new Error(`${fault.message}: ${text}`, { cause: fault })),
    };
    client.query(query as pg.Submittable);
  });
}
