// Goal: MongoDB keeps the contract of the acceptance store, and accepts in two commands where one log orders them.
// Method: the contract on real servers; the commands that a batch takes, also one that is refused in its middle.
import { expect } from 'chai';
import type { CommandStartedEvent } from 'mongodb';
import { MongoConnection } from '../../../adapters/mongo/connection.js';
import { type MongoStores, storesOver } from '../../../adapters/mongo/open-mongo.js';
import { acceptanceStoreContract } from '../../contracts/acceptance-store.contract.js';
import {
  aChange,
  aClaim,
  aGeneration,
  anAccount,
  aTombstone,
  ATTRIBUTION,
  uuidAt,
} from '../../fixtures/stored-records.js';
import { mongoSubject, onMongo } from './on-mongo.js';

const ACCOUNT = anAccount(1, { issued: 100, available: 100 });

/** Of three generations, on an account at this version without entries. */
function batch(version: number) {
  const numbers = [7, 8, 9];
  const holdsOpened = numbers.map((n) => ({
    generationId: uuidAt(n),
    credits: 0,
    heldAt: 1,
    attribution: ATTRIBUTION,
  }));
  return {
    claims: numbers.map((n) => aClaim(n)),
    change: aChange({ ...ACCOUNT, version }, { holdsOpened }),
    generations: numbers.map((n) => aGeneration(n)),
  };
}

onMongo('Acceptances', (place, lane) => {
  acceptanceStoreContract({
    ...mongoSubject(place, (stores) => stores),
    supports: { oneStep: false },
  });

  describe('the commands of a batch', () => {
    let connection: MongoConnection;
    let stores: MongoStores;
    let commands: string[];

    beforeEach(async () => {
      await place().open();
      connection = await MongoConnection.open(place().options, { monitorCommands: true });
      stores = storesOver(connection, { form: 'grouped' });
      await stores.accounts.create(ACCOUNT);
      await stores.accounts.read(ACCOUNT.accountId);
      commands = [];
      connection.db.client.on('commandStarted', ({ commandName }: CommandStartedEvent) => commands.push(commandName));
    });

    afterEach(async () => connection.close());

    it('are two where one log orders them, and one a record otherwise', async () => {
      expect(await stores.acceptances.accept(batch(0))).to.have.property('outcome', 'accepted');
      expect(commands).to.deep.equal(
        lane === 'replica-set' ? ['insert', 'bulkWrite'] : ['insert', 'update', 'insert', 'insert', 'insert'],
      );
    });

    it('insert nothing behind a change that is not applied', async () => {
      expect(await stores.acceptances.accept(batch(3))).to.have.property('outcome', 'conflict');
      for (const n of [7, 8, 9]) expect(await stores.generations.read(uuidAt(n))).to.equal(null);
      expect((await stores.accounts.read(ACCOUNT.accountId))?.version).to.equal(0);
    });

    it('are two writes for a change that follows on from an older version, where one log orders them', async () => {
      expect(await stores.acceptances.accept(batch(3))).to.have.property('outcome', 'conflict');
      expect(commands).to.deep.equal(
        lane === 'replica-set' ? ['insert', 'bulkWrite', 'find'] : ['insert', 'update', 'find'],
      );
    });

    it('insert what stands behind a generation whose id is taken', async () => {
      await stores.generations.insert(aTombstone(7));
      expect(await stores.acceptances.accept(batch(0))).to.deep.equal({
        outcome: 'accepted',
        existing: [aTombstone(7)],
      });
      for (const n of [8, 9]) expect(await stores.generations.read(uuidAt(n))).to.deep.equal(aGeneration(n));
    });

    it('write nothing for an account that this process has not read, but by its condition', async () => {
      const unread = { ...batch(0), change: { ...batch(0).change, accountId: uuidAt(77) } };
      expect(await stores.acceptances.accept(unread)).to.have.property('outcome', 'conflict');
      expect(commands).to.not.include('bulkWrite');
      expect(await stores.generations.read(uuidAt(7))).to.equal(null);
    });
  });
});
