// Goal: the SQLite stores keep the contracts of their ports; the store of usage finds and sorts its rows by the primary key.
// Method: the contracts, each test on its own data folder; SQLite explains every query that the store of usage
// makes.
import { expect } from 'chai';
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { openDatabase } from '../../../adapters/sqlite/database.js';
import { openSqlite } from '../../../adapters/sqlite/open-sqlite.js';
import { SqliteReader } from '../../../adapters/sqlite/reader.js';
import { SqliteUsageStore } from '../../../adapters/sqlite/sqlite-usage-store.js';
import type { Ports } from '../../../core/ports/ports.js';
import { acceptanceStoreContract } from '../../contracts/acceptance-store.contract.js';
import { databaseContract } from '../../contracts/database.contract.js';
import { uuidAt } from '../../fixtures/stored-records.js';
import { sqliteSubject, temporaryFolder } from './sqlite-subject.js';

databaseContract((port) => sqliteSubject((stores) => stores[port] as Ports[typeof port]));
acceptanceStoreContract({ ...sqliteSubject((stores) => stores), supports: { oneStep: true } });

describe('the queries of usage in SQLite', () => {
  it('search and sort by the primary key', async () => {
    const folder = temporaryFolder();
    await (await openSqlite({ folder, role: 'server' })).close();
    const database = openDatabase(join(folder, 'darkroom.db'));
    const queries: string[] = [];
    class NotingReader extends SqliteReader {
      override all(sql: string) {
        queries.push(sql);
        return [];
      }
      override get(sql: string) {
        queries.push(sql);
        return undefined;
      }
    }
    const writer = { run: () => Promise.resolve(0), write: () => Promise.resolve(0) };
    const store = new SqliteUsageStore({ writer, reader: new NotingReader(database) });
    const [accountId, day, range] = [uuidAt(1), '2026-01-31', { from: '2026-01-01', to: '2026-02-01' }];
    await store.read([
      { accountId, day, appUse: 'x', credentialId: 'x', modelKey: 'x' },
      { accountId, day, appUse: 'x', clientTraceId: 'x' },
    ]);
    await store.list(accountId, range, { limit: 3 });
    await store.list(accountId, range, { limit: 3, cursor: '["2026-01-31","x","x",""]' });
    await store.listTraces(accountId, range, { limit: 3 });
    await store.listTraces(accountId, range, { limit: 3, after: { day, clientTraceId: 'x' } });
    await store.listTraces(accountId, range, { limit: 3, after: { day, clientTraceId: 'x', appUse: '' } });
    const ofWhole = queries.length;
    expect(ofWhole).to.equal(7);
    await store.listTraces(accountId, range, { limit: 3, appUse: 'x' });
    await store.listTraces(accountId, range, { limit: 3, appUse: 'x', after: { day, clientTraceId: 'x' } });
    await store.listTraces(accountId, range, {
      limit: 3,
      appUse: 'x',
      after: { day, clientTraceId: 'x', appUse: 'x' },
    });
    for (const [index, sql] of queries.entries()) {
      const given = Array.from({ length: sql.split('?').length - 1 }, () => 'x');
      const steps = database.prepare(`EXPLAIN QUERY PLAN ${sql}`).all(...given);
      expect(
        steps.map(({ detail }) => detail),
        sql,
      ).to.have.length(1);
      expect(steps[0]?.['detail'], sql).to.match(
        index < ofWhole
          ? /^SEARCH usage(_by_trace)? USING PRIMARY KEY \(account=\? AND (day|\(day)/
          : /^SEARCH usage_by_trace USING INDEX usage_by_app_trace \(account=\? AND app_use=\? AND (day|\(day)/,
      );
    }
    database.close();
    rmSync(folder, { recursive: true });
  });
});
