// Goal: old holds are listed completely and in order, however they are spread over time; a page takes few queries, and
// its cost depends on the holds near it, not on the total.
// Method: random holds at distances from zero to very long, compared with a sorted list; and a count of the holds in
// the range of each query.
import { expect } from 'chai';
import fc from 'fast-check';
import type { CommandStartedEvent, Document } from 'mongodb';
import type { MongoStores } from '../../../adapters/mongo/open-mongo.js';
import { aChange, anAccount, uuidAt } from '../../fixtures/stored-records.js';
import { aHold } from '../../contracts/account-store.contract.js';
import { allPages } from '../../contracts/all-pages.js';
import { onMongo, type MongoPlace } from './on-mongo.js';

const MINUTE_MS = 60_000;
const ACCOUNTS = 4;

/** Opens a hold at each of the times, on one account after the other, beside an account without holds. */
async function hold({ accounts }: MongoStores, times: readonly number[]): Promise<void> {
  await accounts.create(anAccount(ACCOUNTS));
  for (let n = 0; n < ACCOUNTS; n += 1) {
    const holdsOpened = times.flatMap((heldAt, index) => (index % ACCOUNTS === n ? [aHold(index, { heldAt })] : []));
    await accounts.create(anAccount(n));
    await accounts.apply(aChange(anAccount(n), { holdsOpened }));
  }
}

onMongo('Old holds', (place) => {
  afterEach(() => place().settle());
  describe('of any age', () => ofAnyAge(place));
  describe('in great number', () => inGreatNumber(place));
});

function ofAnyAge(place: () => MongoPlace): void {
  // From within one window to far past the last, with many at one time.
  const distance = fc.oneof(
    fc.constant(0),
    fc.integer({ min: 1, max: 90_000 }),
    fc.integer({ min: 0, max: 41 }).map((power) => 2 ** power),
  );

  it('are listed completely, oldest first, up to a time, in pages of any size', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(distance, { maxLength: 24 }),
        fc.integer({ min: 1, max: 9 }),
        fc.nat(24),
        async (distances, limit, upTo) => {
          const stores = await place().open();
          let last = 0;
          const times = distances.map((distanceMs) => (last += distanceMs));
          await hold(stores, times);
          const heldBefore = times[upTo] ?? Number.MAX_SAFE_INTEGER;
          const found = await allPages((page) => stores.accounts.holdsBefore(heldBefore, page), limit);
          const expected = times.flatMap((heldAt, index) =>
            heldAt < heldBefore ? [{ heldAt, generationId: uuidAt(index), accountId: uuidAt(index % ACCOUNTS) }] : [],
          );
          const order = ({ heldAt, accountId, generationId }: (typeof expected)[number]): string =>
            `${String(heldAt).padStart(16, '0')}/${accountId}/${generationId}`;
          expect(found.map(order)).to.deep.equal(expected.map(order).sort());
        },
      ),
      { numRuns: 40 },
    );
  });

  it('take few queries, though they are far apart in time', async () => {
    await hold(
      await place().open(),
      Array.from({ length: 53 }, (_, power) => 2 ** power),
    );
    let questions = 0;
    const counting = place().another((operation) => {
      questions += 1;
      return operation();
    });
    expect((await counting.accounts.holdsBefore(Number.MAX_SAFE_INTEGER, { limit: 1_000 })).items).to.have.length(53);
    // There are 37 doubling windows from a minute to the largest time.
    expect(questions).to.be.at.most(2 + 3 * Math.ceil(Math.log2(Number.MAX_SAFE_INTEGER / MINUTE_MS)));
    questions = 0;
    expect((await counting.accounts.holdsBefore(1, { limit: 1_000 })).items).to.deep.equal([]);
    expect(questions).to.equal(1);
  });
}

function inGreatNumber(place: () => MongoPlace): void {
  it('are not all read for one page', async () => {
    const stores = await place().open();
    const times = Array.from({ length: 400 }, (_, index) => index * 10_000);
    await hold(stores, times);
    const read: number[] = [];
    const note = ({ command }: CommandStartedEvent): void => {
      if (command['aggregate'] !== 'accounts') return;
      const [first] = command['pipeline'] as [Document];
      const { $gte, $lt } = first['$match'].holds.$elemMatch.heldAt as { $gte: number; $lt: number };
      read.push(times.filter((heldAt) => heldAt >= $gte && heldAt < $lt).length);
    };
    stores.db.client.on('commandStarted', note);
    let cursor: string | undefined;
    for (let page = 0; page < 5; page += 1) {
      read.length = 0;
      const { items, nextCursor } = await stores.accounts.holdsBefore(2 ** 40, {
        limit: 20,
        ...(cursor === undefined ? {} : { cursor }),
      });
      expect(items.map(({ heldAt }) => heldAt)).to.deep.equal(times.slice(page * 20, page * 20 + 20));
      // The windows that did not fill the page, and one twice as wide as the last of them.
      expect(read.reduce((sum, count) => sum + count, 0)).to.be.within(20, 3 * 21);
      cursor = nextCursor;
    }
    stores.db.client.off('commandStarted', note);
  });
}
