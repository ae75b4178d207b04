import { type Cancellation, throwIfAborted } from '../../core/cancellation.js';
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
import type { Row, SqlValue } from './database.js';
import { type Connections, yieldBetweenPages } from './reader.js';
import { insertionOf } from './sqlite-records.js';
import { applied } from './writer.js';

/** Past every id, where the list of the newest begins. */
const AFTER_ALL_IDS = 'ffffffff-ffff-ffff-ffff-ffffffffffff';

/** Without statistics SQLite prefers the range over an equality, so the index is named. */
const appList = (index: string, condition = ''): string => `
  SELECT doc FROM generations INDEXED BY ${index}
  WHERE app = unhex(?1, '-') ${condition} AND created_at >= ?2 AND (created_at, id) < (?3, unhex(?4, '-'))
  ORDER BY created_at DESC, id DESC LIMIT ?5`;

/** The statement of each list of an App. */
export const APP_LISTS: Readonly<Record<ListedField | 'all', string>> = {
  all: appList('generations_by_app'),
  status: appList('generations_by_status', 'AND status = ?6'),
  modelKey: appList('generations_by_model', 'AND model = ?6'),
  clientTraceId: appList('generations_by_trace', 'AND trace = ?6'),
};

const DOC = `SELECT doc FROM generations WHERE id = unhex(?, '-')`;
const VERSION = `SELECT version FROM generations WHERE id = unhex(?, '-')`;
// SQLite writes each index again that has a column of the statement, so a statement names as few of these columns as it can.
const replacing = (more: string): string => `
  UPDATE generations SET version = ?, attention_at = ?, doc = ?, uncharged_bytes = ?, open_state = ?, open_provider = ?${more}
  WHERE id = unhex(?, '-') AND version = ?`;
/** Keeps the status, as most changes do. */
const REPLACE_SAME = replacing('');
const REPLACE_OPEN = replacing(', status = ?');
/** Takes a generation that has ended out of the index of open ones. An end is final. */
const REPLACE_ENDED = replacing(', status = ?, open_at = NULL');
/** Also its thumbnails, which it may have once it has ended, and loses with its outputs. */
const REPLACE_THUMBNAILS = replacing(', status = ?, open_at = NULL, thumbnail_bytes = ?');
/** Replaces a generation by a tombstone, or a tombstone by another. */
const BURY = `
  UPDATE generations SET version = ?, attention_at = ?, doc = ?, kind = ?,
    uncharged_bytes = NULL, thumbnail_bytes = NULL, status = NULL, created_at = NULL, model = NULL, trace = NULL,
    open_at = NULL, open_state = NULL, open_provider = NULL
  WHERE id = unhex(?, '-') AND version = ?`;

const sumOf = (column: string): string => `
  SELECT count(*) AS generations, total(${column}) AS bytes FROM generations
  WHERE account = unhex(?, '-') AND ${column} IS NOT NULL`;
const SUMS: Readonly<Record<StoredContent, string>> = {
  uncharged: sumOf('uncharged_bytes'),
  thumbnails: sumOf('thumbnail_bytes'),
};

/** Reads the open generations by an index that is written only when one is accepted and when it ends. */
export const COUNT_OPEN = `
  SELECT open_state AS state, model AS modelKey, open_provider AS provider, count(*) AS generations,
    min(open_at) AS oldestCreatedAt
  FROM generations INDEXED BY generations_open WHERE open_at IS NOT NULL GROUP BY open_state, model, open_provider`;

/** Generations in SQLite: the record as one JSON text, with the few columns used in queries beside it. */
export class SqliteGenerationStore implements GenerationStore {
  constructor(
    private readonly db: Connections,
    private readonly cache: RecordCache,
  ) {}

  async insert(record: GenerationRecord): Promise<Insertion<GenerationRecord>> {
    const result = await this.cache.whileInserting([record.generationId], () =>
      this.db.writer.write('insertGeneration', ...generationValues(record, recordText(record))),
    );
    return insertionOf(result);
  }

  async read(generationId: string, call?: Cancellation): Promise<GenerationRecord | null> {
    throwIfAborted(call);
    if (!isUuid(generationId)) return null;
    const { reader } = this.db;
    return reader.soon(() => {
      throwIfAborted(call);
      // A record that is kept and has the stored version spares its text.
      const kept = this.cache.get(generationId);
      if (kept !== undefined && reader.get(VERSION, generationId)?.['version'] === kept.version) return kept;
      const text = reader.get(DOC, generationId)?.['doc'] as string | undefined;
      if (text === undefined) {
        this.cache.forget(generationId);
        return null;
      }
      const record = recordFrom<GenerationRecord>(text);
      this.cache.keep(record, text.length);
      return record;
    });
  }

  async replace(next: GenerationRecord, expectedVersion: number): Promise<'applied' | 'conflict'> {
    const text = recordText(next);
    const [sql, beside] =
      next.kind === 'generation' ? this.replacement(next, expectedVersion) : ([BURY, [next.kind]] as const);
    const values = [next.version, next.dueAt, text, ...beside, next.generationId, expectedVersion];
    const outcome = await applied(this.db.writer.run(sql, ...values));
    if (outcome === 'applied') this.cache.keep(next, text.length);
    return outcome;
  }

  private replacement(next: Generation, expectedVersion: number): readonly [sql: string, beside: readonly SqlValue[]] {
    const { generationId, status, unchargedBytes = null } = next;
    const beside = [unchargedBytes, ...stateValues(next)];
    const thumbnailBytes = thumbnailBytesOf(next);
    if (thumbnailBytes !== undefined || next.outputsRemovedAt !== undefined)
      return [REPLACE_THUMBNAILS, [...beside, status, thumbnailBytes ?? null]];
    const before = this.cache.get(generationId);
    // A version has one content, and the statement applies to this version alone.
    if (before?.kind === 'generation' && before.version === expectedVersion && before.status === status)
      return [REPLACE_SAME, beside];
    return [isTerminal(status) ? REPLACE_ENDED : REPLACE_OPEN, [...beside, status]];
  }

  remove(generationId: string, expectedVersion: number): Promise<'applied' | 'conflict'> {
    const sql = `DELETE FROM generations WHERE id = unhex(?, '-') AND version = ?`;
    return applied(this.db.writer.run(sql, generationId, expectedVersion));
  }

  async due(now: number, limit: number, after?: DueAfter): Promise<readonly GenerationRecord[]> {
    const later = after === undefined ? '' : `AND (attention_at, id) > (?, unhex(?, '-'))`;
    const sql = `SELECT doc FROM generations WHERE attention_at <= ? ${later} ORDER BY attention_at, id LIMIT ?`;
    const place = after === undefined ? [] : [after.dueAt, after.generationId];
    return recordsOf(this.db.reader.all(sql, now, ...place, checkedLimit(limit)));
  }

  async list(wanted: ListedGenerations, page: PageRequest, call?: Cancellation): Promise<Page<Generation>> {
    await yieldBetweenPages(call);
    if (wanted.of === 'app') return this.listApp(wanted, page);
    const [condition, account] = wanted.of === 'all' ? ['', []] : [`AND account = unhex(?, '-')`, [wanted.accountId]];
    const sql = `SELECT doc FROM generations WHERE kind = 'generation' AND id < unhex(?, '-') ${condition} ORDER BY id DESC LIMIT ?`;
    const rows = this.db.reader.all(sql, page.cursor ?? AFTER_ALL_IDS, ...account, checkedLimit(page.limit) + 1);
    return pageOf(recordsOf<Generation>(rows), page, ({ generationId }) => generationId);
  }

  private listApp(
    { appId, only, createdFrom = 0, createdBefore }: AppGenerations,
    page: PageRequest,
  ): Page<Generation> {
    const before = placeBefore(page.cursor, createdBefore);
    const bounds = [appId, createdFrom, before.createdAt, before.id, checkedLimit(page.limit) + 1] as const;
    const rows = this.db.reader.all(
      APP_LISTS[only?.field ?? 'all'],
      ...bounds,
      ...(only === undefined ? [] : [only.value]),
    );
    return pageOf(recordsOf<Generation>(rows), page, (g) => cursorAt(placeOf(g)));
  }

  async stored(accountId: string, content: StoredContent, call?: Cancellation): Promise<StoredSum> {
    throwIfAborted(call);
    return { ...this.db.reader.get(SUMS[content], accountId) } as unknown as StoredSum;
  }

  async countOpen(call?: Cancellation): Promise<readonly OpenCount[]> {
    throwIfAborted(call);
    return this.db.reader.all(COUNT_OPEN).map(({ provider, ...counted }) => {
      const count = { ...counted } as unknown as OpenCount;
      return provider === null ? count : { ...count, provider: provider as string };
    });
  }
}

/** The state of an open generation and the provider of its attempt; both null once it has ended. */
function stateValues(g: Generation): readonly SqlValue[] {
  const state = openStateOf(g) ?? null;
  return [state, state === null ? null : (g.attempt?.provider ?? null)];
}

/** The arguments of `insertGeneration`, for a record and its text. */
export function generationValues(record: GenerationRecord, text: string): SqlValue[] {
  const { generationId, accountId, appId, kind, version, dueAt } = record;
  const values = [generationId, accountId, appId, kind, version, dueAt, text];
  // A tombstone counts in no sum and is in no list.
  if (record.kind !== 'generation') return [...values, null, null, null, null, null, null, null, null];
  const { unchargedBytes = null, status, createdAt, modelKey, clientTraceId = null } = record;
  const openAt = isTerminal(status) ? null : createdAt;
  return [...values, unchargedBytes, status, createdAt, modelKey, clientTraceId, openAt, ...stateValues(record)];
}

function recordsOf<R extends GenerationRecord = GenerationRecord>(rows: readonly Row[]): R[] {
  return rows.map((row) => recordFrom(row['doc'] as string));
}

/**
 * Records as they were read, or as this process has written them, with a bound on their memory. A record that is used moves to
 * `recent`. When `recent` has half of the memory, it becomes `earlier`, and what `earlier` had is forgotten.
 *
 * A record is to be used only while the database says that its version is the current one. Then it makes no difference who
 * has written meanwhile: this process, or a tool beside it. Each change makes the version greater, so a version of an id
 * has one content. An id that was removed may begin again at an earlier version; so while an insert is under way nothing is
 * kept of its id. No other process inserts while a server runs: tools create no generations.
 */
export class RecordCache {
  private recent = new Map<string, Kept>();
  private earlier = new Map<string, Kept>();
  private recentBytes = 0;
  /** How many inserts are under way at an id. */
  private readonly inserting = new Map<string, number>();

  /** Keeps at most `maxBytes`. */
  constructor(private readonly maxBytes: number) {}

  get(generationId: string): GenerationRecord | undefined {
    if (this.inserting.has(generationId)) return undefined;
    const kept = this.recent.get(generationId);
    if (kept !== undefined) return kept.record;
    const older = this.earlier.get(generationId);
    if (older === undefined) return undefined;
    this.earlier.delete(generationId);
    this.add(generationId, older);
    return older.record;
  }

  /** Keeps a record whose text has so many characters. It cannot be changed from now on. */
  keep(record: GenerationRecord, characters: number): void {
    const { generationId } = record;
    this.forget(generationId);
    const byteSize = characters * BYTES_PER_CHARACTER;
    if (byteSize > this.maxBytes / 2 || this.inserting.has(generationId)) return;
    deepFreeze(record);
    this.add(generationId, { record, byteSize });
  }

  /** Does what inserts records at these ids. */
  async whileInserting<T>(generationIds: readonly string[], insert: () => Promise<T>): Promise<T> {
    for (const id of generationIds) {
      this.forget(id);
      this.inserting.set(id, (this.inserting.get(id) ?? 0) + 1);
    }
    try {
      return await insert();
    } finally {
      for (const id of generationIds) {
        const left = (this.inserting.get(id) ?? 0) - 1;
        if (left > 0) this.inserting.set(id, left);
        else this.inserting.delete(id);
      }
    }
  }

  forget(generationId: string): void {
    this.recentBytes -= this.recent.get(generationId)?.byteSize ?? 0;
    this.recent.delete(generationId);
    this.earlier.delete(generationId);
  }

  private add(generationId: string, kept: Kept): void {
    if (this.recentBytes + kept.byteSize > this.maxBytes / 2) {
      this.earlier = this.recent;
      this.recent = new Map();
      this.recentBytes = 0;
    }
    this.recent.set(generationId, kept);
    this.recentBytes += kept.byteSize;
  }
}

/** The memory that a record takes for each character of its text at most, with the answers that fronts keep with it. */
const BYTES_PER_CHARACTER = 4;

interface Kept {
  readonly record: GenerationRecord;
  readonly byteSize: number;
}

/** Several callers get the same object: one that tries to change it fails, and the others do not see it. */
function deepFreeze(value: unknown): void {
  // Most parts of a record are those of the version before.
  if (typeof value !== 'object' || value === null || Object.isFrozen(value)) return;
  for (const member of Object.values(value)) deepFreeze(member);
  Object.freeze(value);
}
