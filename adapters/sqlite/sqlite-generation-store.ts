import { type Cancellation, throwIfAborted } from '../../core/cancellation.js';
import type { UnchargedContent } from '../../core/generation/decide.js';
import type { Generation, GenerationRecord } from '../../core/generation/generation.js';
import { checkedLimit, type Page, pageOf, type PageRequest } from '../../core/paging.js';
import type {
  AppGenerations,
  DueAfter,
  GenerationStore,
  Insertion,
  ListedField,
  ListedGenerations,
} from '../../core/ports/stores.js';
import { cursorAt, placeBefore, placeOf } from '../created-cursor.js';
import { recordFrom, recordText } from '../record-text.js';
import { isUuid, type Row, type SqlValue } from './database.js';
import { type Query, type SqliteReader, yieldBetweenPages } from './reader.js';
import type { SqliteWriter } from './writer.js';

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

/** Generations in SQLite: the record as one JSON text, with the few columns used in queries beside it. */
export class SqliteGenerationStore implements GenerationStore {
  private readonly byId: Query;
  private readonly versionById: Query;
  private readonly byAttention: Query;
  private readonly byAttentionAfter: Query;
  private readonly all: Query;
  private readonly byAccount: Query;
  private readonly byApp: Query;
  private readonly byField: Readonly<Record<ListedField, Query>>;
  private readonly unchargedOf: Query;

  constructor(
    private readonly writer: Pick<SqliteWriter, 'write'>,
    private readonly reader: SqliteReader,
    private readonly cache: RecordCache,
  ) {
    this.byId = reader.query(`SELECT doc FROM generations WHERE id = unhex(?, '-')`);
    this.versionById = reader.query(`SELECT version FROM generations WHERE id = unhex(?, '-')`);
    this.byAttention = reader.query(
      `SELECT doc FROM generations WHERE attention_at <= ? ORDER BY attention_at, id LIMIT ?`,
    );
    this.byAttentionAfter = reader.query(
      `SELECT doc FROM generations WHERE attention_at <= ?1 AND (attention_at, id) > (?3, unhex(?4, '-')) ORDER BY attention_at, id LIMIT ?2`,
    );
    const listed = (condition: string): string =>
      `SELECT doc FROM generations WHERE kind = 'generation' AND id < unhex(?1, '-') ${condition} ORDER BY id DESC LIMIT ?2`;
    this.all = reader.query(listed(''));
    this.byAccount = reader.query(listed(`AND account = unhex(?3, '-')`));
    this.byApp = reader.query(APP_LISTS.all);
    this.byField = {
      status: reader.query(APP_LISTS.status),
      modelKey: reader.query(APP_LISTS.modelKey),
      clientTraceId: reader.query(APP_LISTS.clientTraceId),
    };
    this.unchargedOf = reader.query(`
      SELECT count(*) AS generations, total(uncharged_bytes) AS bytes FROM generations
      WHERE account = unhex(?, '-') AND uncharged_bytes IS NOT NULL`);
  }

  async insert(record: GenerationRecord): Promise<Insertion<GenerationRecord>> {
    const result = await this.cache.whileInserting([record.generationId], () =>
      this.writer.write('insertGeneration', ...generationValues(record)),
    );
    return result === 1 ? { inserted: true } : { inserted: false, existing: recordOf(result) };
  }

  async read(generationId: string, call?: Cancellation): Promise<GenerationRecord | null> {
    throwIfAborted(call);
    if (!isUuid(generationId)) return null;
    return this.reader.soon(() => {
      throwIfAborted(call);
      return this.current(generationId);
    });
  }

  /** The record as it is stored now. One that is kept and has the stored version spares its text. */
  private current(generationId: string): GenerationRecord | null {
    const kept = this.cache.get(generationId);
    if (kept !== undefined && this.versionById.get(generationId)?.['version'] === kept.version) return kept;
    const text = this.byId.get(generationId)?.['doc'] as string | undefined;
    if (text === undefined) {
      this.cache.forget(generationId);
      return null;
    }
    const record = recordOf(text);
    this.cache.keep(record, text.length);
    return record;
  }

  async replace(next: GenerationRecord, expectedVersion: number): Promise<'applied' | 'conflict'> {
    const { generationId, kind, version, dueAt } = next;
    const text = recordText(next);
    const written = [generationId, expectedVersion, version, dueAt, text] as const;
    const changed =
      kind === 'generation'
        ? await this.writer.write('replaceGeneration', ...written, unchargedBytes(next), next.status)
        : await this.writer.write('buryGeneration', ...written, kind);
    if (changed !== 1) return 'conflict';
    this.cache.keep(next, text.length);
    return 'applied';
  }

  async remove(generationId: string, expectedVersion: number): Promise<'applied' | 'conflict'> {
    const changed = await this.writer.write('removeGeneration', generationId, expectedVersion);
    return changed === 1 ? 'applied' : 'conflict';
  }

  async due(now: number, limit: number, after?: DueAfter): Promise<readonly GenerationRecord[]> {
    const rows =
      after === undefined
        ? this.byAttention.all(now, checkedLimit(limit))
        : this.byAttentionAfter.all(now, checkedLimit(limit), after.dueAt, after.generationId);
    return rows.map((row) => recordOf(row['doc']));
  }

  async list(wanted: ListedGenerations, page: PageRequest, call?: Cancellation): Promise<Page<Generation>> {
    await yieldBetweenPages(call);
    if (wanted.of === 'app') return this.listApp(wanted, page);
    const bounds = [page.cursor ?? AFTER_ALL_IDS, checkedLimit(page.limit) + 1] as const;
    const rows = wanted.of === 'all' ? this.all.all(...bounds) : this.byAccount.all(...bounds, wanted.accountId);
    return pageOf(generationsOf(rows), page, ({ generationId }) => generationId);
  }

  private listApp(
    { appId, only, createdFrom = 0, createdBefore }: AppGenerations,
    page: PageRequest,
  ): Page<Generation> {
    const before = placeBefore(page.cursor, createdBefore);
    const bounds = [appId, createdFrom, before.createdAt, before.id, checkedLimit(page.limit) + 1] as const;
    const rows = only === undefined ? this.byApp.all(...bounds) : this.byField[only.field].all(...bounds, only.value);
    return pageOf(generationsOf(rows), page, (g) => cursorAt(placeOf(g)));
  }

  async uncharged(accountId: string, call?: Cancellation): Promise<UnchargedContent> {
    throwIfAborted(call);
    const { generations, bytes } = this.unchargedOf.get(accountId) as {
      readonly generations: number;
      readonly bytes: number;
    };
    return { generations, bytes };
  }
}

/** The arguments of `insertGeneration`. */
export function generationValues(record: GenerationRecord): SqlValue[] {
  const { generationId, accountId, appId, kind, version, dueAt } = record;
  return [
    generationId,
    accountId,
    appId,
    kind,
    version,
    dueAt,
    recordText(record),
    unchargedBytes(record),
    ...listedBy(record),
  ];
}

/** The record's text among the arguments of `insertGeneration`. */
export function textOf(values: readonly SqlValue[]): string {
  return values[6] as string;
}

/** A separate column for the sum; null for a generation that does not count. */
function unchargedBytes(record: GenerationRecord): number | null {
  return record.kind === 'generation' ? (record.unchargedBytes ?? null) : null;
}

/** The columns of lists: null for a tombstone, which is in none. */
function listedBy(record: GenerationRecord): readonly (string | number | null)[] {
  if (record.kind !== 'generation') return [null, null, null, null];
  const { status, createdAt, modelKey, clientTraceId = null } = record;
  return [status, createdAt, modelKey, clientTraceId];
}

function generationsOf(rows: readonly Row[]): Generation[] {
  return rows.map((row) => recordOf(row['doc']) as Generation);
}

/** A text that only `JSON.stringify` of a record has written. */
function recordOf(doc: unknown): GenerationRecord {
  return recordFrom(doc as string);
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
