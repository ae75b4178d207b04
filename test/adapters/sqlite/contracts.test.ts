import { expect } from 'chai';
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { openDatabase } from '../../../adapters/sqlite/driver.js';
import { openSqlite } from '../../../adapters/sqlite/open-sqlite.js';
import { SqliteReader } from '../../../adapters/sqlite/reader.js';
import { SqliteUsageStore } from '../../../adapters/sqlite/sqlite-usage-store.js';
import { acceptanceStoreContract } from '../../contracts/acceptance-store.contract.js';
import { accountStoreContract } from '../../contracts/account-store.contract.js';
import { artefactStoreContract } from '../../contracts/artefact-store.contract.js';
import { claimStoreContract } from '../../contracts/claim-store.contract.js';
import { credentialStoreContract } from '../../contracts/credential-store.contract.js';
import { deliveryStoreContract } from '../../contracts/delivery-store.contract.js';
import { generationStoreContract } from '../../contracts/generation-store.contract.js';
import { personStoreContract } from '../../contracts/person-store.contract.js';
import { providerUseStoreContract } from '../../contracts/provider-use-store.contract.js';
import { uploadStoreContract } from '../../contracts/upload-store.contract.js';
import { usageStoreContract } from '../../contracts/usage-store.contract.js';
import { webhookEndpointStoreContract } from '../../contracts/webhook-endpoint-store.contract.js';
import { sqliteSubject, temporaryFolder } from './sqlite-subject.js';

// Goal: the SQLite generation store keeps the port's contract.
// Method: the contract, each test on a data folder of its own.

generationStoreContract(sqliteSubject((stores) => stores.generations));

// Goal: the SQLite account store keeps the port's contract.
// Method: the contract, each test on a data folder of its own.

accountStoreContract(sqliteSubject((stores) => stores.accounts));

// Goal: the SQLite store of webhook endpoints keeps the port's contract.
// Method: the contract, each test on a data folder of its own.

webhookEndpointStoreContract(sqliteSubject((stores) => stores.webhookEndpoints));

// Goal: the SQLite claim store keeps the port's contract.
// Method: the contract, each test on a data folder of its own.

claimStoreContract(sqliteSubject((stores) => stores.claims));

// Goal: SQLite keeps the contract of the acceptance store.
// Method: the contract, each test on a data folder of its own.

acceptanceStoreContract({ ...sqliteSubject((stores) => stores), supports: { oneStep: true } });

// Goal: the SQLite artefact store keeps the port's contract.
// Method: the contract, each test on a data folder of its own.

artefactStoreContract(sqliteSubject((stores) => stores.artefacts));

// Goal: the SQLite upload store keeps the port's contract.
// Method: the contract, each test on a data folder of its own.

uploadStoreContract(sqliteSubject((stores) => stores.uploads));

// Goal: the SQLite store of provider uses keeps the port's contract.
// Method: the contract, each test on a data folder of its own.

providerUseStoreContract(sqliteSubject((stores) => stores.providerUses));

// Goal: the SQLite credential store keeps the port's contract.
// Method: the contract, each test on a data folder of its own.

credentialStoreContract(sqliteSubject((stores) => stores.credentials));

// Goal: the SQLite person store keeps the port's contract.
// Method: the contract, each test on a data folder of its own.

personStoreContract(sqliteSubject((stores) => stores.people));

// Goal: the SQLite store of webhook deliveries keeps the port's contract.
// Method: the contract, each test on a data folder of its own.

deliveryStoreContract(sqliteSubject((stores) => stores.deliveries));

// Goal: the SQLite store of usage keeps the port's contract, and finds and sorts its rows by the primary key alone.
// Method: the contract, each test on a data folder of its own; SQLite explains every query that the store prepares.

usageStoreContract(sqliteSubject((stores) => stores.usage));

describe('the queries of usage in SQLite', () => {
  it('search and sort by the primary key', async () => {
    const folder = temporaryFolder();
    await (await openSqlite({ folder, role: 'server' })).close();
    const database = openDatabase(join(folder, 'darkroom.db'));
    const queries: string[] = [];
    class NotingReader extends SqliteReader {
      override query(sql: string) {
        queries.push(sql);
        return super.query(sql);
      }
    }
    const store = new SqliteUsageStore(
      { write: () => Promise.reject(new Error('nothing is written')) },
      new NotingReader(database),
    );
    expect(store).to.be.an('object');
    expect(queries).to.have.length(6);
    for (const sql of queries) {
      const given = Array.from({ length: sql.split('?').length - 1 }, () => 'x');
      const steps = database.prepare(`EXPLAIN QUERY PLAN ${sql}`).all(...given);
      expect(
        steps.map(({ detail }) => detail),
        sql,
      ).to.have.length(1);
      expect(steps[0]?.['detail'], sql).to.match(
        /^SEARCH usage(_by_trace)? USING PRIMARY KEY \(account=\? AND (day|\(day)/,
      );
    }
    database.close();
    rmSync(folder, { recursive: true });
  });
});
