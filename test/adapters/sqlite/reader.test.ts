// Goal: reads that are asked for in one turn of the event loop are made in one transaction, which begins after the last of
// them was asked for and ends with the turn, whatever fails in it.
// Method: a second connection that writes in between, also while the reads are made.
import { expect } from 'chai';
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { type Database, openDatabase } from '../../../adapters/sqlite/driver.js';
import { type Query, SqliteReader } from '../../../adapters/sqlite/reader.js';
import { StoreUnavailable } from '../../../core/errors.js';
import { temporaryFolder } from './sqlite-subject.js';

describe('reads of SQLite in one turn', () => {
  let folder: string;
  let writing: Database;
  let reader: SqliteReader;
  let sum: Query;

  beforeEach(() => {
    folder = temporaryFolder();
    const path = join(folder, 'some.db');
    writing = openDatabase(path);
    writing.exec('PRAGMA journal_mode = WAL; CREATE TABLE t (n INTEGER)');
    reader = new SqliteReader(openDatabase(path, { readOnly: true }));
    sum = reader.query('SELECT total(n) AS sum FROM t');
  });
  afterEach(() => {
    writing.close();
    rmSync(folder, { recursive: true });
  });

  const add = (n: number): void => writing.exec(`INSERT INTO t VALUES (${n})`);
  const read = (): number => sum.get()?.['sum'] as number;

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
