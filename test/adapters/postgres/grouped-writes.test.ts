import { setImmediate as turn } from 'node:timers/promises';
import { expect } from 'chai';
import fc from 'fast-check';
import pg from 'pg';
import { PostgresConnection } from '../../../adapters/postgres/connection.js';
import { GroupedWrites } from '../../../adapters/postgres/grouped-writes.js';
import { migratePostgres } from '../../../adapters/postgres/migrate-postgres.js';
import { storesOver } from '../../../adapters/postgres/open-postgres.js';
import type { Account, AccountChange } from '../../../core/credits/account.js';
import { StoreUnavailable } from '../../../core/errors.js';
import type { UseRow } from '../../../core/usage/usage.js';
import { aGeneration, uuidAt } from '../../fixtures/stored-records.js';
import { forAll } from '../../harness/for-all.js';
import { freshPostgresDatabase, type FreshPostgresDatabase } from '../../servers/fresh-places.js';
import { queryOnce } from '../../servers/postgres-client.js';
import { orSkip, postgresServer } from '../../servers/servers.js';
import { POSTGRES_LANES } from './on-postgres.js';

// Goal: a write in a group has the same outcome as on its own, and concurrent groups that write the same rows never deadlock.
// Method: random writes to a map in place of a table, with statements that take random time and fail at random; then eight
// processes on a real server, whose deadlock counter is shown to count a deadlock.

const MOST_IN_STATEMENT = 64;
const MOST_STATEMENTS = 1;

/** One write. It expects the version that is stored at the time of the request, or another version. */
interface Write {
  readonly key: string;
  readonly number: number;
  readonly versionOff: number;
  /** Whether the server refuses the content of this write. */
  readonly isWrong: boolean;
  /** Whether the first statement that includes it fails as a whole. */
  readonly fails: boolean;
  /** Turns of the event loop before the next write is requested. */
  readonly turns: number;
}

const writes = fc.array(
  fc.record({
    key: fc.integer({ min: 0, max: 80 }).map((n) => `key ${n}`),
    versionOff: fc.constantFrom(0, 0, 0, 1),
    isWrong: fc.integer({ min: 0, max: 40 }).map((n) => n === 0),
    fails: fc.integer({ min: 0, max: 60 }).map((n) => n === 0),
    turns: fc.constantFrom(0, 0, 0, 0, 0, 0, 0, 1, 5),
  }),
  { maxLength: 300 },
);

type Outcome = 'applied' | 'conflict' | Error;

/** Replaces a table: it maps each key to the number of applied writes. */
class Table {
  readonly stored = new Map<string, number>();
  readonly outcomes = new Map<number, Outcome>();
  /** The numbers of the writes of each key, in the order of their statements. */
  readonly order = new Map<string, number[]>();
  private readonly failed = new Set<number>();
  private readonly keysUnderWay = new Set<string>();
  private underWay = 0;

  constructor(private readonly durations: () => number) {}

  async write(group: readonly Write[]): Promise<readonly Outcome[]> {
    this.check(group);
    for (let left = this.durations(); left > 0; left -= 1) await turn();
    this.underWay -= 1;
    for (const { key } of group) this.keysUnderWay.delete(key);
    const failing = group.find(({ fails, number }) => fails && !this.failed.has(number));
    if (failing) {
      this.failed.add(failing.number);
      throw this.noted(group, new StoreUnavailable('The server is away.'));
    }
    if (group.some(({ isWrong }) => isWrong)) throw this.noted(group, wrongData());
    const applied = group.filter(({ key, versionOff }) => this.storedAt(key) === this.storedAt(key) + versionOff);
    for (const { key } of applied) this.stored.set(key, this.storedAt(key) + 1);
    for (const one of group) this.outcomes.set(one.number, applied.includes(one) ? 'applied' : 'conflict');
    return group.map((one) => (applied.includes(one) ? 'applied' : 'conflict'));
  }

  private storedAt(key: string): number {
    return this.stored.get(key) ?? 0;
  }

  private check(group: readonly Write[]): void {
    const keys = group.map(({ key }) => key);
    expect(new Set(keys).size, 'each key once in a statement').to.equal(keys.length);
    expect(keys.length).to.be.within(1, MOST_IN_STATEMENT);
    this.underWay += 1;
    expect(this.underWay).to.be.at.most(MOST_STATEMENTS);
    for (const { key, number } of group) {
      expect(this.keysUnderWay.has(key), 'a key in two statements at a time').to.equal(false);
      this.keysUnderWay.add(key);
      const numbers = this.order.get(key) ?? [];
      this.order.set(key, numbers);
      if (numbers.at(-1) !== number) numbers.push(number);
    }
  }

  private noted(group: readonly Write[], error: Error): Error {
    for (const { number } of group) this.outcomes.set(number, error);
    return error;
  }
}

function wrongData(): Error {
  const error = new pg.DatabaseError('invalid byte sequence', 0, 'error');
  error.code = '22021';
  return error;
}

describe('Writes in groups', () => {
  it('each have the outcome of the last statement that included them, in the order of the requests', async () => {
    await forAll(100, [writes, fc.infiniteStream(fc.integer({ min: 0, max: 6 }))], async (drawn, durations) => {
      const table = new Table(() => durations.next().value);
      const grouped = new GroupedWrites<Write, Outcome>({
        keyOf: ({ key }) => key,
        write: (group) => table.write(group),
      });
      const asked: Promise<Outcome>[] = [];
      for (const [number, one] of drawn.entries()) {
        asked.push(grouped.apply({ ...one, number }).catch((error: unknown) => error as Error));
        for (let left = one.turns; left > 0; left -= 1) await turn();
      }
      const outcomes = await Promise.all(asked);
      for (const [number, outcome] of outcomes.entries()) {
        const { isWrong, versionOff, fails } = drawn[number]!;
        expect(outcome, `write ${number}`).to.equal(table.outcomes.get(number));
        // Only invalid writes are refused, and only writes of a failing statement fail.
        if (outcome instanceof Error && !(outcome instanceof StoreUnavailable)) expect(isWrong).to.equal(true);
        else if (isWrong) expect(outcome).to.be.instanceOf(StoreUnavailable);
        else if (!(outcome instanceof Error)) expect(outcome).to.equal(versionOff === 0 ? 'applied' : 'conflict');
        if (fails && outcome instanceof Error && !isWrong) expect(outcome).to.be.instanceOf(StoreUnavailable);
      }
      for (const numbers of table.order.values()) expect(numbers).to.deep.equal(numbers.toSorted((a, b) => a - b));
      const applied = outcomes.filter((outcome) => outcome === 'applied');
      expect([...table.stored.values()].reduce((sum, count) => sum + count, 0)).to.equal(applied.length);
    });
  });

  it('that are requested in one turn are one statement', async () => {
    const sizes: number[] = [];
    const grouped = new GroupedWrites<number, number>({
      keyOf: String,
      write: async (group) => {
        sizes.push(group.length);
        return group;
      },
    });
    await Promise.all(Array.from({ length: MOST_IN_STATEMENT }, (_, n) => grouped.apply(n)));
    expect(sizes).to.deep.equal([MOST_IN_STATEMENT]);
  });
});

describe('A write in a group whose time is over', () => {
  it('ends, and is left out of the next statement', async () => {
    const ends: (() => void)[] = [];
    const statements: string[][] = [];
    const expire: ((error: Error) => void)[] = [];
    const grouped = new GroupedWrites<string, string>({
      keyOf: (key) => key,
      bounded: (operation) => Promise.race([operation(), new Promise<never>((_, reject) => expire.push(reject))]),
      write: async (group) => {
        statements.push([...group]);
        await new Promise<void>((resolve) => ends.push(resolve));
        return group;
      },
    });
    const running = grouped.apply('running');
    while (statements.length === 0) await turn();
    const late = grouped.apply('late').catch((error: unknown) => error);
    const inTime = grouped.apply('in time');
    expire[1]?.(new StoreUnavailable('The time is over.'));
    expect(await late).to.be.instanceOf(StoreUnavailable);
    ends[0]?.();
    expect(await running).to.equal('running');
    while (statements.length === 1) await turn();
    ends[1]?.();
    expect(await inTime).to.equal('in time');
    expect(statements).to.deep.equal([['running'], ['in time']]);
  });
});

const WRITERS = 8;
const RECORDS = 60;
const ROUNDS = 4;
/** The record whose row another connection locks until every writer waits. */
const HELD = 30;

for (const { title, version } of POSTGRES_LANES.filter(({ isPooled }) => !isPooled)) {
  describe(`Writers of the same records on ${title}`, () => {
    let place: FreshPostgresDatabase;
    let connections: readonly PostgresConnection[];

    beforeEach(async function database() {
      place = await freshPostgresDatabase(await orSkip(this, postgresServer(version)));
      connections = Array.from(
        { length: WRITERS },
        () => new PostgresConnection({ url: place.url, poolSize: 2, timeoutMs: 120_000 }),
      );
      await migratePostgres(connections[0]!);
    });
    afterEach(async () => {
      await Promise.all((connections ?? []).map((connection) => connection.close()));
      await place?.drop();
    });

    it('apply no version of a generation twice, and never deadlock', async () => {
      const stores = connections.map((connection) => storesOver(connection).generations);
      const numbers = Array.from({ length: RECORDS }, (_, n) => n + 1);
      for (const n of numbers) await stores[0]?.insert(aGeneration(n, { version: 0 }));
      await addOthers(
        'generations',
        'id, account, app, kind, version, attention_at, doc',
        `gen_random_uuid(), gen_random_uuid(), gen_random_uuid(), 'void', 0, 0, ''`,
      );
      const applied = await contend(
        numbers,
        (writer, n, expected) =>
          stores[writer]!.replace(aGeneration(n, { version: expected + 1, dueAt: writer }), expected),
        (writing) => beside(`darkroom.generations WHERE id = '${uuidAt(HELD)}'`, writing),
      );
      expect(applied).to.deep.equal(versionsOf(numbers));
      for (const n of numbers) expect((await stores[0]?.read(uuidAt(n)))?.version).to.equal(ROUNDS);
      expect(await deadlocks()).to.equal(0);
    });

    it('apply no sequence of a usage row twice, and never deadlock', async () => {
      const stores = connections.map((connection) => storesOver(connection).usage);
      const numbers = Array.from({ length: RECORDS }, (_, n) => n + 1);
      await addOthers(
        'usage',
        'account, day, credential, model, app_use, last_sequence, generations, failed, reserved, charged, released',
        `gen_random_uuid(), '', '', '', '', 0, 0, 0, 0, 0, 0`,
      );
      const applied = await contend(
        numbers,
        (writer, n, expectedSequence) =>
          stores[writer]!.apply([{ row: useAt(n, expectedSequence + 1), expectedSequence }]),
        (writing) => beside(`darkroom.usage WHERE credential = 'credential ${HELD}'`, writing),
      );
      expect(applied).to.deep.equal(versionsOf(numbers));
      const rows = await stores[0]!.read(numbers.map((n) => useAt(n, 0)));
      expect(rows.map(({ lastSequence }) => lastSequence)).to.deep.equal(numbers.map(() => ROUNDS));
      expect(await deadlocks()).to.equal(0);
    });

    it('apply no version of an account twice, and never deadlock', async () => {
      const stores = connections.map((connection) => storesOver(connection).accounts);
      const numbers = Array.from({ length: RECORDS }, (_, n) => n + 1);
      for (const n of numbers) await stores[0]?.create(accountAt(n));
      await addOthers(
        'accounts',
        'id, version, issued, available, reserved, spent, last_sequence, name, currency, created_at',
        `gen_random_uuid(), 0, 0, 0, 0, 0, 0, '', '', 0`,
      );
      const applied = await contend(
        numbers,
        (writer, n, expectedVersion) => stores[writer]!.apply(grantOnto(n, expectedVersion)),
        (writing) => beside(`darkroom.accounts WHERE id = '${uuidAt(HELD)}'`, writing),
      );
      expect(applied).to.deep.equal(versionsOf(numbers));
      for (const n of numbers) {
        const entries = await stores[0]!.entries(uuidAt(n), { limit: 100 });
        expect((await stores[0]!.read(uuidAt(n)))?.version).to.equal(ROUNDS);
        expect(entries.items).to.have.length(ROUNDS);
      }
      expect(await deadlocks()).to.equal(0);
    });

    it('are counted by the server if they deadlock', async () => {
      const [one, other] = [await connect(), await connect()];
      await one.query('CREATE TABLE locked (id int); INSERT INTO locked VALUES (1), (2)');
      const lock = (client: pg.Client, id: number) => client.query('SELECT FROM locked WHERE id = $1 FOR UPDATE', [id]);
      for (const client of [one, other]) await client.query('BEGIN');
      await Promise.all([lock(one, 1), lock(other, 2)]);
      const outcomes = await Promise.allSettled([lock(one, 2), lock(other, 1)]);
      expect(outcomes.filter(({ status }) => status === 'rejected')).to.have.length(1);
      await Promise.all([one.end(), other.end()]);
      expect(await deadlocks()).to.equal(1);
    });

    /** Adds other rows, so that the server finds each written row by its key, in the order of the statement. */
    async function addOthers(table: string, names: string, values: string): Promise<void> {
      await queryOnce(
        place.url,
        `INSERT INTO darkroom.${table} (${names}) SELECT ${values} FROM generate_series(1, 20000)`,
      );
      await queryOnce(place.url, `ANALYZE darkroom.${table}`);
    }

    /** Locks a row until every writer waits for it or for another writer; locks in different orders would then deadlock. */
    async function beside(row: string, writing: () => Promise<void>): Promise<void> {
      const [holder, observer] = [await connect(), await connect()];
      await holder.query(`BEGIN; SELECT FROM ${row} FOR UPDATE`);
      const written = writing();
      const waiting = `SELECT FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`;
      while (((await observer.query(waiting)).rowCount ?? 0) < WRITERS) await turn();
      await holder.query('ROLLBACK');
      await written;
      await Promise.all([holder.end(), observer.end()]);
    }

    async function connect(): Promise<pg.Client> {
      const client = new pg.Client(place.url);
      await client.connect();
      return client;
    }

    /** The server's deadlock counter after all other connections have ended, because they report their counts at the end. */
    async function deadlocks(): Promise<number> {
      await Promise.all(connections.map((connection) => connection.close()));
      const client = await connect();
      const ask = async (sql: string) => Number((await client.query<{ count: string }>(sql)).rows[0]?.count);
      const others = `SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()`;
      while ((await ask(others)) > 0) await turn();
      const count = await ask('SELECT deadlocks AS count FROM pg_stat_database WHERE datname = current_database()');
      await client.end();
      return count;
    }
  });
}

/** Every writer writes each version of all records, in its own order; returns the writes that were applied, by any writer. */
async function contend(
  numbers: readonly number[],
  write: (writer: number, n: number, expected: number) => Promise<'applied' | 'conflict'>,
  beside: (writing: () => Promise<void>) => Promise<void>,
): Promise<readonly string[]> {
  const applied: string[] = [];
  for (let expected = 0; expected < ROUNDS; expected += 1) {
    const writing = async (): Promise<void> =>
      void (await Promise.all(
        Array.from({ length: WRITERS }, async (_, writer) => {
          // Each writer starts at a different record, and every second one writes in reverse order.
          const turned = [...numbers.slice(writer * 7), ...numbers.slice(0, writer * 7)];
          const own = writer % 2 === 0 ? turned : turned.toReversed();
          await Promise.all(
            own.map(async (n) => {
              if ((await write(writer, n, expected)) === 'applied') applied.push(`${n} at ${expected}`);
            }),
          );
        }),
      ));
    // Before the first version there may be no row to lock.
    await (expected === 0 ? writing() : beside(writing));
  }
  return applied.toSorted();
}

function versionsOf(numbers: readonly number[]): readonly string[] {
  return numbers.flatMap((n) => Array.from({ length: ROUNDS }, (_, expected) => `${n} at ${expected}`)).toSorted();
}

function useAt(n: number, lastSequence: number): UseRow {
  return {
    accountId: uuidAt(900),
    day: '2026-11-30',
    credentialId: `credential ${n}`,
    modelKey: 'model',
    appUse: '',
    lastSequence,
    generations: lastSequence,
    failed: 0,
    reservedCredits: 0,
    chargedCredits: 0,
    releasedCredits: 0,
  };
}

function accountAt(n: number): Account {
  return {
    accountId: uuidAt(n),
    version: 0,
    name: 'account',
    currency: 'credits',
    createdAt: 0,
    issued: 0,
    available: 0,
    reserved: 0,
    spent: 0,
    lastSequence: 0,
    holds: new Map(),
  };
}

/** A change that grants one credit, with its entry. */
function grantOnto(n: number, expectedVersion: number): AccountChange {
  const [accountId, sequence] = [uuidAt(n), expectedVersion + 1];
  return {
    accountId,
    expectedVersion,
    version: sequence,
    issued: sequence,
    available: sequence,
    reserved: 0,
    spent: 0,
    lastSequence: sequence,
    holdsOpened: [],
    holdsClosed: [],
    entries: [
      {
        accountId,
        sequence,
        kind: 'grant',
        from: 'issued',
        to: 'available',
        credits: 1,
        at: 0,
        availableAfter: sequence,
      },
    ],
  };
}
