// Goal: a write of several documents whose connection is lost is reported as an outage, and nothing that depends on it is written. A
// write that the server has carried out, and that the driver repeats because the answer is lost, is reported as carried out.
// Method: a link to a real server that closes every connection at one command, or one connection at the answer to it, and passes all
// else on. The driver reports the first in the class of refused writes, without a refused write.
import { expect } from 'chai';
import { MongoClient } from 'mongodb';
import { migrateMongo, openMongo, type MongoStores } from '../../../adapters/mongo/open-mongo.js';
import { StoreUnavailable } from '../../../core/errors.js';
import type { UseRow } from '../../../core/usage/usage.js';
import { CommandLink } from '../../fixtures/command-link.js';
import {
  aChange,
  aClaim,
  aGeneration,
  anAccount,
  aTombstone,
  ATTRIBUTION,
  uuidAt,
} from '../../fixtures/stored-records.js';
import { MONGO_KINDS } from '../../harness/store-pairs.js';
import { freshDatabase, type FreshDatabase } from '../../servers/fresh-places.js';
import { mongoServer, orSkip, type MongoServer } from '../../servers/servers.js';

const ACCOUNT = anAccount(1, { issued: 100, available: 100 });
const USE: UseRow = {
  accountId: uuidAt(1),
  day: '2026-01-31',
  modelKey: 'model',
  credentialId: 'service:a',
  lastSequence: 1,
  generations: 1,
  failed: 0,
  reservedCredits: 1,
  chargedCredits: 1,
  releasedCredits: 0,
};
const numbersFrom = (first: number, count: number) => Array.from({ length: count }, (_, index) => first + index);

/** Holds a credit for each generation. */
function batchOf(numbers: readonly number[]) {
  const { accountId, available, lastSequence } = ACCOUNT;
  const count = numbers.length;
  return {
    claims: numbers.map((n) => aClaim(n)),
    change: aChange(ACCOUNT, {
      available: available - count,
      reserved: count,
      lastSequence: lastSequence + count,
      holdsOpened: numbers.map((n) => ({ generationId: uuidAt(n), credits: 1, heldAt: 1, attribution: ATTRIBUTION })),
      entries: numbers.map((n, index) => ({
        accountId,
        sequence: lastSequence + index + 1,
        kind: 'hold' as const,
        from: 'available' as const,
        to: 'reserved' as const,
        credits: 1,
        at: 1,
        availableAfter: available - index - 1,
        generationId: uuidAt(n),
        attribution: ATTRIBUTION,
      })),
    }),
    generations: numbers.map((n) => aGeneration(n)),
  };
}

/** Far longer than the driver needs to see that a connection is lost. */
const PATIENCE_MS = 60_000;

for (const lane of MONGO_KINDS) {
  describe(`A connection to MongoDB that is lost at a command, ${lane}`, () => {
    let server: MongoServer;
    let database: FreshDatabase;
    let link: CommandLink;
    let stores: MongoStores;

    before(async function () {
      server = await orSkip(this, mongoServer(lane));
    });
    beforeEach(async () => {
      database = freshDatabase(server);
      await migrateMongo(database);
      link = await CommandLink.open(database.url);
      stores = await openMongo({ url: link.url, database: database.database, timeoutMs: PATIENCE_MS });
      await stores.accounts.create(ACCOUNT);
      await stores.accounts.read(ACCOUNT.accountId);
    });
    afterEach(async () => {
      await stores.close();
      link.close();
      await database.drop();
    });

    async function expectOutage(write: () => Promise<unknown>): Promise<void> {
      expect(await write().catch((error: unknown) => error)).to.be.instanceOf(StoreUnavailable);
      expect(link.closed).to.be.at.least(1);
      link.heal();
    }

    for (const count of [1, 3]) {
      it(`accepts none of ${count} generations whose claims may not be stored`, async () => {
        const numbers = numbersFrom(7, count);
        const batch = batchOf(numbers);
        link.closeAt('insert');
        await expectOutage(() => stores.acceptances.accept(batch));
        for (const claim of batch.claims) expect(await stores.claims.read(claim)).to.equal(null);
        for (const n of numbers) expect(await stores.generations.read(uuidAt(n))).to.equal(null);
        expect((await stores.accounts.read(ACCOUNT.accountId))?.version).to.equal(ACCOUNT.version);

        expect(await stores.acceptances.accept(batch)).to.have.property('outcome', 'accepted');
      });
    }

    // The driver repeats no write of a single server.
    if (lane === 'standalone')
      it('cannot tell what became of a generation whose write is not repeated', async () => {
        link.loseAnswerOf('update');
        await expectOutage(() => stores.acceptances.accept(batchOf([7])));
      });
    else
      for (const count of [1, 3])
        it(`accepts ${count} generations once whose write is repeated, as its answer is lost`, async () => {
          const batch = batchOf(numbersFrom(7, count));
          link.loseAnswerOf('bulkWrite');
          expect(await stores.acceptances.accept(batch)).to.deep.equal({ outcome: 'accepted', existing: [] });
          expect(link.closed).to.equal(1);
          for (const generation of batch.generations)
            expect(await stores.generations.read(generation.generationId)).to.deep.equal(generation);
          const account = await stores.accounts.read(ACCOUNT.accountId);
          expect(account).to.include({ version: 1, available: 100 - count, reserved: count });
          expect([...(account?.holds.keys() ?? [])]).to.have.members(batch.generations.map((one) => one.generationId));
        });

    if (lane === 'replica-set')
      describe('whose write is repeated', () => {
        let elsewhere: MongoStores;
        beforeEach(async () => {
          elsewhere = await openMongo({ ...database, timeoutMs: PATIENCE_MS });
        });
        afterEach(async () => elsewhere.close());

        /** The server has carried the write out; this happens before the driver repeats it. */
        async function acceptedWhile(numbers: readonly number[], meanwhile: () => Promise<void>) {
          link.loseAnswerOf('bulkWrite', meanwhile);
          const answer = await stores.acceptances.accept(batchOf(numbers));
          expect(link.closed).to.equal(1);
          expect(await stores.accounts.read(ACCOUNT.accountId)).to.include({ version: 1, reserved: numbers.length });
          return answer;
        }
        async function removeGenerations(): Promise<void> {
          const client = new MongoClient(database.url);
          await client.db(database.database).collection('generations').deleteMany({});
          await client.close();
        }

        it('accepts once, though another process moves the entries out of the account', async () => {
          const answer = await acceptedWhile([7, 8], async () => {
            expect(await elsewhere.accounts.moveOldEntries(Date.now(), 10)).to.equal(1);
          });
          expect(answer).to.deep.equal({ outcome: 'accepted', existing: [] });
        });

        it('inserts the generations that are not stored', async () => {
          const answer = await acceptedWhile([7, 8], removeGenerations);
          expect(answer).to.deep.equal({ outcome: 'accepted', existing: [] });
          for (const n of [7, 8])
            expect(await stores.generations.read(uuidAt(n)), `${n}`).to.deep.equal(aGeneration(n));
        });

        it('answers the other record of an id, so that its hold is released', async () => {
          const answer = await acceptedWhile([7, 8], async () => {
            await removeGenerations();
            await elsewhere.generations.insert(aTombstone(8));
          });
          expect(answer).to.deep.equal({ outcome: 'accepted', existing: [aTombstone(8)] });
          expect(await stores.generations.read(uuidAt(7))).to.deep.equal(aGeneration(7));
        });

        it('is a conflict where another process wrote the account first', async () => {
          const other = batchOf([9]).change;
          expect(await elsewhere.accounts.apply(other)).to.equal('applied');
          const answer = await stores.acceptances.accept(batchOf([7]));
          expect(answer).to.deep.equal({ outcome: 'conflict', claimsStand: true });
          expect(await stores.generations.read(uuidAt(7))).to.equal(null);
        });
      });

    it('tells no claims as stored that may not be', async () => {
      link.closeAt('insert');
      await expectOutage(() => stores.claims.insertAll([aClaim(1), aClaim(2)]));
    });

    it('tells no usage as counted by another process that may not be', async () => {
      link.closeAt('insert');
      await expectOutage(() => stores.usage.apply([{ row: USE, expectedSequence: 0 }]));
    });
  });
}
