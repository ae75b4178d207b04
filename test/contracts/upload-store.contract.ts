// Goal: every upload store keeps one record per id, guards it by version and finds due records.
// Method: the shared contract of versioned records, the tombstone that keeps an upload out, and an App's usage against
// a sum over a plain map.
import { expect } from 'chai';
import fc from 'fast-check';
import type { UploadStore } from '../../core/ports/stores.js';
import type { Upload, UploadRecord, UploadTombstone } from '../../core/uploads/upload.js';
import type { UploadUsage } from '../../core/uploads/upload.js';
import { anUpload, uuidAt } from '../fixtures/stored-records.js';
import { endedCalls } from './ended-calls.js';
import { contract, type ContractSubject } from './subject.js';
import { allPages, versionedRecords } from './versioned-records.js';
import { forAll } from '../harness/for-all.js';

export function uploadStoreContract(subject: ContractSubject<UploadStore>): void {
  contract('UploadStore contract', subject, (store) => {
    versionedRecords<UploadRecord>({ store, make: anUpload, idAt: uuidAt });

    it('refuses an upload at the id of a void for ever', async () => {
      const tombstone: UploadTombstone = {
        kind: 'void',
        uploadId: uuidAt(1),
        accountId: uuidAt(2),
        appId: uuidAt(3),
        version: 0,
        createdAt: 1,
        dueAt: 2,
      };
      expect(await store().insert(tombstone)).to.deep.equal({ inserted: true });
      expect(await store().insert(anUpload(1))).to.deep.equal({ inserted: false, existing: tombstone });
      expect(await store().due(2, 1)).to.deep.equal([tombstone]);
    });

    it('lists the uploads of one account in order of id, complete, in pages of any size, without tombstones', async () => {
      const account = uuidAt(100);
      const own = [5, 3, 9, 1].map((n) => anUpload(n, { accountId: account, appId: uuidAt(200 + (n % 2)) }));
      const tombstone = { accountId: account, appId: uuidAt(200), version: 0, createdAt: 1, dueAt: 2 };
      await store().insert({ kind: 'expired', uploadId: uuidAt(7), ...tombstone });
      for (const upload of [...own, anUpload(4, { accountId: uuidAt(101) })]) await store().insert(upload);
      const expected = own.toSorted((a, b) => (a.uploadId < b.uploadId ? -1 : 1));
      for (const limit of [1, 2, 4, 5])
        expect(await allPages((page) => store().list(account, page), limit)).to.deep.equal(expected);
      expect(await store().list(uuidAt(102), { limit: 5 })).to.deep.equal({ items: [] });
    });

    describe('usage', () => usage(store));
    describe('reads for a call', () =>
      endedCalls(async () => ({ usage: (call) => store().usage(uuidAt(1), uuidAt(2), call) })));
  });
}

const APPS = [
  { accountId: uuidAt(1), appId: uuidAt(2) },
  { accountId: uuidAt(1), appId: uuidAt(3) },
  { accountId: uuidAt(4), appId: uuidAt(2) },
];

function usage(store: () => UploadStore): void {
  it('is zero without uploads, and for a malformed id', async () => {
    for (const [account, app] of [
      [uuidAt(1), uuidAt(2)],
      ['', ''],
      ['x', uuidAt(2)],
    ] as const) {
      expect(await store().usage(account, app)).to.deep.equal({ uploads: 0, unfinished: 0, bytes: 0 });
    }
  });

  it('counts the bytes of what is prepared, ready or being removed, and not of what was swept or only remains', async () => {
    const records: UploadRecord[] = [
      anUpload(1, { status: 'prepared', byteSize: 1 }),
      anUpload(2, { status: 'prepared', byteSize: 10, stagingRemovedAt: 5 }),
      anUpload(3, { status: 'ready', byteSize: 100 }),
      anUpload(4, { status: 'ready', byteSize: 1_000, stagingRemovedAt: 5 }),
      anUpload(5, { status: 'removing', byteSize: 10_000 }),
      {
        kind: 'expired',
        uploadId: uuidAt(6),
        accountId: uuidAt(1),
        appId: uuidAt(2),
        version: 0,
        createdAt: 1,
        dueAt: 2,
      },
    ];
    for (const record of records) await store().insert(record);
    expect(await store().usage(uuidAt(1), uuidAt(2))).to.deep.equal({ uploads: 5, unfinished: 1, bytes: 11_101 });
  });

  it('is the sum over the records of one App of one account, after any writes', async () => {
    const write = fc.record({
      n: fc.integer({ min: 1, max: 5 }),
      owner: fc.constantFrom(...APPS),
      byteSize: fc.integer({ min: 1, max: 20_971_520 }),
      state: fc.constantFrom<Partial<Upload>[]>(
        { status: 'prepared' },
        { status: 'prepared', stagingRemovedAt: 1 },
        { status: 'ready' },
        { status: 'removing' },
      ),
      kind: fc.constantFrom('upload', 'expired', 'nothing'),
    });
    await forAll(30, [fc.array(write, { maxLength: 12 })], async (writes) => {
      const model = new Map<number, UploadRecord>();
      for (const { n, owner, byteSize, state, kind } of writes) {
        const before = model.get(n);
        const version = (before?.version ?? -1) + 1;
        const { uploadId, createdAt, dueAt } = anUpload(n);
        const next: UploadRecord =
          kind === 'upload'
            ? anUpload(n, { ...(before ?? owner), ...state, kind: 'upload', byteSize, version })
            : {
                kind: 'expired',
                uploadId,
                accountId: before?.accountId ?? owner.accountId,
                appId: before?.appId ?? owner.appId,
                version,
                createdAt,
                dueAt,
              };
        if (before === undefined) await store().insert(next);
        else if (kind === 'nothing') await store().remove(uploadId, before.version);
        else await store().replace(next, before.version);
        if (kind === 'nothing' && before !== undefined) model.delete(n);
        else model.set(n, next);
      }
      for (const { accountId, appId } of APPS)
        expect(await store().usage(accountId, appId)).to.deep.equal(sumOf([...model.values()], accountId, appId));
      for (const { uploadId, version } of model.values())
        expect(await store().remove(uploadId, version)).to.equal('applied');
      expect(await store().usage(uuidAt(1), uuidAt(2))).to.deep.equal({ uploads: 0, unfinished: 0, bytes: 0 });
    });
  });
}

/** Implemented a second time, without the functions that the stores count with. */
function sumOf(records: readonly UploadRecord[], accountId: string, appId: string): UploadUsage {
  const own = records.filter(
    (record): record is Upload => record.kind === 'upload' && record.accountId === accountId && record.appId === appId,
  );
  const withBytes = own.filter(
    ({ status, stagingRemovedAt }) => status === 'ready' || status === 'removing' || stagingRemovedAt === undefined,
  );
  return {
    uploads: own.length,
    unfinished: own.filter(({ status, stagingRemovedAt }) => status === 'prepared' && stagingRemovedAt === undefined)
      .length,
    bytes: withBytes.reduce((sum, { byteSize }) => sum + byteSize, 0),
  };
}
