// Goal: a file of an earlier release is migrated to this release's schema with all its data, and each App's usage is
// counted.
// Method: a file is created by the first migrations alone, filled as their release did, and opened; SQLite's query
// plans of the sums are checked.
import { expect } from 'chai';
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { openDatabase } from '../../../adapters/sqlite/database.js';
import { openSqlite } from '../../../adapters/sqlite/open-sqlite.js';
import { defineFunctions, MIGRATIONS } from '../../../adapters/sqlite/schema.js';
import { APP_LISTS, COUNT_OPEN } from '../../../adapters/sqlite/sqlite-generation-store.js';
import type { UploadRecord } from '../../../core/uploads/upload.js';
import { delivery } from '../../contracts/delivery-store.contract.js';
import { aClaim, aFingerprint, aGeneration, anUpload, aProcessLease, uuidAt } from '../../fixtures/stored-records.js';
import { temporaryFolder } from './sqlite-subject.js';

const BEFORE_SUMS = 3;
/** The schema before ledgers and usage named the App. */
const BEFORE_APPS = 16;
/** The schema before generations that have not ended were counted. */
const BEFORE_COUNTS = 18;
/** The schema before deliveries were listed by account, App and generation. */
const BEFORE_DELIVERY_LISTS = MIGRATIONS.findIndex((sql) => sql.includes('deliveries_by_account'));

describe('a data folder of an earlier release', () => {
  let folder: string;
  beforeEach(() => {
    folder = temporaryFolder();
  });
  afterEach(() => rmSync(folder, { recursive: true }));

  function fill(uploads: readonly UploadRecord[]): void {
    const database = openDatabase(join(folder, 'darkroom.db'));
    for (const migration of MIGRATIONS.slice(0, BEFORE_SUMS)) database.exec(migration);
    database.exec(`PRAGMA user_version = ${BEFORE_SUMS}`);
    const put = database.prepare(
      `INSERT INTO uploads (id, version, attention_at, doc) VALUES (unhex(?, '-'), ?, ?, ?)`,
    );
    for (const upload of uploads) put.run(upload.uploadId, upload.version, upload.dueAt, JSON.stringify(upload));
    const { generationId, accountId, appId, version, dueAt } = aGeneration(1, { status: 'cancelled', completedAt: 5 });
    database
      .prepare(`INSERT INTO generations VALUES (unhex(?, '-'), unhex(?, '-'), unhex(?, '-'), 'generation', ?, ?, ?)`)
      .run(
        generationId,
        accountId,
        appId,
        version,
        dueAt,
        JSON.stringify(aGeneration(1, { status: 'cancelled', completedAt: 5 })),
      );
    database.close();
  }

  it('keeps its records, counts its uploads, and none of its generations', async () => {
    const uploads: UploadRecord[] = [
      anUpload(1, { status: 'prepared', byteSize: 10 }),
      anUpload(2, { status: 'ready', byteSize: 200 }),
      anUpload(3, { appId: uuidAt(9), byteSize: 3_000 }),
      {
        kind: 'expired',
        uploadId: uuidAt(4),
        accountId: uuidAt(1),
        appId: uuidAt(2),
        version: 0,
        createdAt: 1,
        dueAt: 2,
      },
    ];
    fill(uploads);
    const stores = await openSqlite({ folder, role: 'server' });
    for (const upload of uploads) expect(await stores.uploads.read(upload.uploadId)).to.deep.equal(upload);
    expect(await stores.uploads.usage(uuidAt(1), uuidAt(2))).to.deep.equal({ uploads: 2, unfinished: 1, bytes: 210 });
    expect(await stores.uploads.usage(uuidAt(1), uuidAt(9))).to.deep.equal({ uploads: 1, unfinished: 0, bytes: 3_000 });
    expect(await stores.generations.stored(uuidAt(1), 'uncharged')).to.deep.equal({ generations: 0, bytes: 0 });
    expect(await stores.generations.read(uuidAt(1))).to.include({ status: 'cancelled' });
    await stores.close();
  });

  it('has its claims under their keys', async () => {
    fill([]);
    const claims = [
      aClaim(1),
      aClaim(2, { accountId: 'ABCDEF01-0000-7000-8000-00000000000A'.toLowerCase() }),
      aClaim(3, { key: 'a "key" \u{1f511}' }),
    ];
    const database = openDatabase(join(folder, 'darkroom.db'));
    const put = database.prepare(`
      INSERT INTO claims (account, app, operation, key, version, digest, subject, created_at, lease_expires_at, remove_at)
      VALUES (unhex(?, '-'), unhex(?, '-'), ?, ?, ?, ?, unhex(?, '-'), ?, ?, ?)`);
    for (const {
      accountId,
      appId,
      operation,
      key,
      version,
      digest,
      subjectId,
      createdAt,
      leaseExpiresAt,
      removeAt,
    } of claims)
      put.run(accountId, appId, operation, key, version, digest, subjectId, createdAt, leaseExpiresAt, removeAt);
    database.close();
    const stores = await openSqlite({ folder, role: 'server' });
    for (const { bootId: _, ...claim } of claims) expect(await stores.claims.read(claim)).to.deep.equal(claim);
    expect(await stores.claims.removeExpired(Number.MAX_SAFE_INTEGER, 10)).to.equal(3);
    await stores.close();
  });

  it('keeps equal requests and leases beside its claims', async () => {
    fill([]);
    const stores = await openSqlite({ folder, role: 'server' });
    const compatible = aClaim(1, { operation: 'create-compatible', key: `silent ${uuidAt(1)}` });
    for (const claim of [aClaim(1), compatible]) await stores.claims.insert(claim);
    expect(await stores.fingerprints.replace(aFingerprint(1), 0)).to.equal('applied');
    await stores.fingerprints.renewLease(aProcessLease(1));
    await stores.close();
    const again = await openSqlite({ folder, role: 'server' });
    for (const claim of [aClaim(1), compatible]) expect(await again.claims.read(claim)).to.deep.equal(claim);
    expect(await again.fingerprints.read(aFingerprint(1).fingerprint)).to.deep.equal(aFingerprint(1));
    expect(await again.fingerprints.readLease(uuidAt(1))).to.deep.equal(aProcessLease(1));
    await again.close();
  });

  it('finds what has expired, and what an account has, from indexes', async () => {
    await (await openSqlite({ folder, role: 'server' })).close();
    const database = openDatabase(join(folder, 'darkroom.db'));
    const planOf = (sql: string) =>
      database
        .prepare(`EXPLAIN QUERY PLAN ${sql}`)
        .all()
        .map(({ detail }) => detail)
        .join();
    for (const [query, index] of [
      ['fingerprint FROM fingerprints WHERE remove_at <= 1 ORDER BY remove_at LIMIT 1', 'fingerprints_by_removal'],
      [`fingerprint FROM fingerprints WHERE account = unhex('00') LIMIT 1`, 'fingerprints_by_account'],
      ['boot FROM boot_leases WHERE remove_at <= 1 ORDER BY remove_at LIMIT 1', 'boot_leases_by_removal'],
    ] as const)
      expect(planOf(`SELECT ${query}`), query)
        .to.include(`INDEX ${index}`)
        .and.not.include('TEMP B-TREE');
    database.close();
  });

  it('has its generations in every list of their App', async () => {
    fill([]);
    const stores = await openSqlite({ folder, role: 'server' });
    const { appId, modelKey, clientTraceId = '' } = aGeneration(1);
    const lists = [
      undefined,
      { field: 'status', value: 'cancelled' },
      { field: 'modelKey', value: modelKey },
      { field: 'clientTraceId', value: clientTraceId },
    ] as const;
    for (const only of lists) {
      const wanted = { of: 'app', appId, ...(only === undefined ? {} : { only }) } as const;
      const { items } = await stores.generations.list(wanted, { limit: 5 });
      expect(items.map(({ generationId }) => generationId)).to.deep.equal([uuidAt(1)]);
    }
    await stores.close();
  });

  it('keeps its ledger and its usage, which do not name an App, and names the App in what is added', async () => {
    const file = join(folder, 'darkroom.db');
    const database = openDatabase(file);
    defineFunctions(database);
    for (const migration of MIGRATIONS.slice(0, BEFORE_APPS)) database.exec(migration);
    database.exec(`PRAGMA user_version = ${BEFORE_APPS}`);
    const ids = `unhex('${uuidAt(1)}', '-')`;
    database.exec(`
      INSERT INTO accounts VALUES (${ids}, 1, 9, 6, 3, 0, 1, 'an account', 'credits', 1, NULL, NULL);
      INSERT INTO holds VALUES (${ids}, unhex('${uuidAt(4)}', '-'), 3, 2, 'k', 'm', 't', NULL);
      INSERT INTO entries VALUES (${ids}, 1, 'hold', 'available', 'reserved', 3, 2, 6, unhex('${uuidAt(4)}', '-'), NULL, NULL, 'k', 'm', 't', NULL);
      INSERT INTO usage VALUES (${ids}, '2026-01-31', 'k', 'm', 1, 1, 0, 3, 0, 0);
      INSERT INTO usage_by_trace VALUES (${ids}, '2026-01-31', 't', 1, 1, 0, 3, 0, 0);
    `);
    database.close();
    const stores = await openSqlite({ folder, role: 'server' });
    const attribution = { credentialId: 'k', modelKey: 'm', clientTraceId: 't' };
    const account = await stores.accounts.read(uuidAt(1));
    expect(account?.holds.get(uuidAt(4))).to.deep.include({ credits: 3, attribution });
    expect((await stores.accounts.entries(uuidAt(1), { limit: 9 })).items.map((one) => one.attribution)).to.deep.equal([
      attribution,
    ]);
    const [range, accountId] = [{ from: '2026-01-01', to: '2026-01-31' }, uuidAt(1)];
    const sums = { generations: 1, failed: 0, reservedCredits: 3, chargedCredits: 0, releasedCredits: 0 };
    const counted = { accountId, day: '2026-01-31', appUse: '', lastSequence: 1, ...sums };
    const use = { ...counted, credentialId: 'k', modelKey: 'm' };
    const trace = { ...counted, clientTraceId: 't' };
    expect((await stores.usage.list(accountId, range, { limit: 9 })).items).to.deep.equal([use]);
    expect(await stores.usage.listTraces(accountId, range, { limit: 9 })).to.deep.equal([trace]);
    const ofApp = { ...trace, appUse: uuidAt(2) };
    expect(await stores.usage.apply([{ row: ofApp, expectedSequence: 0 }])).to.equal('applied');
    expect(await stores.usage.listTraces(accountId, range, { limit: 9, appUse: uuidAt(2) })).to.deep.equal([ofApp]);
    await stores.close();
  });

  it('counts its generations that have not ended, by an index of only these', async () => {
    const file = join(folder, 'darkroom.db');
    const before = openDatabase(file);
    defineFunctions(before);
    for (const migration of MIGRATIONS.slice(0, BEFORE_COUNTS)) before.exec(migration);
    before.exec(`PRAGMA user_version = ${BEFORE_COUNTS}`);
    const { lease: _lease, attempt: _attempt, ...handedBack } = aGeneration(3, { status: 'running', createdAt: 7 });
    const attempt = { number: 1, phase: 'submitting', token: 't', startedAt: 1, provider: 'p' } as const;
    const stored = [
      { ...handedBack, generationId: uuidAt(2), status: 'queued' as const, createdAt: 5 },
      handedBack,
      aGeneration(4, { status: 'running', createdAt: 9, attempt }),
      aGeneration(5, { status: 'succeeded', attempt }),
    ];
    const put = before.prepare(`
      INSERT INTO generations (id, account, app, kind, version, attention_at, doc, status, created_at, model)
      VALUES (unhex(?, '-'), unhex(?, '-'), unhex(?, '-'), 'generation', ?, ?, ?, ?, ?, ?)`);
    for (const one of stored) {
      const { generationId, accountId, appId, version, dueAt, status, createdAt, modelKey } = one;
      put.run(generationId, accountId, appId, version, dueAt, JSON.stringify(one), status, createdAt, modelKey);
    }
    before.close();
    const stores = await openSqlite({ folder, role: 'server' });
    const counted = { modelKey: 'sandbox-image', generations: 1 };
    expect(await stores.generations.countOpen()).to.have.deep.members([
      { ...counted, state: 'queued', oldestCreatedAt: 5 },
      { ...counted, state: 'requeued', oldestCreatedAt: 7 },
      { ...counted, state: 'running', provider: 'p', oldestCreatedAt: 9 },
    ]);
    await stores.close();
    const database = openDatabase(file);
    expect(database.prepare(`EXPLAIN QUERY PLAN ${COUNT_OPEN}`).all()).to.have.nested.property(
      '[0].detail',
      'SEARCH generations USING INDEX generations_open (open_at>?)',
    );
    database.close();
  });

  it('lists its deliveries by account, App and generation', async () => {
    const file = join(folder, 'darkroom.db');
    const before = openDatabase(file);
    defineFunctions(before);
    for (const migration of MIGRATIONS.slice(0, BEFORE_DELIVERY_LISTS)) before.exec(migration);
    before.exec(`PRAGMA user_version = ${BEFORE_DELIVERY_LISTS}`);
    const stored = delivery(1);
    const { deliveryId, version, dueAt, createdAt, endpointId, accountId, appId, generationId } = stored;
    before
      .prepare(
        `INSERT INTO deliveries (id, version, attention_at, doc, endpoint, created_at)
        VALUES (unhex(?, '-'), ?, ?, ?, unhex(?, '-'), ?)`,
      )
      .run(deliveryId, version, dueAt, JSON.stringify(stored), endpointId, createdAt);
    before.close();
    const stores = await openSqlite({ folder, role: 'server' });
    const ids = { endpoint: endpointId, account: accountId, app: appId, generation: generationId };
    for (const [of, id] of Object.entries(ids)) {
      const listed = await stores.deliveries.list({ of: of as keyof typeof ids, id }, { limit: 5 });
      expect(listed, of).to.deep.equal({ items: [stored] });
    }
    await stores.close();
  });

  it('lists an App from an index in its order, by each field', async () => {
    await (await openSqlite({ folder, role: 'server' })).close();
    const database = openDatabase(join(folder, 'darkroom.db'));
    const plans = Object.entries(APP_LISTS).map(([list, sql]) => {
      const given = [uuidAt(1), 0, 5, uuidAt(1), 3, ...(list === 'all' ? [] : ['x'])];
      const steps = database.prepare(`EXPLAIN QUERY PLAN ${sql}`).all(...given);
      return [list, steps.map(({ detail }) => detail)];
    });
    expect(Object.fromEntries(plans)).to.deep.equal({
      all: ['SEARCH generations USING INDEX generations_by_app (app=? AND created_at>? AND (created_at,id)<(?,?))'],
      status: [
        'SEARCH generations USING INDEX generations_by_status (app=? AND status=? AND created_at>? AND (created_at,id)<(?,?))',
      ],
      modelKey: [
        'SEARCH generations USING INDEX generations_by_model (app=? AND model=? AND created_at>? AND (created_at,id)<(?,?))',
      ],
      clientTraceId: [
        'SEARCH generations USING INDEX generations_by_trace (app=? AND trace=? AND created_at>? AND (created_at,id)<(?,?))',
      ],
    });
    database.close();
  });

  it('answers sums from their indexes alone', async () => {
    await (await openSqlite({ folder, role: 'server' })).close();
    const database = openDatabase(join(folder, 'darkroom.db'));
    const planOf = (sql: string) =>
      database
        .prepare(`EXPLAIN QUERY PLAN ${sql}`)
        .all(uuidAt(1))
        .map(({ detail }) => detail)
        .join();
    expect(
      planOf(
        `SELECT count(*), total(unfinished), total(bytes) FROM uploads WHERE account = unhex(?1, '-') AND app = unhex(?1, '-')`,
      ),
    ).to.include('USING COVERING INDEX uploads_by_app');
    expect(
      planOf(
        `SELECT count(*), total(uncharged_bytes) FROM generations WHERE account = unhex(?1, '-') AND uncharged_bytes IS NOT NULL`,
      ),
    ).to.include('USING COVERING INDEX generations_uncharged');
    database.close();
  });
});
