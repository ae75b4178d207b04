// Goal: every store of erasures keeps one record per id, guards it by version and finds those that are due; removing what
// remains of removed content leaves all records as they are.
// Method: the shared contract of versioned records; one removal beside writes.
import { expect } from 'chai';
import type { Erasure } from '../../core/erasure/erasure.js';
import type { ErasureStore } from '../../core/ports/stores.js';
import { uuidAt } from '../fixtures/stored-records.js';
import { contract, type ContractSubject } from './subject.js';
import { versionedRecords } from './versioned-records.js';

function anErasure(n: number, values: Partial<Erasure> = {}): Erasure {
  return {
    erasureId: uuidAt(n),
    of: 'trace',
    accountId: uuidAt(600),
    clientTraceId: 'a:b.c_D-9',
    version: 0,
    requestedAt: 4,
    round: 2,
    step: 'ledger',
    examinedThrough: 500,
    erasedAt: 5,
    completedAt: 6,
    dueAt: 130,
    ...values,
  };
}

export function erasureStoreContract(subject: ContractSubject<ErasureStore>): void {
  contract('ErasureStore contract', subject, (store) => {
    versionedRecords({ store, make: anErasure, idAt: uuidAt });

    it('keeps every record when it removes what remains of removed content, also beside writes', async () => {
      for (let n = 1; n <= 50; n += 1) await store().insert(anErasure(n));
      const replaced = anErasure(1, { version: 1, step: 'done' });
      const [outcome, emptied, , written] = await Promise.all([
        store().removeRemains(),
        store().emptyLog(),
        store().remove(uuidAt(2), 0),
        store().replace(replaced, 0),
      ]);
      expect(outcome).to.be.oneOf(['done', 'later']);
      expect(emptied).to.be.oneOf(['done', 'later']);
      expect(written).to.equal('applied');
      expect(await store().read(uuidAt(1))).to.deep.equal(replaced);
      expect(await store().read(uuidAt(2))).to.equal(null);
      expect(await store().due(1_000, 100)).to.have.length(49);
    });
  });
}
