import { AssertionError, expect } from 'chai';
import fc from 'fast-check';
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { type Database, openDatabase, type Statement } from '../../../adapters/sqlite/database.js';
import { openSqlite, type SqliteStores } from '../../../adapters/sqlite/open-sqlite.js';
import { SqliteReader } from '../../../adapters/sqlite/reader.js';
import { RecordCache } from '../../../adapters/sqlite/sqlite-generation-store.js';
import type { SqliteGenerationStore } from '../../../adapters/sqlite/sqlite-generation-store.js';
import { StoreUnavailable } from '../../../core/errors.js';
import type { Generation, GenerationRecord } from '../../../core/generation/generation.js';
import { aGeneration, uuidAt } from '../../fixtures/stored-records.js';
import { temporaryFolder } from './sqlite-subject.js';

// Goal: reading a generation returns what the database has, whoever has written meanwhile, and the cache is bounded.
// Method: random writes by a server and a tool beside it, all in flight at once; each read by the server is compared
// with what another connection reads just before and after. Three possible faults of a cache are each detected this way.

const IDS = 3;

interface Act {
  readonly kind: 'read' | 'replace' | 'insert' | 'remove';
  readonly n: number;
  /** Whether the tool does it; a tool inserts nothing. */
  readonly isTool: boolean;
  /** Whether it starts only after all earlier acts have ended. */
  readonly isAfterAll: boolean;
}

const ACTS = fc.array(
  fc.record({
    kind: fc.constantFrom('read', 'read', 'read', 'replace', 'replace', 'insert', 'remove'),
    n: fc.integer({ min: 1, max: IDS }),
    isTool: fc.boolean(),
    isAfterAll: fc.boolean(),
  }) satisfies fc.Arbitrary<Act>,
  { minLength: 10, maxLength: 60 },
);

type Store = SqliteGenerationStore;

describe('the cache of generations in SQLite', () => {
  let folder: string;
  let server: SqliteStores;
  let tool: SqliteStores;
  beforeEach(async () => {
    folder = temporaryFolder();
    server = await openSqlite({ folder, role: 'server' });
    tool = await openSqlite({ folder, role: 'tool' });
  });
  afterEach(async () => {
    await tool.close();
    await server.close();
    rmSync(folder, { recursive: true });
  });

  it('gives what the database has, while a server and a tool write', async () => {
    const check = new ReadCheck(folder, server.generations, tool.generations);
    await fc.assert(fc.asyncProperty(ACTS, (acts) => check.play(acts)));
    check.close();
    expect(check.compared, 'reads during which nothing was written').to.be.above(300);
    expect(check.repeated, 'reads that a kept record answered').to.be.above(100);
  });

  it('is found out if it keeps what may not be written', () => {
    const store = server.generations;
    const replace = store.replace.bind(store);
    store.replace = (next, expectedVersion) => {
      store['cache'].keep(structuredClone(next), 1);
      return replace(next, expectedVersion);
    };
    return mustFail(store);
  });

  it('is found out if it does not ask for the version', () => {
    const store = server.generations;
    const { reader } = store['db'] as { readonly reader: SqliteReader };
    const get = reader.get.bind(reader);
    reader.get = (sql, ...values) =>
      sql.startsWith('SELECT version')
        ? { version: store['cache'].get(values[0] as string)?.version ?? null }
        : get(sql, ...values);
    return mustFail(store);
  });

  it('is found out if it keeps a record while its id is inserted again', () => {
    const store = server.generations;
    Object.assign(store['cache'], { whileInserting: (_: unknown, insert: () => unknown) => insert() });
    return mustFail(store);
  });

  async function mustFail(store: Store): Promise<void> {
    const check = new ReadCheck(folder, store, tool.generations);
    const { errorInstance } = await fc.check(
      fc.asyncProperty(ACTS, (acts) => check.play(acts)),
      { numRuns: 2_000, endOnFailure: true },
    );
    check.close();
    expect(errorInstance).to.be.instanceOf(AssertionError);
  }

  it('gives what was written without reading it again, equal to what another process reads', async () => {
    await server.generations.insert(aGeneration(1));
    const next = aGeneration(1, { version: 2, prompt: 'another' });
    expect(await server.generations.replace(next, 0)).to.equal('applied');
    expect(await server.generations.read(uuidAt(1))).to.equal(next);
    expect(await tool.generations.read(uuidAt(1))).to.deep.equal(next);
  });

  it('keeps nothing that was not written, as another version is stored', async () => {
    await server.generations.insert(aGeneration(1));
    const next = aGeneration(1, { version: 2, prompt: 'another' });
    expect(await tool.generations.replace(next, 0)).to.equal('applied');
    expect(await server.generations.replace(aGeneration(1, { version: 2, prompt: 'late' }), 0)).to.equal('conflict');
    expect(await server.generations.read(uuidAt(1))).to.deep.equal(next);
  });

  it('refuses changes of what was read, at any depth', async () => {
    await server.generations.insert(aGeneration(1));
    const read = (await server.generations.read(uuidAt(1))) as Generation;
    expect(() => Object.assign(read, { version: 9 })).to.throw(TypeError);
    expect(() => Object.assign(read.parameters, { size: 'another' })).to.throw(TypeError);
  });
});

describe('RecordCache', () => {
  const BYTES = 4 * 4_000;

  it('keeps no more than its bound, and what is read again for longer', () => {
    const cache = new RecordCache(BYTES);
    for (let n = 0; n < 40; n += 1) {
      cache.keep(aGeneration(n), 400);
      cache.get(uuidAt(0));
    }
    const kept = Array.from({ length: 40 }, (_, n) => n).filter((n) => cache.get(uuidAt(n)) !== undefined);
    expect(kept).to.include.members([0, 39]);
    expect(kept.length).to.be.within(5, 10);
  });

  it('keeps none that would take half of it', () => {
    const cache = new RecordCache(BYTES);
    cache.keep(aGeneration(1), 1);
    cache.keep(aGeneration(1, { version: 1 }), 2_001);
    expect(cache.get(uuidAt(1))).to.equal(undefined);
  });
});

/** Plays acts, and compares each read of the server with what another connection reads before and after. */
class ReadCheck {
  compared = 0;
  repeated = 0;
  private serial = 0;
  /** Without a reference to it the connection would be closed. */
  private readonly database: Database;
  private readonly query: Statement;
  private readonly under = new Set<Promise<unknown>>();
  private readonly last = new Map<number, GenerationRecord>();

  constructor(
    folder: string,
    private readonly server: Store,
    private readonly tool: Store,
  ) {
    this.database = openDatabase(join(folder, 'darkroom.db'), { readOnly: true });
    this.query = this.database.prepare(
      `SELECT version, doc ->> 'prompt' AS prompt FROM generations WHERE id = unhex(?, '-')`,
    );
  }

  /** Each write has a different prompt. */
  private stored(n: number): { readonly version: number; readonly prompt: string } | undefined {
    return this.query.get(uuidAt(n)) as ReturnType<ReadCheck['stored']>;
  }

  close(): void {
    this.database.close();
  }

  async play(acts: readonly Act[]): Promise<void> {
    for (const act of acts) {
      if (act.isAfterAll) await Promise.all(this.under);
      const done = this.act(act).finally(() => this.under.delete(done));
      this.under.add(done);
    }
    await Promise.all(this.under);
    for (let n = 1; n <= IDS; n += 1) await this.read(n);
  }

  private async act({ kind, n, isTool }: Act): Promise<unknown> {
    const store = isTool ? this.tool : this.server;
    if (kind === 'read') return this.read(n);
    const { version = 0 } = this.stored(n) ?? {};
    this.serial += 1;
    const prompt = String(this.serial);
    if (kind === 'insert') return this.server.insert(aGeneration(n, { prompt }));
    if (kind === 'remove') return store.remove(uuidAt(n), version);
    return store.replace(aGeneration(n, { version: version + 1, prompt }), version);
  }

  private async read(n: number): Promise<void> {
    const before = this.stored(n)?.prompt;
    const record = await this.server.read(uuidAt(n));
    if (this.stored(n)?.prompt !== before) return;
    const prompt = record?.kind === 'generation' ? record.prompt : undefined;
    expect(prompt).to.equal(before);
    this.compared += 1;
    if (record !== null && this.last.get(n) === record) this.repeated += 1;
    if (record !== null) this.last.set(n, record);
  }
}

// Goal: reads that are requested in one turn of the event loop share a transaction, which starts after the last request
// and ends with the turn, whatever fails in it.
// Method: a second connection that writes in between, also while the reads are made.

describe('reads of SQLite in one turn', () => {
  let folder: string;
  let writing: Database;
  let reader: SqliteReader;

  beforeEach(() => {
    folder = temporaryFolder();
    const path = join(folder, 'some.db');
    writing = openDatabase(path);
    writing.exec('PRAGMA journal_mode = WAL; CREATE TABLE t (n INTEGER)');
    reader = new SqliteReader(openDatabase(path, { readOnly: true }));
  });
  afterEach(() => {
    writing.close();
    rmSync(folder, { recursive: true });
  });

  const add = (n: number): void => writing.exec(`INSERT INTO t VALUES (${n})`);
  const read = (): number => reader.get('SELECT total(n) AS sum FROM t')?.['sum'] as number;

  it('see what was written after they were asked for, until the last of them was', async () => {
    const first = reader.soon(read);
    add(1);
    const second = reader.soon(read);
    add(2);
    expect(await Promise.all([first, second])).to.deep.equal([3, 3]);
    reader.close();
  });

  it('see one state, and those of the next turn a new one', async () => {
    const seen = [
      reader.soon(() => {
        const before = read();
        add(1);
        return before;
      }),
      reader.soon(read),
    ];
    expect(await Promise.all(seen)).to.deep.equal([0, 0]);
    expect(await reader.soon(read)).to.equal(1);
    reader.close();
  });

  it('fail each for itself, and leave no transaction open', async () => {
    const fault = new Error('no such record');
    const outcomes = await Promise.allSettled([
      reader.soon(read),
      reader.soon(() => {
        throw fault;
      }),
      reader.soon(read),
    ]);
    expect(outcomes).to.deep.equal([
      { status: 'fulfilled', value: 0 },
      { status: 'rejected', reason: fault },
      { status: 'fulfilled', value: 0 },
    ]);
    add(1);
    expect(await Promise.all([reader.soon(read), reader.soon(read)])).to.deep.equal([1, 1]);
    reader.close();
  });

  it('are all refused once the connection is closed', async () => {
    const asked = [reader.soon(read)];
    reader.close();
    await Promise.allSettled(asked);
    asked.push(reader.soon(read), reader.soon(read));
    for (const outcome of await Promise.allSettled(asked))
      expect(outcome.status === 'rejected' && outcome.reason).to.be.instanceOf(StoreUnavailable);
  });
});
