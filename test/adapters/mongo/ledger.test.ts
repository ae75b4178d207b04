import { expect } from 'chai';
import fc from 'fast-check';
import type { CommandStartedEvent, Document } from 'mongodb';
import { setTimeout as sleep } from 'node:timers/promises';
import {
  entriesOf,
  entryDocument,
  type EntryDocument,
  type EntryGroupDocument,
  groupDocument,
  MAX_GROUP,
} from '../../../adapters/mongo/account-documents.js';
import { MAX_OUTBOX } from '../../../adapters/mongo/mongo-account-store.js';
import { FLUSH_FROM, LedgerFlushes, type LedgerForm } from '../../../adapters/mongo/mongo-ledger.js';
import type { MongoStores } from '../../../adapters/mongo/open-mongo.js';
import type { Account, AccountChange, Entry } from '../../../core/credits/account.js';
import { StoreUnavailable } from '../../../core/errors.js';
import { aHold, anEntry } from '../../contracts/account-store.contract.js';
import { allPages } from '../../contracts/versioned-records.js';
import { aChange, anAccount, uuidAt } from '../../fixtures/stored-records.js';
import { sizeOf } from '../../harness/run-sizes.js';
import { type Around, type MongoPlace, onMongo } from './on-mongo.js';

// Goal: an entry is in the ledger once from the moment its change applies, wherever the processes that move it die and
// however many there are; the entries that wait in an account's document never exceed their bound.
// Method: writers and readers of several processes on one account; a flush cut before and after each of its operations;
// and random interleavings of single operations, whose seed is printed on failure.

type MovedDocument = EntryDocument | EntryGroupDocument;

const ID = uuidAt(1);
const WRITERS = sizeOf('ledgerWriters');
const BURSTS = sizeOf('ledgerBursts');

/** A grant of `count` single credits, to the account as it was read. */
function grants(account: Account, count: number, values: Partial<Entry> = {}): AccountChange {
  const { lastSequence, issued, available } = account;
  const entries = Array.from({ length: count }, (_, index) =>
    anEntry(account, lastSequence + index + 1, { ...values, availableAfter: available + index + 1 }),
  );
  return aChange(account, {
    lastSequence: lastSequence + count,
    issued: issued + count,
    available: available + count,
    entries,
  });
}

async function accountOf({ accounts }: MongoStores): Promise<Account> {
  const account = await accounts.read(ID);
  if (account === null) throw new Error('The account is gone.');
  return account;
}

/** Applies what `decide` returns for the newest account, and retries while another writer was faster. */
async function applied(stores: MongoStores, decide: (account: Account) => AccountChange): Promise<void> {
  while ((await stores.accounts.apply(decide(await accountOf(stores)))) === 'conflict');
}

const ledgerOf = ({ accounts }: MongoStores, limit = 1_000): Promise<Entry[]> =>
  allPages((page) => accounts.entries(ID, page), limit);
const sequences = (entries: readonly Entry[]): number[] => entries.map(({ sequence }) => sequence);
const upTo = (count: number): number[] => Array.from({ length: count }, (_, index) => index + 1);

/** The stored entries by place: in the account's document, and in their own collection. */
async function stored({ db }: MongoPlace): Promise<{ readonly waiting: number[]; readonly moved: number[] }> {
  const account = await db.collection('accounts').findOne<{ outbox: Document[] }>({}, { projection: { outbox: 1 } });
  const moved = await db.collection<MovedDocument>('entries').find().toArray();
  return {
    waiting: (account?.outbox ?? []).map((entry) => entry['sequence'] as number),
    moved: moved
      .flatMap((document) => ('entries' in document ? document.entries : [document]))
      .map(({ sequence }) => sequence)
      .sort((a, b) => a - b),
  };
}

/** A process that dies at its `calls`-th operation: before it, or after it has happened. */
function dyingAt(calls: number, when: 'before' | 'after'): Around {
  let made = 0;
  return async (operation) => {
    made += 1;
    if (made < calls) return operation();
    if (made === calls && when === 'after') await operation();
    throw new StoreUnavailable('The process is gone.');
  };
}

for (const form of ['grouped', 'single'] as const)
  onMongo(`A ledger of ${form} entries`, (place) => {
    let stores: MongoStores;
    beforeEach(async () => {
      place().ledgerForm = form;
      stores = await place().open();
      await stores.accounts.create(anAccount(1));
    });
    afterEach(() => place().settle());

    describe('written by many', () => writtenByMany(place, () => stores, form));
    describe('cut while it moves', () => cut(place, () => stores));
    describe('left behind', () => leftBehind(place));
    describe('read while it moves', () => interleaved(place, [form, form]));
  });

onMongo('A ledger of both forms', (place) => {
  let stores: MongoStores;
  beforeEach(async () => {
    place().ledgerForm = 'grouped';
    stores = await place().open();
    await stores.accounts.create(anAccount(1));
  });
  afterEach(() => place().settle());

  describe('stored', () => grouped(place, () => stores));
  describe('read while processes of both forms move it', () => interleaved(place, ['grouped', 'single']));
});

function grouped(place: () => MongoPlace, stores: () => MongoStores): void {
  const documents = (): Promise<number> => place().db.collection('entries').countDocuments();

  it('has a document for many entries, and pages that begin anywhere in it', async () => {
    const count = 2 * MAX_GROUP + 50;
    await applied(stores(), (account) => grants(account, count));
    await place().settle();
    expect([await documents(), await stored(place())]).to.deep.equal([3, { waiting: [], moved: upTo(count) }]);
    for (const limit of [1, 7, MAX_GROUP - 1, MAX_GROUP, MAX_GROUP + 1, 1_000])
      expect(sequences(await ledgerOf(place().another(), limit)), `pages of ${limit}`).to.deep.equal(upTo(count));
  });

  it('has a document of its own for each entry with an operation id, by which it is found', async () => {
    const operation = { operationId: 'an-operation', reason: 'why' };
    await applied(stores(), (account) => grants(account, FLUSH_FROM));
    await applied(stores(), (account) => grants(account, 1, operation));
    await applied(stores(), (account) => grants(account, FLUSH_FROM));
    await place().another().accounts.moveOldEntries(Infinity, 1);
    await place().settle();
    expect((await stored(place())).waiting).to.deep.equal([]);
    const found = await place().another().accounts.findOperation(ID, 'an-operation');
    expect(found).to.deep.include({ sequence: FLUSH_FROM + 1, ...operation });
    expect(await place().db.collection('entries').countDocuments({ operation: 'an-operation' })).to.equal(1);
    expect(await place().another().accounts.findOperation(ID, 'another')).to.equal(null);
    expect(sequences(await ledgerOf(place().another(), 3))).to.deep.equal(upTo(2 * FLUSH_FROM + 1));
  });

  it('continues after what a process of the other form has moved, and was cut', async () => {
    for (const others of ['single', 'grouped'] as const) {
      place().ledgerForm = others;
      const before = (await accountOf(stores())).lastSequence;
      const dying = place().another(dyingAt(5, 'before'));
      expect(await dying.accounts.apply(grants(await accountOf(stores()), FLUSH_FROM))).to.equal('applied');
      await dying.accounts.close();
      expect((await stored(place())).waiting, 'cut before it was taken off the account').to.have.length(FLUSH_FROM);
      place().ledgerForm = others === 'single' ? 'grouped' : 'single';
      const next = place().another();
      await applied(next, (account) => grants(account, FLUSH_FROM));
      await place().settle();
      expect(await stored(place())).to.deep.equal({ waiting: [], moved: upTo(before + 2 * FLUSH_FROM) });
      expect(sequences(await ledgerOf(place().another(), 9))).to.deep.equal(upTo(before + 2 * FLUSH_FROM));
    }
  });

  it('keeps its entries in the outbox where a document has another one of their numbers', async () => {
    const account = await accountOf(stores());
    const change = grants(account, FLUSH_FROM);
    const foreign = change.entries.slice(9, 19).map((entry) => ({ ...entry, at: entry.at + 1 }));
    const document = groupDocument(ID, 10, foreign);
    await place().db.collection<typeof document>('entries').insertOne(document);
    expect(await stores().accounts.apply(change)).to.equal('applied');
    await place().settle();
    expect((await stored(place())).waiting).to.deep.equal(upTo(FLUSH_FROM));
    expect(await ledgerOf(place().another())).to.deep.equal(change.entries);
  });
}

function leftBehind(place: () => MongoPlace): void {
  it('leaves its account by age, whichever process wrote it, and a bounded number of accounts at a time', async () => {
    const stores = place().another();
    for (let n = 2; n <= 5; n += 1) {
      const account = anAccount(n);
      await stores.accounts.create(account);
      await stores.accounts.apply(grants(account, 3));
    }
    const waiting = async (): Promise<number> =>
      place()
        .db.collection('accounts')
        .countDocuments({ 'outbox.0': { $exists: true } });
    const [{ at } = { at: 0 }] = (await stores.accounts.entries(uuidAt(2), { limit: 1 })).items;
    const later = place().another();
    expect([await later.accounts.moveOldEntries(at, 100), await waiting()], 'none is older than that').to.deep.equal([
      0, 4,
    ]);
    expect([await later.accounts.moveOldEntries(at + 1, 3), await waiting()]).to.deep.equal([3, 1]);
    expect([await later.accounts.moveOldEntries(at + 1, 3), await waiting()]).to.deep.equal([1, 0]);
    expect(await later.accounts.moveOldEntries(at + 1, 3)).to.equal(0);
    for (let n = 2; n <= 5; n += 1)
      expect(sequences((await later.accounts.entries(uuidAt(n), { limit: 10 })).items)).to.deep.equal([1, 2, 3]);
  });
}

function writtenByMany(place: () => MongoPlace, stores: () => MongoStores, form: LedgerForm): void {
  it(`contains exactly what ${WRITERS} concurrent writers of two processes applied`, async () => {
    const processes = [stores(), place().another()];
    await Promise.all(
      Array.from({ length: WRITERS }, (_, n) =>
        applied(processes[n % 2] as MongoStores, (account) => {
          const change = grants(account, 1, {
            credits: 1,
            reason: `$writer-${n}`,
            ...(n < 4 ? { operationId: `$operation-${n}` } : {}),
          });
          return { ...change, holdsOpened: [aHold(n)] };
        }),
      ),
    );
    const account = await accountOf(stores());
    expect(account).to.deep.include({ version: WRITERS, lastSequence: WRITERS, issued: WRITERS, available: WRITERS });
    expect([...account.holds.keys()].sort()).to.deep.equal(Array.from({ length: WRITERS }, (_, n) => uuidAt(n)).sort());
    const entries = await ledgerOf(stores());
    expect(sequences(entries)).to.deep.equal(upTo(WRITERS));
    expect(new Set(entries.map(({ reason }) => reason)).size).to.equal(WRITERS);
  });

  it('moves to its own collection behind the writers, but for the last few', async () => {
    for (let n = 0; n < 5; n += 1) await applied(stores(), (account) => grants(account, FLUSH_FROM - 1));
    while ((await stored(place())).waiting.length >= FLUSH_FROM) await sleep(10);
    await place().settle();
    const { waiting, moved } = await stored(place());
    expect([...moved, ...waiting]).to.deep.equal(upTo(5 * (FLUSH_FROM - 1)));
  });

  it('never has more waiting entries than its bound, however much several processes write concurrently', async () => {
    const most = { waiting: 0 };
    const looks: Around = async (operation) => {
      most.waiting = Math.max(most.waiting, (await stored(place())).waiting.length);
      return operation();
    };
    const processes = [place().another(looks), place().another(looks), place().another(looks)];
    await Promise.all(
      processes.map(async (one) => {
        for (let n = 0; n < BURSTS; n += 1) await applied(one, (account) => grants(account, 1_000));
      }),
    );
    expect(most.waiting).to.be.within(1_000, MAX_OUTBOX);
    expect(sequences(await ledgerOf(stores()))).to.deep.equal(upTo(3_000 * BURSTS));
  });

  it('accepts a change that no longer fits after it has made room itself', async () => {
    const stuck = place().another(dyingAt(Infinity, 'before'));
    const neverFlushes = place().another((operation) => operation());
    // A closed process does not flush, as if it died after every change.
    await neverFlushes.accounts.close();
    for (let n = 0; n < MAX_OUTBOX / 1_000; n += 1) await applied(neverFlushes, (account) => grants(account, 1_000));
    expect((await stored(place())).waiting).to.have.length(MAX_OUTBOX);
    expect(await stuck.accounts.apply(grants(await accountOf(stuck), 1))).to.equal('applied');
    expect((await stored(place())).waiting).to.deep.equal([MAX_OUTBOX + 1]);
    expect(sequences(await ledgerOf(stores()))).to.deep.equal(upTo(MAX_OUTBOX + 1));
  });

  it('refuses a change that opens a hold twice or skips a number, and writes nothing', async () => {
    await applied(stores(), (account) => ({ ...grants(account, 1), holdsOpened: [aHold(1)] }));
    const account = await accountOf(stores());
    const wrong = [aChange(account, { holdsOpened: [aHold(1)] }), grants({ ...account, lastSequence: 5 }, 1)];
    for (const change of wrong)
      expect(
        await stores()
          .accounts.apply(change)
          .catch((error: unknown) => (error as Error).message),
      ).to.match(/^Broken invariant/);
    expect(await accountOf(stores())).to.deep.equal(account);
  });

  it('stores amounts as 64-bit integers and ids as UUIDs, in the outbox and in the collection', async () => {
    await applied(stores(), (account) => ({
      ...grants(account, FLUSH_FROM, { credits: 2 ** 40 + 1, generationId: uuidAt(9) }),
      holdsOpened: [aHold(9)],
    }));
    await place().settle();
    await applied(stores(), (account) => grants(account, 1));
    const long = { $type: 'long' };
    const account = {
      '_id': { $type: 'binData' },
      'issued': long,
      'available': long,
      'reserved': long,
      'spent': long,
      'holds.credits': long,
      'outbox.credits': long,
      'outbox.availableAfter': long,
    };
    expect(
      await place()
        .db.collection('accounts')
        .countDocuments(account as Document),
    ).to.equal(1);
    const within = form === 'grouped' ? 'entries.' : '';
    const entry = {
      account: { $type: 'binData' },
      [`${within}generation`]: { $type: 'binData' },
      [`${within}credits`]: long,
      [`${within}availableAfter`]: long,
    };
    const found = (await place().db.collection('entries').find(entry).toArray()) as unknown as MovedDocument[];
    expect(found.flatMap(entriesOf)).to.have.length(FLUSH_FROM);
  });
}

function cut(place: () => MongoPlace, stores: () => MongoStores): void {
  // A change is one operation; a flush reads the account, looks for entries already moved, inserts the rest into their
  // collection and removes them from the account.
  for (const call of [2, 3, 4, 5]) {
    for (const when of ['before', 'after'] as const) {
      it(`stays complete when its process dies ${when} operation ${call - 1} of a flush, and is moved by the next`, async () => {
        const account = await accountOf(stores());
        const dying = place().another(dyingAt(call, when));
        expect(await dying.accounts.apply(grants(account, FLUSH_FROM))).to.equal('applied');
        await dying.accounts.close();
        const { waiting, moved } = await stored(place());
        expect([moved.length > 0, waiting.length > 0]).to.deep.equal([
          call > 4 || (call === 4 && when === 'after'),
          call < 5 || when === 'before',
        ]);
        expect(sequences(await ledgerOf(stores(), 7))).to.deep.equal(upTo(FLUSH_FROM));

        await applied(stores(), (newest) => grants(newest, FLUSH_FROM));
        await place().settle();
        expect(await stored(place())).to.deep.equal({ waiting: [], moved: upTo(2 * FLUSH_FROM) });
        expect(sequences(await ledgerOf(place().another()))).to.deep.equal(upTo(2 * FLUSH_FROM));
      });
    }
  }

  it('is still moved where the previous release moved an entry without its attribution, and was cut', async () => {
    const account = await accountOf(stores());
    const attribution = { credentialId: uuidAt(8), modelKey: 'a-model', clientTraceId: 'a-trace' };
    const change = grants(account, FLUSH_FROM, { attribution });
    const { attribution: _, ...asBefore } = change.entries[0] as Entry;
    await place().db.collection<ReturnType<typeof entryDocument>>('entries').insertOne(entryDocument(asBefore));
    expect(await stores().accounts.apply(change)).to.equal('applied');
    await place().settle();
    expect(await stored(place())).to.deep.equal({ waiting: [], moved: upTo(FLUSH_FROM) });
    const [first, ...others] = await ledgerOf(stores());
    expect(first).to.deep.equal(asBefore);
    for (const entry of others) expect(entry.attribution).to.deep.equal(attribution);
  });

  it('is still moved where an earlier build moved an entry without its App, and was cut', async () => {
    const account = await accountOf(stores());
    const known = { credentialId: 'service:a', modelKey: 'a-model', clientTraceId: 'a-trace' };
    const attribution = { ...known, appId: uuidAt(8), actor: 'service' } as const;
    const change = grants(account, FLUSH_FROM, { attribution });
    const asBefore = { ...(change.entries[0] as Entry), attribution: known };
    await place().db.collection<ReturnType<typeof entryDocument>>('entries').insertOne(entryDocument(asBefore));
    expect(await stores().accounts.apply(change)).to.equal('applied');
    await place().settle();
    expect(await stored(place())).to.deep.equal({ waiting: [], moved: upTo(FLUSH_FROM) });
    const [first, ...others] = await ledgerOf(stores());
    expect(first).to.deep.equal(asBefore);
    for (const entry of others) expect(entry.attribution).to.deep.equal(attribution);
  });

  it('keeps an entry in the outbox if another one has its number in the collection', async () => {
    const account = await accountOf(stores());
    await place()
      .db.collection('entries')
      .insertOne({ _id: `${ID}/0000000000000001` as never, account: 'another', sequence: 1, kind: 'grant' });
    expect(await stores().accounts.apply(grants(account, FLUSH_FROM))).to.equal('applied');
    await place().settle();
    expect((await stored(place())).waiting).to.deep.equal(upTo(FLUSH_FROM));
  });
}

function interleaved(place: () => MongoPlace, forms: readonly [LedgerForm, LedgerForm]): void {
  it('shows readers no gap and no duplicate, in any order of reads, writes and flushes', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.scheduler(),
        fc.array(fc.integer({ min: FLUSH_FROM, max: 2 * FLUSH_FROM }), { minLength: 2, maxLength: 4 }),
        fc.integer({ min: 40, max: 400 }),
        async (scheduler, counts, limit) => {
          const calm = await place().open();
          await calm.accounts.create(anAccount(1));
          // To the scheduler a failure is an outcome like any other, since duplicates are expected.
          const around: Around = async (operation) => {
            const [outcome] = await scheduler.scheduleFunction(() => Promise.allSettled([operation()]))();
            if (outcome.status === 'rejected') throw outcome.reason;
            return outcome.value;
          };
          const [writer, mover, reader] = [...forms, forms[0]].map((form) => {
            place().ledgerForm = form;
            return place().another(around);
          }) as [MongoStores, MongoStores, MongoStores];
          let acknowledged = 0;
          const writing = new Set<MongoStores>([writer, mover]);
          const write = async (one: MongoStores): Promise<void> => {
            for (const count of counts) {
              await applied(one, (account) => grants(account, count));
              acknowledged += count;
            }
          };
          const read = async (): Promise<void> => {
            while (writing.size > 0) {
              const before = acknowledged;
              const seen = sequences(await ledgerOf(reader, limit));
              expect(seen).to.deep.equal(upTo(seen.length));
              expect(seen.length).to.be.at.least(before);
            }
          };
          // All of them end, even if one fails: work still in progress would disturb the next run.
          const outcomes = await scheduler.waitFor(
            Promise.allSettled([
              ...[writer, mover].map((one) => write(one).finally(() => writing.delete(one))),
              read(),
              read(),
            ]),
          );
          await scheduler.waitFor(place().settle());
          for (const outcome of outcomes) if (outcome.status === 'rejected') throw outcome.reason;
          expect(sequences(await ledgerOf(calm, limit))).to.deep.equal(
            upTo(2 * counts.reduce((sum, count) => sum + count, 0)),
          );
        },
      ),
      { numRuns: sizeOf('ledgerInterleavings') },
    );
  });
}

// Goal: an account whose ledger entries cannot be moved does not block those of other accounts, and is logged once.
// Method: an in-memory ledger whose flushes fail for chosen accounts.

describe('moving ledger entries by age', () => {
  const failures = new Map<string, Error>();
  let moved: string[];
  let warned: unknown[];
  let flushes: LedgerFlushes;

  beforeEach(() => {
    [moved, warned] = [[], []];
    failures.clear();
    flushes = new LedgerFlushes(
      {
        waitingSince: () => Promise.resolve(['broken', 'b', 'c']),
        flush: (accountId) => {
          const error = failures.get(accountId);
          if (error) return Promise.reject(error);
          moved.push(accountId);
          return Promise.resolve();
        },
      },
      {
        info: () => undefined,
        warn: (_, { accountId }) => {
          warned.push(accountId);
        },
      },
    );
  });

  it('continues with the others when one fails, and reports it until it succeeds', async () => {
    failures.set('broken', new Error('Entry 7 is there with other content.'));
    for (const round of [1, 2]) expect(await flushes.flushOld(0, 200), `round ${round}`).to.equal(2);
    expect([moved, warned]).to.deep.equal([['b', 'c', 'b', 'c'], ['broken']]);
    failures.clear();
    expect(await flushes.flushOld(0, 200)).to.equal(3);
    failures.set('broken', new Error('Entry 8 is there with other content.'));
    await flushes.flushOld(0, 200);
    expect(warned).to.deep.equal(['broken', 'broken']);
  });

  it('ends immediately when the database is unavailable', async () => {
    failures.set('broken', new StoreUnavailable('It does not answer.'));
    expect(await flushes.flushOld(0, 200).catch((error: unknown) => error)).to.be.instanceOf(StoreUnavailable);
    expect(moved).to.deep.equal([]);
  });
});

// Goal: old holds are listed completely and in order, however they are spread over time; a page takes few queries, and
// its cost depends on the holds near it, not on the total.
// Method: random holds at distances from zero to very long, compared with a sorted list; and a count of the holds in
// the range of each query.

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
        async (distances, limit, bound) => {
          const stores = await place().open();
          let last = 0;
          const times = distances.map((distanceMs) => (last += distanceMs));
          await hold(stores, times);
          const heldBefore = times[bound] ?? Number.MAX_SAFE_INTEGER;
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
