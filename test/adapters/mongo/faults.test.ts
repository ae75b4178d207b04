import { expect } from 'chai';
import {
  type BulkWriteResult,
  type CommandStartedEvent,
  MongoBulkWriteError,
  MongoClient,
  MongoInvalidArgumentError,
  MongoNetworkError,
  MongoNetworkTimeoutError,
  MongoNotConnectedError,
  MongoServerError,
  MongoServerSelectionError,
  MongoWriteConcernError,
  type ServerDescription,
  type TopologyDescription,
} from 'mongodb';
import { MongoConnection, storeError } from '../../../adapters/mongo/connection.js';
import { Documents } from '../../../adapters/mongo/documents.js';
import { migrateMongo, type MongoStores, openMongo, storesOver } from '../../../adapters/mongo/open-mongo.js';
import { CallOver } from '../../../core/cancellation.js';
import { StoreUnavailable } from '../../../core/errors.js';
import type { UseRow } from '../../../core/usage/usage.js';
import { TestedCall } from '../../fixtures/cancellation.js';
import {
  aChange,
  aClaim,
  aFingerprint,
  aGeneration,
  anAccount,
  anApiKey,
  anUpload,
  aProcessLease,
  aTombstone,
  ATTRIBUTION,
  uuidAt,
} from '../../fixtures/stored-records.js';
import { CommandLink, TcpLink } from '../../fixtures/tcp-link.js';
import { LAST_PAIR, MONGO_KINDS } from '../../harness/store-pairs.js';
import { freshDatabase, type FreshDatabase } from '../../servers/fresh-places.js';
import { mongoServer, type MongoServer, orSkip, toxiproxyServer, type ToxiproxyServer } from '../../servers/servers.js';

// Goal: a write of several documents whose connection is lost is reported as an outage, and nothing that depends on it is written. A
// write that the server has carried out, and that the driver repeats because the answer is lost, is reported as carried out.
// Method: a link to a real server that closes every connection at one command, or one connection at the answer to it, and passes all
// else on. The driver reports the first in the class of refused writes, without a refused write.

const ACCOUNT = anAccount(1, { issued: 100, available: 100 });
const USE: UseRow = {
  accountId: uuidAt(1),
  day: '2026-01-31',
  appUse: '',
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

// Goal: every call to MongoDB ends within its time limit when the link swallows everything, is cut or is slow, and
// works again once the link does; such a failure is reported as an outage.
// Method: a TCP proxy between the stores and a real server, with faults that are switched on and off. A call is shown
// to end in time by other stores with a much longer timeout, which still wait. Calls that must succeed are retried,
// since a busy machine may be slow.

const TIMEOUT_MS = 400;
const PATIENT_MS = 60 * TIMEOUT_MS;

/** One call of each kind on every store. */
const calls = (stores: MongoStores): readonly (() => Promise<unknown>)[] => [
  () => stores.accounts.read(uuidAt(1)),
  () => stores.accounts.create(anAccount(2)),
  () => stores.accounts.apply(aChange(anAccount(1))),
  () => stores.accounts.entries(uuidAt(1), { limit: 1 }),
  () => stores.accounts.holdsBefore(1, { limit: 1 }),
  () => stores.accounts.list({ limit: 1 }),
  () => stores.generations.insert(aGeneration(2)),
  () => stores.generations.due(1, 1),
  () => stores.uploads.replace(anUpload(1), 0),
  () => stores.claims.insert(aClaim(1)),
  () => stores.claims.removeExpired(1, 1),
  () => stores.fingerprints.read(aFingerprint(1).fingerprint),
  () => stores.fingerprints.replace(aFingerprint(2), 0),
  () => stores.fingerprints.replace(aFingerprint(2), 1),
  () => stores.fingerprints.removeExpired(1, 1),
  () => stores.fingerprints.removeOfAccount(uuidAt(1), 1),
  () => stores.fingerprints.renewLease(aProcessLease(1)),
  () => stores.fingerprints.readLease(uuidAt(1)),
  () => stores.credentials.findKey({ digest: anApiKey(1).digest }),
  () => stores.wakeUpTable.upsert(uuidAt(1), 1),
  () => stores.wakeUpTable.due(1, 1),
  () => stores.installation.claim({ secret: 's', objects: 'o' }),
];

/** Retries until the answer is not an outage. */
async function again<T>(ask: () => Promise<T>): Promise<T> {
  for (;;) {
    try {
      return await ask();
    } catch (error) {
      if (!(error instanceof StoreUnavailable)) throw error;
    }
  }
}

for (const lane of MONGO_KINDS) {
  describe(`The link to MongoDB, ${lane}`, () => {
    let server: MongoServer;
    let toxiproxy: ToxiproxyServer;
    let database: FreshDatabase;
    let link: TcpLink;
    let stores: MongoStores;
    let patient: MongoStores;
    let controls: Promise<void>[];

    function throughLink(timeoutMs: number): Promise<MongoStores> {
      const { host } = new URL(server.url);
      return openMongo({
        url: server.url.replace(host, link.address),
        database: database.database,
        timeoutMs,
        poolSize: 4,
      });
    }

    before(async function servers() {
      server = await orSkip(this, mongoServer(lane));
      toxiproxy = await orSkip(this, toxiproxyServer());
    });
    beforeEach(async () => {
      controls = [];
      database = freshDatabase(server);
      await migrateMongo(database);
      const { host } = new URL(server.url);
      link = await TcpLink.open(toxiproxy, host);
      stores = await again(() => throughLink(TIMEOUT_MS));
      patient = await throughLink(PATIENT_MS);
      await patient.generations.insert(aGeneration(1));
    });
    afterEach(async () => {
      await link.heal();
      await Promise.all([stores.close(), patient.close(), ...controls]);
      await link.close();
      await database.drop();
    });

    /** Begins to open stores with a much longer timeout than that of `stores`; returns whether they still wait. */
    function control(): () => boolean {
      let isWaiting = true;
      controls.push(
        throughLink(PATIENT_MS)
          .then((opened) => opened.close())
          .catch(() => undefined)
          .finally(() => {
            isWaiting = false;
          }),
      );
      return () => isWaiting;
    }

    async function expectOutage(): Promise<void> {
      const isControlWaiting = control();
      // More at once than there are connections, so that waiting for one is bounded too.
      const outcomes = await Promise.all(
        calls(stores).map((call) =>
          call().then(
            () => 'answered',
            (error: unknown) => error,
          ),
        ),
      );
      for (const [index, outcome] of outcomes.entries())
        expect(outcome, `call ${index}`).to.be.instanceOf(StoreUnavailable);
      expect(isControlWaiting(), 'stores with much more time').to.equal(true);
      expect(await stores.isReady()).to.equal(false);
    }

    async function expectRecovered(): Promise<void> {
      while (!(await stores.isReady()));
      expect(await again(() => stores.generations.read(uuidAt(1)))).to.deep.equal(aGeneration(1));
      for (const call of calls(stores)) await again(call);
    }

    it('swallows everything: every call ends in time as an outage, and works again afterwards', async () => {
      await link.swallow();
      await expectOutage();
      await link.heal();
      await expectRecovered();
    });

    it('swallows only answers: writes persist, and a repeat changes nothing', async () => {
      const direct = await openMongo({ url: server.url, database: database.database });
      let written: number | undefined;
      // A write that times out before the server performs it leaves nothing: then another is made, with more time.
      for (let [n, timeoutMs] = [5, TIMEOUT_MS]; written === undefined; [n, timeoutMs] = [n + 1, 2 * timeoutMs]) {
        const hasty = await again(() => throughLink(timeoutMs));
        await link.fail({ type: 'timeout', stream: 'downstream', attributes: { timeout: 0 } });
        expect(await hasty.generations.insert(aGeneration(n)).catch((error: unknown) => error)).to.be.instanceOf(
          StoreUnavailable,
        );
        if ((await direct.generations.read(uuidAt(n))) !== null) written = n;
        await link.heal();
        await hasty.close();
      }
      await direct.close();
      while (!(await stores.isReady()));
      expect(await again(() => stores.generations.insert(aGeneration(written, { version: 9 })))).to.deep.equal({
        inserted: false,
        existing: aGeneration(written),
      });
    });

    it('is cut: every call ends in time as an outage, and works again afterwards', async () => {
      await link.cut();
      await expectOutage();
      await link.heal();
      await expectRecovered();
    });

    it('is slower than every time limit: every call ends in time as an outage, and works again afterwards', async () => {
      await link.fail({ type: 'latency', stream: 'downstream', attributes: { latency: PATIENT_MS } });
      await expectOutage();
      await link.heal();
      await expectRecovered();
    });

    it('swallows everything: a read ends as soon as its call does, and not at the timeout of MongoDB', async () => {
      await patient.generations.read(uuidAt(1));
      await link.swallow();
      const ended = Array.from({ length: 3 }, () => new TestedCall());
      const reads = [
        patient.generations.read(uuidAt(1), ended[0]),
        patient.accounts.entries(uuidAt(1), { limit: 1 }, ended[1]),
        patient.credentials.listKeys(uuidAt(1), { limit: 1 }, ended[2]),
      ].map((read) => read.catch((error: unknown) => error));
      for (const call of ended) call.end();
      for (const outcome of await Promise.all(reads)) expect(outcome).to.be.instanceOf(CallOver);
      expect(ended.map(({ listeners }) => listeners)).to.deep.equal([0, 0, 0]);
    });

    it('does not keep the stores from closing while it swallows everything', async () => {
      await again(() => stores.accounts.create(anAccount(1)));
      await link.swallow();
      const isControlWaiting = control();
      await stores.close();
      expect(isControlWaiting(), 'stores with much more time').to.equal(true);
    });
  });
}

// Goal: a read passes the remaining time of its call to MongoDB, so that the server does not work for a client that has
// left; a write has the store's own time limit, for any call.
// Method: the commands that the driver sends to a real server, as the driver reports them.

const STORE_BOUND_MS = 3_600_000;
const CALL_MS = 600_000;

describe('Deadlines of calls, in MongoDB', () => {
  let server: MongoServer;
  before(async function servers() {
    server = await orSkip(this, mongoServer(LAST_PAIR.mongo));
  });

  it('go with the reads of the call, and not beyond the bound of the store', async () => {
    const database = freshDatabase(server);
    await migrateMongo(database);
    const connection = await MongoConnection.open(
      { ...database, timeoutMs: STORE_BOUND_MS },
      { monitorCommands: true },
    );
    const bounds: number[] = [];
    connection.db.client.on('commandStarted', ({ command }: CommandStartedEvent) => {
      bounds.push(Number(command['maxTimeMS']));
    });
    const { generations, accounts, credentials } = storesOver(connection, { form: 'grouped' });

    await generations.insert(aGeneration(1));
    await generations.read(uuidAt(1), new TestedCall());
    await generations.read(uuidAt(1), new TestedCall({ deadline: Date.now() + 2 * STORE_BOUND_MS }));
    expect(bounds.splice(0)).to.deep.equal([STORE_BOUND_MS, STORE_BOUND_MS, STORE_BOUND_MS]);

    const call = new TestedCall({ deadline: Date.now() + CALL_MS });
    await generations.read(uuidAt(1), call);
    await generations.list({ of: 'account', accountId: uuidAt(1) }, { limit: 1 }, call);
    await accounts.read(uuidAt(1), call);
    await accounts.entries(uuidAt(1), { limit: 1 }, call);
    await accounts.list({ limit: 1 }, call);
    await credentials.readApp(uuidAt(1), call);
    await credentials.listApps(uuidAt(1), { limit: 1 }, call);
    await credentials.listKeys(uuidAt(1), { limit: 1 }, call);
    expect(bounds).to.have.length(8);
    for (const bound of bounds) expect(bound).to.be.within(1, CALL_MS);

    await connection.close();
    await database.drop();
  });
});

// Goal: the documents of an unordered command are reported as inserted, or as refused for duplicate keys, only if the
// server has answered for each of them.
// Method: a collection whose command fails as the driver reports it.

const DOCUMENTS = [{ n: 0 }, { n: 1 }, { n: 2 }];

/** A command that inserted so many documents, and was refused those at some places with a code. */
function refused(insertedCount: number, places: readonly number[], code = 11_000): MongoBulkWriteError {
  const result = {
    insertedCount,
    getWriteErrors: () => places.map((index) => ({ code, index })),
    getWriteConcernError: () => undefined,
  };
  return new MongoBulkWriteError({ message: 'refused', code }, result as unknown as BulkWriteResult);
}

async function inserted(error?: unknown): Promise<unknown> {
  const collection = {
    insertMany: async () => {
      if (error !== undefined) throw error;
    },
  };
  const ask = async <T>(operation: (limits: object) => Promise<T>) => operation({ maxTimeMS: 1_000 });
  const connection = { collection: () => collection, ask } as unknown as MongoConnection;
  return new Documents(connection, 'entries').insertAll(DOCUMENTS).catch((thrown: unknown) => thrown);
}

describe('an insert of several documents in no order', () => {
  it('answers no place where all were inserted, and the places of taken keys', async () => {
    expect(await inserted()).to.deep.equal([]);
    expect(await inserted(refused(1, [0, 2]))).to.deep.equal([0, 2]);
  });

  it('is an outage where the server has not answered for each document', async () => {
    const error = refused(1, [0]);
    expect(await inserted(error))
      .to.be.instanceOf(StoreUnavailable)
      .and.have.property('cause', error);
  });

  it('throws the error itself where a document was refused for another reason, or none was', async () => {
    for (const error of [refused(2, [1], 121), refused(0, [])]) expect(await inserted(error)).to.equal(error);
  });
});

// Goal: a failure of the server, the link or the pool is an outage, whose outcome is unknown; an error of the program
// is passed on unchanged; an unknown code is an outage.
// Method: an error of each kind that the driver has, mapped.

const NO_TOPOLOGY = {
  type: 'Unknown',
  servers: new Map<string, ServerDescription>(),
} as unknown as TopologyDescription;
const answered = (code: number): MongoServerError => new MongoServerError({ message: `code ${code}`, code });
/** The driver's error for several refused writes; its own code is that of the first refusal. */
const refusedWrites = (
  codes: readonly number[],
  writeConcernError?: object,
  code = codes[0] ?? 0,
): MongoBulkWriteError => {
  const writeErrors = codes.map((one, index) => ({ code: one, index }));
  const result = { getWriteErrors: () => writeErrors, getWriteConcernError: () => writeConcernError };
  return new MongoBulkWriteError({ message: 'refused', code }, result as unknown as BulkWriteResult);
};
/** And of a command of several writes that failed as a whole. */
const refusedCommand = (code: number): MongoBulkWriteError => refusedWrites([], undefined, code);
const socketError = (code: string): Error => Object.assign(new Error(code), { code });

describe('An error of MongoDB', () => {
  const outages: Readonly<Record<string, unknown>> = {
    'a link that broke': new MongoNetworkError('reset'),
    'a link that is silent': new MongoNetworkTimeoutError('timed out'),
    'no server to be had': new MongoServerSelectionError('none', NO_TOPOLOGY),
    'a client that was closed': new MongoNotConnectedError('closed'),
    'no majority in time': new MongoWriteConcernError({
      ok: 1,
      writeConcernError: { code: 64, errmsg: 'waiting for replication timed out' },
    }),
    'several writes of which none was answered': refusedWrites([]),
    'several writes in a command that ran on a host that is away': refusedCommand(6),
    'several writes, the first under a taken key and the next on a host that is away': refusedWrites([11_000, 6]),
    'several writes, the first under a taken key and the next without space': refusedWrites([11_000, 14_031]),
    'several writes without a majority in time': refusedWrites([11_000], { code: 64 }),
    'a socket that was ended': socketError('EPIPE'),
    'a socket that was destroyed': socketError('ERR_STREAM_DESTROYED'),
    ...Object.fromEntries(
      [7, 50, 64, 89, 91, 112, 134, 189, 262, 9001, 10107, 11600, 11602, 13388, 13435, 13436, 14031, 999_999].map(
        (code) => [`code ${code}`, answered(code)],
      ),
    ),
  };
  for (const [name, error] of Object.entries(outages)) {
    it(`is an outage, with the error as its cause, for ${name}`, () => {
      expect(storeError(error)).to.be.instanceOf(StoreUnavailable).and.have.property('cause', error);
    });
  }

  const mistakes: Readonly<Record<string, unknown>> = {
    'an argument the driver refuses': new MongoInvalidArgumentError('no'),
    'an argument Node refuses': Object.assign(new TypeError('no'), { code: 'ERR_INVALID_ARG_TYPE' }),
    'several writes under taken keys': refusedWrites([11_000, 11_000]),
    'several writes in a command that is wrong': refusedCommand(2),
    'several writes, one of which is wrong': refusedWrites([11_000, 121]),
    'a broken invariant': new Error('Broken invariant'),
    ...Object.fromEntries([2, 9, 14, 40, 52, 121, 10334, 11000, 17419].map((code) => [`code ${code}`, answered(code)])),
  };
  for (const [name, error] of Object.entries(mistakes)) {
    it(`is passed on unchanged for ${name}`, () => {
      expect(storeError(error)).to.equal(error);
    });
  }

  it('has the name that the server gives it, so that missing rights are not mistaken for a broken link', () => {
    const refusal = new MongoServerError({ message: 'not authorized on darkroom', code: 13, codeName: 'Unauthorized' });
    expect(storeError(refusal)).to.have.property('message', 'MongoDB could not answer (Unauthorized).');
  });

  it('is passed on unchanged if it is already an outage', () => {
    const error = new StoreUnavailable('late');
    expect(storeError(error)).to.equal(error);
  });
});
