// Goal: what an erasure removes is gone from every file, document, object and log line, byte by byte; the credits stay and
// still balance; and an erasure is completed wherever its process ends.
// Method: an account, people and generations full of distinct texts over every set of stores, on a clock that only the test
// moves. All stored bytes are searched for each text, raw and encoded, before and after; processes die at calls of the stores.
import { Metadata } from '@grpc/grpc-js';
import { expect } from 'chai';
import fc from 'fast-check';
import { type ApiKey, type Caller, SCOPES } from '../../core/access/credential.js';
import { Authenticator } from '../../core/access/authenticate.js';
import { createApp, createKey, renameAccount, resumeAccount } from '../../core/access/manage.js';
import { adjustCredits, grantCredits } from '../../core/credits/operate.js';
import { eraseAccount, erasePerson, eraseTrace, findErasure } from '../../core/erasure/request-erasure.js';
import { cancelAnyGeneration } from '../../core/generation/end-generation.js';
import type { Generation } from '../../core/generation/generation.js';
import { findGrant, listGrants } from '../../core/people/grants.js';
import { changePerson, createPerson } from '../../core/people/manage-people.js';
import { demotePerson } from '../../core/people/operators.js';
import type { ListedGenerations } from '../../core/ports/stores.js';
import { Recovery } from '../../core/recovery/recover.js';
import { createEndpoint } from '../../core/webhooks/manage-endpoints.js';
import { ActingFor } from '../../apps/grpc/callers.js';
import { onMongo } from '../adapters/mongo/on-mongo.js';
import { codeOf } from '../fixtures/memory-stores.js';
import { plainImage } from '../fixtures/plain-media.js';
import { type Cut, cutting } from '../harness/core-harness.js';
import { forAll } from '../harness/for-all.js';
import { sizeOf } from '../harness/run-sizes.js';
import { orSkip, s3Server, type S3Server } from '../servers/servers.js';
import {
  booksOf,
  create,
  createRunning,
  expectVerified,
  fill,
  type Filled,
  found,
  inMemory,
  MINUTE_MS,
  NOTHING,
  OF_THE_PERSON,
  OF_THE_TRACE,
  type Open,
  recover,
  sendUpload,
  type Texts,
  textsOf,
  withStores,
} from './erasure-harness.js';
import { openMemoryStores, openMongoStores, openSqliteStores, type StoreHarness } from './store-harness.js';

function onEveryStore(open: () => Open): void {
  it('erases an account from every byte, and leaves another one and all credits as they were', () =>
    withStores(open(), async (harness) => {
      const [mine, other] = [await fill(harness, 'ada'), await fill(harness, 'bob')];
      const stored = await found(harness, mine.texts);
      expect([...stored.keys()], 'all of them are found before').to.have.members(Object.keys(mine.texts));
      const [books, others] = [await booksOf(harness, mine), await booksOf(harness, other)];
      const { accountId } = mine.caller;
      await eraseAccount(harness.context, accountId);
      // Nothing of it has to wait, so that the first round is enough for all but the names of connected programs.
      await recover(harness, harness.context, 0.4);
      expect([...(await found(harness, mine.texts)).keys()]).to.deep.equal(['program']);
      expect(await findErasure(harness.context, accountId))
        .to.include({ round: 2 })
        .and.have.property('erasedAt');
      await recover(harness);
      expect(await found(harness, mine.texts)).to.deep.equal(NOTHING);
      expect((await findErasure(harness.context, accountId)).step).to.equal('done');
      expect(await booksOf(harness, mine)).to.deep.equal(books);
      expect(await booksOf(harness, other)).to.deep.equal(others);
      expect([...(await found(harness, other.texts)).keys()]).to.have.members([...stored.keys()]);
      await expectVerified(harness);
    }));

  it('erases a person from every byte, and leaves what their account made', () =>
    withStores(open(), async (harness) => {
      const mine = await fill(harness, 'ada');
      const stored = [...(await found(harness, mine.texts)).keys()];
      await erasePerson(harness.context, mine.personId);
      await recover(harness);
      const left = [...(await found(harness, mine.texts)).keys()];
      // The App of the program that they connected is the account's, and keeps the program's name.
      expect(left).to.have.members(stored.filter((name) => name === 'program' || !OF_THE_PERSON.includes(name)));
      expect((await findErasure(harness.context, mine.personId)).step).to.equal('done');
      await expectVerified(harness);
    }));

  it('erases one trace from every byte, and leaves the other generations', () =>
    withStores(open(), async (harness) => {
      const mine = await fill(harness, 'ada');
      const later = {
        ...mine,
        texts: {
          ...mine.texts,
          prompt: 'another prompt',
          negative: 'no',
          style: 'plain',
          ownUrl: 'https://example.org/kept',
        },
      };
      harness.provider.newOutputs = () => [plainImage(64, 64, 'image/png', 'another output')];
      harness.receiver.receive = () => ({ status: 204 });
      const kept = await create(harness, later, 'another-trace');
      await harness.clock.advance(MINUTE_MS);
      const stored = [...(await found(harness, mine.texts)).keys()];
      const books = await booksOf(harness, mine);
      const { erasureId } = await eraseTrace(harness.context, mine.caller.accountId, mine.texts.trace);
      // Its upload was used just before, which the first round waits an hour for.
      await recover(harness, harness.context, 3);
      const left = [...(await found(harness, mine.texts)).keys()];
      expect(left).to.have.members(stored.filter((name) => !OF_THE_TRACE.includes(name)));
      expect((await findErasure(harness.context, erasureId)).step).to.equal('done');
      expect(await harness.context.generations.read(kept.generationId)).to.include({ clientTraceId: 'another-trace' });
      expect(await booksOf(harness, mine)).to.deep.equal(books);
      await expectVerified(harness);
    }));
}

function requests(): void {
  it('can be made again and return the same state, also when they are done', () =>
    inMemory(async (harness) => {
      const { context } = harness;
      const { caller, personId, texts } = await fill(harness, 'ada');
      const make = [
        () => eraseTrace(context, caller.accountId, texts.trace),
        () => erasePerson(context, personId),
        () => eraseAccount(context, caller.accountId),
      ];
      for (const request of make) {
        const first = await request();
        expect(await request()).to.deep.equal(first);
        expect(first).to.include({ round: 1, step: 'content', accountId: caller.accountId });
      }
      await recover(harness, context, 3);
      expect(await findErasure(context, caller.accountId)).to.include({ step: 'done' });
      const person = await erasePerson(context, personId);
      expect(person).to.include({ step: 'done' }).and.not.have.any.keys('clientTraceId');
    }));

  it('of an account begin again once an earlier one is done, for what was written since', () =>
    inMemory(async (harness) => {
      const { context } = harness;
      const { caller, texts } = await fill(harness, 'ada');
      const first = await eraseAccount(context, caller.accountId);
      await recover(harness, context, 3);
      // As a request writes that was accepted before.
      await sendUpload(harness, caller, texts);
      await createEndpoint(context, caller, { url: texts.endpoint });
      const again = await eraseAccount(context, caller.accountId);
      expect(again).to.include({ step: 'content', round: 1 });
      expect(again.requestedAt).to.be.above(first.requestedAt);
      await recover(harness, context, 3);
      expect(await found(harness, texts)).to.deep.equal(NOTHING);
      expect((await findErasure(context, caller.accountId)).step).to.equal('done');
    }));

  it('of one trace begin again once an earlier one is done', () =>
    inMemory(async (harness) => {
      const mine = await fill(harness, 'ada');
      const request = () => eraseTrace(harness.context, mine.caller.accountId, mine.texts.trace);
      const { erasureId } = await request();
      await recover(harness, harness.context, 3);
      await create(harness, mine, mine.texts.trace);
      await harness.clock.advance(MINUTE_MS);
      expect([...(await found(harness, mine.texts)).keys()]).to.include.members(['trace', 'prompt', 'output']);
      expect(await request()).to.include({ erasureId, step: 'content', round: 1 });
      await recover(harness);
      expect([...(await found(harness, mine.texts)).keys()]).to.not.have.any.members(OF_THE_TRACE);
      await expectVerified(harness);
    }));

  it('are refused for what does not exist, for operators, and for a trace of an account that is erased', () =>
    inMemory(async (harness) => {
      const { context } = harness;
      const { caller, personId, texts } = await fill(harness, 'ada');
      const { accountId } = caller;
      const unknown = context.ids.uuid();
      await changePerson(context, personId, (person) => ({ ...person, operatorSince: 5 }));
      expect([
        await codeOf(eraseAccount(context, unknown)),
        await codeOf(erasePerson(context, unknown)),
        await codeOf(eraseTrace(context, unknown, texts.trace)),
        await codeOf(findErasure(context, unknown)),
        await codeOf(eraseTrace(context, accountId, '')),
        await codeOf(eraseTrace(context, accountId, 'x'.repeat(129))),
        await codeOf(eraseAccount(context, accountId)),
        await codeOf(erasePerson(context, personId)),
      ]).to.deep.equal([
        ...Array<string>(4).fill('NOT_FOUND'),
        'FIELD_INVALID',
        'FIELD_INVALID',
        'CONFLICT',
        'CONFLICT',
      ]);
      await demotePerson(context, personId);
      await eraseAccount(context, accountId);
      expect(await codeOf(eraseTrace(context, accountId, texts.trace))).to.equal('CONFLICT');
    }));

  it('end access at once, and nothing can be done with an erased account any more', () =>
    inMemory(async (harness) => {
      const { context } = harness;
      const mine = await fill(harness, 'ada');
      const { accountId, appId } = mine.caller;
      const { secret } = await createKey(context, { appId, name: 'used' });
      const authenticator = new Authenticator(context);
      const acting = new ActingFor(context);
      const service = { name: 'studio', scopes: SCOPES };
      const about = new Metadata();
      about.set('darkroom-account-id', accountId);
      about.set('darkroom-app-id', appId);
      await authenticator.authenticate(secret);
      await acting.caller(service, about);
      await eraseAccount(context, accountId);
      await harness.clock.advance(5_000);
      expect(await codeOf(authenticator.authenticate(secret))).to.equal('DEVELOPER_TOKEN_REVOKED');
      const refused = { accountId, operationId: 'late', credits: 1, reason: 'late' };
      for (const [step, code] of [
        ['soon', 'CONFLICT'],
        ['done', 'CONFLICT'],
      ] as const) {
        expect(
          [
            await codeOf(grantCredits(context, refused)),
            await codeOf(adjustCredits(context, refused)),
            await codeOf(resumeAccount(context, accountId)),
            await codeOf(renameAccount(context, accountId, 'other')),
            await codeOf(createApp(context, { accountId, name: 'other' })),
            await codeOf(createKey(context, { appId, name: 'other' })),
            await codeOf(createPerson(context, { accountId, email: 'other@example.org' })),
          ],
          step,
        ).to.deep.equal(Array<string>(7).fill(code));
        expect(await codeOf(create(harness, mine, 'late')), step).to.equal('DEVELOPER_TOKEN_REVOKED');
        for (const write of [
          (caller: Caller) => sendUpload(harness, caller, mine.texts),
          (caller: Caller) => createEndpoint(context, caller, { url: mine.texts.endpoint }),
        ])
          expect(await codeOf(acting.caller(service, about).then<unknown>(write)), step).to.equal('NOT_FOUND');
        await recover(harness);
      }
      expect(await codeOf(authenticator.authenticate(secret))).to.equal('DEVELOPER_TOKEN_REVOKED');
    }));

  it('of a person refuse the tokens of their programs at once', () =>
    inMemory(async (harness) => {
      const { context } = harness;
      const { personId } = await fill(harness, 'ada');
      const [grant] = await listGrants(context, { personId });
      await erasePerson(context, personId);
      await harness.clock.run(new Recovery(context).pass());
      expect((await findGrant(context, grant?.grantId ?? ''))?.endedAt).to.be.a('number');
      expect(await context.people.read(personId)).to.equal(null);
      await recover(harness);
      expect(await findGrant(context, grant?.grantId ?? '')).to.equal(undefined);
    }));
}

function openWork(): void {
  for (const what of ['account', 'trace'] as const)
    it(`is stopped before its ${what} is erased, and charged as a cancelled one is`, () =>
      inMemory(async (harness) => {
        const mine = await fill(harness, 'ada');
        const { accountId } = mine.caller;
        const before = (await harness.context.accounts.read(accountId))!;
        const { generationId } = await createRunning(harness, mine);
        if (what === 'account') await eraseAccount(harness.context, accountId);
        else await eraseTrace(harness.context, accountId, mine.texts.trace);
        await recover(harness);
        expect([...(await found(harness, mine.texts)).keys()]).to.not.have.any.members(OF_THE_TRACE);
        expect(await harness.context.generations.read(generationId)).to.include({ kind: 'expired' });
        const { holds, spent, available } = (await harness.context.accounts.read(accountId))!;
        expect({ held: holds.size, spent, available }).to.deep.equal({
          held: 0,
          spent: before.spent,
          available: before.available,
        });
        await expectVerified(harness);
      }));

  it('that needs an upload of an erased trace keeps it until its end', () =>
    inMemory(async (harness) => {
      const mine = await fill(harness, 'ada');
      const uploadId = await sendUpload(harness, mine.caller, mine.texts);
      await create(harness, mine, mine.texts.trace, [uploadId]);
      await harness.clock.advance(MINUTE_MS);
      harness.provider.newReport = () => ({ state: 'running' });
      const { generationId } = await create(harness, mine, 'another-trace', [uploadId]);
      await harness.clock.advance(MINUTE_MS);
      await eraseTrace(harness.context, mine.caller.accountId, mine.texts.trace);
      await harness.clock.run(new Recovery(harness.context).pass());
      expect(await harness.context.uploads.read(uploadId)).to.include({ status: 'ready' });
      await cancelAnyGeneration(harness.context, generationId);
      await recover(harness);
      expect(await harness.context.uploads.read(uploadId)).to.include({ kind: 'expired' });
      await expectVerified(harness);
    }));
}

/** The calls on the stores that an erasure makes in a filled account, at least. */
const CALLS = { account: 230, person: 110, trace: 170 } as const;

const ERASED = fc.constantFrom<keyof typeof CALLS>('account', 'person', 'trace');

function requestFor(context: StoreHarness['context'], what: keyof typeof CALLS, { caller, personId, texts }: Filled) {
  if (what === 'account') return eraseAccount(context, caller.accountId);
  return what === 'person' ? erasePerson(context, personId) : eraseTrace(context, caller.accountId, texts.trace);
}

const GONE: Readonly<Record<keyof typeof CALLS, readonly (keyof Texts)[]>> = {
  account: Object.keys(textsOf('')) as (keyof Texts)[],
  // The App of the program that they connected is the account's, and keeps the program's name.
  person: OF_THE_PERSON.filter((name) => name !== 'program'),
  trace: OF_THE_TRACE,
};

function deaths(): void {
  it('is completed, with the same credits, wherever its process dies', () =>
    forAll(
      sizeOf('erasuresCut'),
      [ERASED, fc.double({ min: 0, max: 1, noNaN: true }), fc.constantFrom<Cut>('before', 'after')],
      (what, at, cut) =>
        inMemory(async (harness) => {
          const mine = await fill(harness, 'ada');
          const { accountId } = mine.caller;
          const before = (await harness.context.accounts.read(accountId))!;
          if (what !== 'person') await createRunning(harness, mine);
          const dying = harness.process(cutting(Math.floor(at * CALLS[what]), cut, { dies: true }));
          await requestFor(dying, what, mine).catch(() => undefined);
          await recover(harness, dying).catch(() => undefined);
          const { erasures } = harness.context;
          const written = () => erasures.due(Number.MAX_SAFE_INTEGER, 10);
          if ((await written()).length === 0) await requestFor(harness.context, what, mine);
          await recover(harness, harness.context, 3);
          expect([...(await found(harness, mine.texts)).keys()]).to.not.have.any.members([...GONE[what], '']);
          expect((await written()).map(({ step }) => step)).to.satisfy((steps: string[]) =>
            steps.every((step) => step === 'done'),
          );
          const { holds, spent, issued } = (await harness.context.accounts.read(accountId))!;
          expect({ held: holds.size, spent, issued }).to.deep.equal({
            held: 0,
            spent: before.spent,
            issued: before.issued,
          });
          await expectVerified(harness);
        }),
    ));

  it('is carried out once by several processes that work on it at the same time', () =>
    inMemory(async (harness) => {
      const mine = await fill(harness, 'ada');
      await createRunning(harness, mine);
      const books = await booksOf(harness, mine);
      await eraseAccount(harness.context, mine.caller.accountId);
      const processes = [1, 2, 3].map(() => new Recovery(harness.process()));
      for (let minutes = 0; minutes < 120; minutes += 5) {
        await harness.clock.advance(5 * MINUTE_MS);
        await harness.clock.run(Promise.all(processes.map((recovery) => recovery.pass())));
      }
      expect(await found(harness, mine.texts)).to.deep.equal(NOTHING);
      expect(await findErasure(harness.context, mine.caller.accountId)).to.include({ step: 'done' });
      expect((await booksOf(harness, mine)).spent).to.equal(books.spent);
      await expectVerified(harness);
    }));
}

/** A write to a key as a use of it makes one. */
async function noteUse({ credentials }: StoreHarness['context'], keyId: string, lastUsedAt: number): Promise<void> {
  const key = (await credentials.findKey({ keyId }))!;
  await credentials.replaceKey({ ...key, lastUsedAt, version: key.version + 1 }, key.version);
}

function concurrency(): void {
  it('of a person removes the address from the name of a key that is used meanwhile', () =>
    forAll(8, [fc.nat(8)], (uses) =>
      inMemory(async (harness) => {
        const { context } = harness;
        const mine = await fill(harness, 'ada');
        let left = uses;
        const erasing = harness.process(async (call) => {
          if (call.name !== 'credentials.replaceKey' || left === 0) return call.proceed();
          left -= 1;
          await noteUse(context, (call.args[0] as ApiKey).keyId, left);
          return call.proceed();
        });
        await erasePerson(erasing, mine.personId);
        await recover(harness, erasing);
        expect(left).to.equal(0);
        expect([...(await found(harness, mine.texts)).keys()]).to.not.include('email');
        expect((await findErasure(context, mine.personId)).step).to.equal('done');
      }),
    ));

  for (const hours of [0, 2])
    it(`of a trace leaves an upload that a generation takes meanwhile, last used ${hours} hours before`, () =>
      inMemory(async (harness) => {
        const { context } = harness;
        const mine = await fill(harness, 'ada');
        const uploadId = await sendUpload(harness, mine.caller, mine.texts);
        await create(harness, mine, mine.texts.trace, [uploadId]);
        await harness.clock.advance(MINUTE_MS + hours * 60 * MINUTE_MS);
        harness.provider.newReport = () => ({ state: 'running' });
        let taken: Promise<Generation> | undefined;
        const erasing = harness.process(async (call) => {
          const result = await call.proceed();
          const wanted = call.name === 'generations.list' ? (call.args[0] as ListedGenerations) : undefined;
          if (wanted?.of === 'app' && wanted.only?.field === 'status' && wanted.only.value === 'running')
            await (taken ??= create(harness, mine, 'another-trace', [uploadId]));
          return result;
        });
        await eraseTrace(context, mine.caller.accountId, mine.texts.trace);
        await harness.clock.run(new Recovery(erasing).pass());
        const { generationId } = await (taken ??= create(harness, mine, 'another-trace', [uploadId]));
        await harness.clock.advance(MINUTE_MS);
        await harness.clock.run(new Recovery(erasing).pass());
        expect(await context.generations.read(generationId)).to.include({ status: 'running' });
        expect(await context.uploads.read(uploadId)).to.include({ status: 'ready' });
        await cancelAnyGeneration(context, generationId);
        await recover(harness, context, 3);
        expect(await context.uploads.read(uploadId)).to.include({ kind: 'expired' });
        expect([...(await found(harness, mine.texts)).keys()]).to.not.include('trace');
      }));

  for (const what of ['account', 'trace'] as const)
    it(`of an ${what === 'account' ? 'account' : 'account’s trace'} erases all but a generation that cannot be changed`, () =>
      inMemory(async (harness) => {
        const { context } = harness;
        const mine = await fill(harness, 'ada');
        const { accountId } = mine.caller;
        const all = [await create(harness, mine, mine.texts.trace), await create(harness, mine, mine.texts.trace)];
        await harness.clock.advance(MINUTE_MS);
        const { generationId: stuck } = all[1]!;
        const failing = harness.process(async (call) => {
          const [record] = call.args as [Generation];
          if (call.name === 'generations.replace' && record.generationId === stuck) throw new Error('Not possible.');
          return call.proceed();
        });
        const { erasureId } = await requestFor(context, what, mine);
        await recover(harness, failing);
        expect(await context.generations.read(all[0]!.generationId)).to.include({ kind: 'expired' });
        expect(await context.generations.read(stuck)).to.include({ kind: 'generation' });
        expect(await findErasure(context, erasureId)).to.include({ step: 'content', round: 1 });
        expect(harness.logged.filter((line) => line.includes('part of an erasure')).join()).to.include(stuck);
        await recover(harness, context, 3);
        expect(await context.generations.read(stuck)).to.include({ kind: 'expired' });
        expect((await findErasure(context, erasureId)).step).to.equal('done');
        if (what === 'account') expect((await context.accounts.read(accountId))!.holds.size).to.equal(0);
        await expectVerified(harness);
      }));
}

function files(): void {
  it('has the files written again once in each round, however long their log cannot be emptied', () =>
    inMemory(async (harness) => {
      const { personId } = await fill(harness, 'ada');
      const calls: string[] = [];
      let isRead = true;
      const erasing = harness.process(async (call) => {
        if (!/erasures\.(removeRemains|emptyLog)/.test(call.name)) return call.proceed();
        calls.push(call.name);
        return isRead && call.name === 'erasures.emptyLog' ? 'later' : call.proceed();
      });
      await erasePerson(erasing, personId);
      await recover(harness, erasing, 1);
      expect(await findErasure(erasing, personId)).to.include({ step: 'log', round: 1 });
      expect(calls.filter((name) => name === 'erasures.removeRemains').length).to.equal(1);
      expect(calls.length).to.be.above(2);
      isRead = false;
      await recover(harness, erasing);
      expect(await findErasure(erasing, personId)).to.include({ step: 'done' });
      expect(calls.filter((name) => name === 'erasures.removeRemains').length).to.equal(2);
    }));

  it('is completed where they cannot be written again, and the log says so', () =>
    inMemory(async (harness) => {
      const { personId } = await fill(harness, 'ada');
      const erasing = harness.process(async (call) =>
        call.name === 'erasures.removeRemains' ? 'no-space' : call.proceed(),
      );
      await erasePerson(erasing, personId);
      await recover(harness, erasing);
      expect(await findErasure(erasing, personId)).to.include({ step: 'done' });
      const warnings = harness.logged.filter((line) => line.startsWith('database file not rewritten'));
      expect(warnings.length).to.equal(2);
      expect(warnings[0]).to.include('no-space');
    }));
}

describe('an erasure', () => {
  describe('requests', () => requests());
  describe('open work', () => openWork());
  describe('a process that ends', () => deaths());
  describe('beside other work', () => concurrency());
  describe('the files of the store', () => files());
  describe('in memory', () => onEveryStore(() => openMemoryStores));
  describe('in SQLite and files', () => onEveryStore(() => openSqliteStores));
});

onMongo('An erasure', (place, lane) => {
  const kind = lane === 'replica-set' ? 'minio' : 'versitygw';
  let server: S3Server;
  before(async function findServer() {
    server = await orSkip(this, s3Server(kind));
  });
  onEveryStore(() => (clock) => openMongoStores(place(), server, clock));
});
