// Goal: any upload store keeps one record an id, guards it by version and finds what is due.
// Method: the shared contract of versioned records, and the tombstone that keeps an upload out.
import { expect } from 'chai';
import type { UploadStore } from '../../core/ports/upload-store.js';
import type { UploadRecord, UploadRemnant } from '../../core/uploads/upload.js';
import { anUpload, uuidAt } from '../fixtures/stored-records.js';
import type { ContractSubject } from './subject.js';
import { versionedRecords } from './versioned-records.js';

export function uploadStoreContract(subject: ContractSubject<UploadStore>): void {
  describe(`UploadStore contract: ${subject.name}`, () => {
    let store: UploadStore;
    beforeEach(async () => { store = await subject.open(); });
    afterEach(async () => subject.close(store));

    versionedRecords<UploadRecord>({ store: () => store, make: anUpload, idAt: uuidAt });

    it('lets a void keep the upload out for ever', async () => {
      const tombstone: UploadRemnant = { kind: 'void', uploadId: uuidAt(1), accountId: uuidAt(2), appId: uuidAt(3), version: 0, createdAt: 1, attentionAt: 2 };
      expect(await store.insert(tombstone)).to.deep.equal({ inserted: true });
      expect(await store.insert(anUpload(1))).to.deep.equal({ inserted: false, existing: tombstone });
      expect(await store.due(2, 1)).to.deep.equal([tombstone]);
    });
  });
}
