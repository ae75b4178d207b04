import type { Cancellation } from '../../core/cancellation.js';
import type { StoredContent, StoredSum } from '../../core/generation/decide.js';
import {
  type Generation,
  type GenerationRecord,
  isTerminal,
  openStateOf,
  thumbnailBytesOf,
} from '../../core/generation/generation.js';
import { checkedLimit, type Page, pageOf, type PageRequest } from '../../core/paging.js';
import type {
  AppGenerations,
  DueAfter,
  GenerationStore,
  Insertion,
  ListedField,
  ListedGenerations,
  OpenCount,
} from '../../core/ports/stores.js';
import { cursorAt, placeBefore, placeOf } from '../created-cursor.js';
import { recordFrom, recordText } from '../record-text.js';
import { isUuid } from '../rows/row-mapping.js';
import { arraysOf, idOrNull, unnest } from './columns.js';
import type { PostgresDatabase, Row, SqlValue } from './connection.js';
import { GroupedWrites } from './grouped-writes.js';
import { AFTER_ALL_IDS, insertOrFind, LEAST_ID, outcomeOf } from './postgres-records.js';

/** The columns that a replacement changes, in the order of `changedValues`. */
const CHANGED = [
  ['version', 'int8'],
  ['attention_at', 'int8'],
  ['doc', 'text'],
  ['kind', 'text'],
  ['uncharged_bytes', 'int8'],
  ['thumbnail_bytes', 'int8'],
  ['status', 'text'],
  ['created_at', 'int8'],
  ['model', 'text'],
  ['trace', 'text'],
  ['open_at', 'int8'],
  ['open_state', 'text'],
  ['open_provider', 'text'],
] as const;
const COLUMNS = [['id', 'uuid'], ['account', 'uuid'], ['app', 'uuid'], ...CHANGED] as const;
const REPLACED = [['id', 'uuid'], ['expected', 'int8'], ...CHANGED] as const;
const NAMES = COLUMNS.map(([name]) => name).join(', ');

/** Places of a statement that inserts generations. */
export const PLACES_OF_GENERATION = COLUMNS.length;

/**
 * Inserts the generations that are given as arrays from a place on, in the order of their ids, so that no two statements
 * deadlock; with `accounts`, only those of the accounts whose ids that has. Returns the ids that were free.
 */
export function insertGenerations(from: number, accounts?: string): string {
  return `INSERT INTO darkroom.generations (${NAMES})
    SELECT ${COLUMNS.map(([name]) => `given.${name}`).join(', ')} FROM ${unnest(COLUMNS, from, 'given')}
    ${accounts === undefined ? '' : `JOIN ${accounts} ON ${accounts}.id = given.account`} ORDER BY 1
    ON CONFLICT DO NOTHING RETURNING id`;
}

const INSERT = insertGenerations(1);
const READ = 'SELECT doc FROM darkroom.generations WHERE id = $1';
const REPLACE = `UPDATE darkroom.generations SET ${CHANGED.map(([name], index) => `${name} = $${index + 3}`).join(', ')}
  WHERE id = $1 AND version = $2 RETURNING id`;
/** Locks the records in the order of their ids before it changes them, so that no two statements deadlock. */
const REPLACE_MANY = `
  WITH given AS (SELECT * FROM ${unnest(REPLACED, 1, 'one')}),
  locked AS MATERIALIZED (
    SELECT stored.id FROM given JOIN darkroom.generations AS stored ON stored.id = given.id AND stored.version = given.expected
    ORDER BY stored.id FOR UPDATE OF stored
  )
  UPDATE darkroom.generations AS stored SET ${CHANGED.map(([name]) => `${name} = given.${name}`).join(', ')}
  FROM locked JOIN given ON given.id = locked.id WHERE stored.id = locked.id AND stored.version = given.expected
  RETURNING stored.id`;
const REMOVE = 'DELETE FROM darkroom.generations WHERE id = $1 AND version = $2';
const DUE = `SELECT doc FROM darkroom.generations WHERE attention_at <= $1 AND (attention_at, id) > ($2, $3)
  ORDER BY attention_at, id LIMIT $4`;
/** A tombstone has no `created_at`. Asked by its kind, a server without statistics expects few generations, and sorts them. */
const LIST_ALL = `SELECT doc FROM darkroom.generations WHERE created_at IS NOT NULL AND id < $1 ORDER BY id DESC LIMIT $2`;
const LIST_ACCOUNT = `SELECT doc FROM darkroom.generations WHERE kind = 'generation' AND account = $3 AND id < $1
  ORDER BY id DESC LIMIT $2`;

const appList = (column: 'created_at' | 'status' | 'model' | 'trace'): string => `
  SELECT doc FROM darkroom.generations
  WHERE app = $1 ${column === 'created_at' ? '' : `AND ${column} = $6`} AND created_at >= $2 AND (created_at, id) < ($3, $4)
  ORDER BY created_at DESC, id DESC LIMIT $5`;

/** The statement of each list of an App. */
const APP_LISTS: Readonly<Record<ListedField | 'all', string>> = {
  all: appList('created_at'),
  status: appList('status'),
  modelKey: appList('model'),
  clientTraceId: appList('trace'),
};

const sumOf = (column: string): string => `
  SELECT count(*) AS generations, coalesce(sum(${column}), 0)::int8 AS bytes FROM darkroom.generations
  WHERE account = $1 AND ${column} IS NOT NULL`;
const SUMS: Readonly<Record<StoredContent, string>> = {
  uncharged: sumOf('uncharged_bytes'),
  thumbnails: sumOf('thumbnail_bytes'),
};

/** Reads the open generations from an index of only those. A server without statistics expects few rows between two bounds. */
const COUNT_OPEN = `
  SELECT open_state AS state, model AS "modelKey", open_provider AS provider, count(*) AS generations,
    min(open_at) AS "oldestCreatedAt"
  FROM darkroom.generations WHERE open_at BETWEEN 0 AND ${Number.MAX_SAFE_INTEGER} GROUP BY open_state, model, open_provider`;

interface Replacement {
  readonly next: GenerationRecord;
  readonly expectedVersion: number;
}

/** Generations in PostgreSQL: the record as one JSON text, with the few columns used in queries beside it. */
export class PostgresGenerationStore implements GenerationStore {
  private readonly replacements: GroupedWrites<Replacement, 'applied' | 'conflict'>;

  constructor(private readonly db: PostgresDatabase) {
    this.replacements = new GroupedWrites({
      keyOf: ({ next }) => next.generationId,
      bounded: (operation) => db.bounded(operation),
      write: (writes) => this.writeReplacements(writes),
    });
  }

  insert(record: GenerationRecord): Promise<Insertion<GenerationRecord>> {
    return insertOrFind(
      async () => (await this.db.ask(INSERT, generationArrays([record]))).rowCount === 1,
      () => this.read(record.generationId),
    );
  }

  async read(generationId: string, call?: Cancellation): Promise<GenerationRecord | null> {
    if (!isUuid(generationId)) return null;
    const { rows } = await this.db.ask(READ, [generationId], call);
    return recordsOf(rows)[0] ?? null;
  }

  replace(next: GenerationRecord, expectedVersion: number): Promise<'applied' | 'conflict'> {
    return this.replacements.apply({ next, expectedVersion });
  }

  private async writeReplacements(writes: readonly Replacement[]): Promise<readonly ('applied' | 'conflict')[]> {
    const rows = writes.map(({ next, expectedVersion }) => [
      next.generationId,
      expectedVersion,
      ...changedValues(next),
    ]);
    const [only] = rows;
    const { rows: applied } =
      rows.length === 1 && only !== undefined
        ? await this.db.ask(REPLACE, only)
        : await this.db.ask(REPLACE_MANY, arraysOf(REPLACED, rows));
    const ids = new Set(applied.map((row) => row['id'] as string));
    return writes.map(({ next }) => (ids.has(next.generationId) ? 'applied' : 'conflict'));
  }

  async remove(generationId: string, expectedVersion: number): Promise<'applied' | 'conflict'> {
    return outcomeOf((await this.db.ask(REMOVE, [idOrNull(generationId), expectedVersion])).rowCount);
  }

  async due(now: number, limit: number, after?: DueAfter): Promise<readonly GenerationRecord[]> {
    const place = [after?.dueAt ?? Number.MIN_SAFE_INTEGER, after?.generationId ?? LEAST_ID];
    return recordsOf((await this.db.ask(DUE, [now, ...place, checkedLimit(limit)])).rows);
  }

  async list(wanted: ListedGenerations, page: PageRequest, call?: Cancellation): Promise<Page<Generation>> {
    if (wanted.of === 'app') return this.listApp(wanted, page, call);
    const bounds = [idOrNull(page.cursor ?? AFTER_ALL_IDS), checkedLimit(page.limit) + 1];
    const { rows } = await (wanted.of === 'all'
      ? this.db.ask(LIST_ALL, bounds, call)
      : this.db.ask(LIST_ACCOUNT, [...bounds, idOrNull(wanted.accountId)], call));
    return pageOf(recordsOf<Generation>(rows), page, ({ generationId }) => generationId);
  }

  private async listApp(
    { appId, only, createdFrom = 0, createdBefore }: AppGenerations,
    page: PageRequest,
    call?: Cancellation,
  ): Promise<Page<Generation>> {
    const before = placeBefore(page.cursor, createdBefore);
    const bounds = [idOrNull(appId), createdFrom, before.createdAt, before.id, checkedLimit(page.limit) + 1];
    const { rows } = await this.db.ask(
      APP_LISTS[only?.field ?? 'all'],
      only === undefined ? bounds : [...bounds, only.value],
      call,
    );
    return pageOf(recordsOf<Generation>(rows), page, (g) => cursorAt(placeOf(g)));
  }

  async stored(accountId: string, content: StoredContent, call?: Cancellation): Promise<StoredSum> {
    const { rows } = await this.db.ask(SUMS[content], [idOrNull(accountId)], call);
    return rows[0] as unknown as StoredSum;
  }

  async countOpen(call?: Cancellation): Promise<readonly OpenCount[]> {
    const { rows } = await this.db.ask(COUNT_OPEN, [], call);
    return rows.map(({ provider, ...counted }) => {
      const count = counted as unknown as OpenCount;
      return provider === null ? count : { ...count, provider: provider as string };
    });
  }
}

/** The values of `insertGenerations`. */
export function generationArrays(records: readonly GenerationRecord[]): readonly SqlValue[] {
  return arraysOf(
    COLUMNS,
    records.map((record) => [record.generationId, record.accountId, record.appId, ...changedValues(record)]),
  );
}

/** The columns of a record that is copied from another database as this text. */
export function columnsOfGeneration(text: string): Row {
  const record = recordFrom<GenerationRecord>(text);
  const values = changedValues(record);
  return {
    account: record.accountId,
    app: record.appId,
    ...Object.fromEntries(CHANGED.map(([name], index) => [name, values[index]])),
    doc: text,
  };
}

function changedValues(record: GenerationRecord): (string | number | null)[] {
  const values = [record.version, record.dueAt, recordText(record), record.kind];
  // A tombstone counts in no sum and is in no list.
  if (record.kind !== 'generation') return [...values, ...CHANGED.slice(values.length).map(() => null)];
  const { unchargedBytes = null, status, createdAt, modelKey, clientTraceId = null, attempt } = record;
  const state = openStateOf(record) ?? null;
  return [
    ...values,
    unchargedBytes,
    thumbnailBytesOf(record) ?? null,
    status,
    createdAt,
    modelKey,
    clientTraceId,
    isTerminal(status) ? null : createdAt,
    state,
    state === null ? null : (attempt?.provider ?? null),
  ];
}

function recordsOf<R extends GenerationRecord = GenerationRecord>(rows: readonly Row[]): R[] {
  return rows.map((row) => recordFrom(row['doc'] as string));
}
