// Goal: where a restored copy holds entries from a later time than their accounts, the account's own entries take
// precedence, a warning is logged, and everything continues to work.
// Method: a foreign entry under the number that the account assigns next, as a plain dump of a live database leaves it;
// then enough entries to make the ledger move them, and the ledger read back.
import { expect } from 'chai';
import { entryDocument } from '../../../adapters/mongo/account-documents.js';
import { FLUSH_FROM } from '../../../adapters/mongo/mongo-ledger.js';
import { anEntry } from '../../contracts/account-store.contract.js';
import { allPages } from '../../contracts/versioned-records.js';
import { aChange, anAccount, uuidAt } from '../../fixtures/stored-records.js';
import { onMongo } from './on-mongo.js';

onMongo('A ledger of mixed times', (place) => {
  afterEach(() => place().settle());

  it('is logged once, and reads as the account has it', async () => {
    const told: string[] = [];
    await place().open();
    const { accounts } = place().another(undefined, {
      info: () => undefined,
      warn: (event) => {
        told.push(event);
      },
    });
    const account = anAccount(1);
    await accounts.create(account);
    const later = anEntry(account, 2, { reason: 'of a later time' });
    await place().db.collection<ReturnType<typeof entryDocument>>('entries').insertOne(entryDocument(later));

    for (let n = 0; n < 2 * FLUSH_FROM; n += 1) {
      const now = await accounts.read(uuidAt(1));
      if (now === null) throw new Error('The account is gone.');
      const entry = anEntry(now, n + 1, { availableAfter: now.available + 1 });
      const change = aChange(now, {
        lastSequence: n + 1,
        issued: now.issued + 1,
        available: now.available + 1,
        entries: [entry],
      });
      expect(await accounts.apply(change)).to.equal('applied');
    }
    await accounts.close();

    expect(told).to.deep.equal(['ledger entries not moved']);
    const entries = await allPages((page) => accounts.entries(uuidAt(1), page), 100);
    expect(entries.map(({ sequence }) => sequence)).to.deep.equal(
      Array.from({ length: 2 * FLUSH_FROM }, (_, index) => index + 1),
    );
    expect(entries.map(({ reason }) => reason)).not.to.include('of a later time');
  });
});
