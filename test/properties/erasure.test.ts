// Goal: what an erasure removes is gone from every file, document, object and log line, byte by byte; the credits stay and
// still balance; and an erasure is completed wherever its process ends.
// Method: an account, people and generations full of distinct texts over every set of stores, on a clock that only the test
// moves. All stored bytes are searched for each text, raw and encoded, before and after; processes die at calls of the stores.
import { expect } from 'chai';
import fc from 'fast-check';
import { type Caller, SCOPES } from '../../core/access/credential.js';
import { Authenticator } from '../../core/access/authenticate.js';
import { createApp, createKey, renameAccount, resumeAccount } from '../../core/access/manage.js';
import { adjustCredits, grantCredits } from '../../core/credits/operate.js';
import { verifyCredits } from '../../core/credits/verify.js';
import { eraseAccount, erasePerson, eraseTrace, findErasure } from '../../core/erasure/request-erasure.js';
import { createGeneration } from '../../core/generation/create-generation.js';
import { cancelAnyGeneration } from '../../core/generation/end-generation.js';
import type { Generation } from '../../core/generation/generation.js';
import { createGrant, findGrant, listGrants } from '../../core/people/grants.js';
import { changePerson, createPerson } from '../../core/people/manage-people.js';
import { demotePerson } from '../../core/people/operators.js';
import { beginSession } from '../../core/people/sessions.js';
import { createSignInLink } from '../../core/people/sign-in.js';
import { mayBeMore, Recovery } from '../../core/recovery/recover.js';
import { completeUpload } from '../../core/uploads/complete-upload.js';
import { prepareUpload } from '../../core/uploads/prepare-upload.js';
import { projectUsage } from '../../core/usage/project-usage.js';
import { createEndpoint, DEFAULT_ENDPOINT, rotateSecret } from '../../core/webhooks/manage-endpoints.js';
import { onMongo } from '../adapters/mongo/on-mongo.js';
import { streamOf } from '../fixtures/byte-streams.js';
import type { ManualClock } from '../fixtures/clocks.js';
import { codeOf, newOwner } from '../fixtures/memory-stores.js';
import { plainImage } from '../fixtures/plain-media.js';
import { type Cut, cutting } from '../harness/core-harness.js';
import { Work } from '../harness/darkroom.js';
import { forAll } from '../harness/for-all.js';
import { sizeOf } from '../harness/run-sizes.js';
import { orSkip, s3Server, type S3Server } from '../servers/servers.js';
import {
  type OpenedStores,
  openMemoryStores,
  openMongoStores,
  openSqliteStores,
  StoreHarness,
} from './store-harness.js';

const MINUTE_MS = 60_000;

/** Texts of one account: each is stored somewhere, and found nowhere else. */
function textsOf(name: string) {
  const of = (what: string) => `${what}-of-${name}-Zq7`;
  return {
    accountName: of('account'),
    appName: of('app'),
    keyName: of('key'),
    email: `${of('mail').toLowerCase()}@example.org`,
    operation: of('operation'),
    reason: of('reason'),
    program: of('program'),
    browser: of('browser'),
    endpoint: `https://example.org/${of('endpoint')}`,
    description: of('description'),
    ownUrl: `https://example.org/${of('own-url')}`,
    filename: `${of('file')}.png`,
    upload: of('upload'),
    prompt: of('prompt'),
    negative: of('negative'),
    style: of('style'),
    trace: of('trace'),
    output: of('output'),
    silentKey: of('silent-key'),
  };
}

type Texts = ReturnType<typeof textsOf>;

interface Filled {
  readonly caller: Caller;
  readonly personId: string;
  readonly texts: Texts;
}

async function sendUpload(harness: StoreHarness, caller: Caller, { filename, upload: note }: Texts): Promise<string> {
  const { context, ids } = harness;
  const bytes = plainImage(64, 64, 'image/png', note);
  const body = { filename, media_type: 'image/png', byte_size: bytes.byteLength, role: 'reference_image' };
  const { upload } = await prepareUpload(context, caller, ids.uuid(), body);
  await context.objects.write(upload.stagingKey, streamOf(bytes), { mediaType: 'image/png', maxBytes: 10_000 });
  await completeUpload(context, caller, ids.uuid(), upload.uploadId, {});
  return upload.uploadId;
}

async function create(
  harness: StoreHarness,
  { caller, texts }: Omit<Filled, 'personId'>,
  trace: string,
  uploads: string[] = [],
) {
  const body = {
    model_key: 'plain-image',
    operation: 'image_generation',
    prompt: `A ${texts.prompt} by the sea`,
    negative_prompt: texts.negative,
    parameters: { style: texts.style },
    client_trace_id: trace,
    ...(uploads.length === 0 ? {} : { reference_upload_ids: uploads }),
  };
  return (await createGeneration(harness.context, caller, harness.ids.uuid(), body, { webhookUrl: texts.ownUrl }))
    .generation;
}

/** An account with a person, keys, webhooks, uploads, and a generation that has ended and is settled. */
async function fill(harness: StoreHarness, name: string): Promise<Filled> {
  const { context } = harness;
  const texts = textsOf(name);
  const owner = await newOwner(context, texts.accountName, 0);
  const { accountId } = owner;
  await grantCredits(context, { accountId, operationId: texts.operation, credits: 100, reason: texts.reason });
  await adjustCredits(context, { accountId, operationId: `${texts.operation} 2`, credits: -1, reason: texts.reason });
  const app = await createApp(context, { accountId, name: texts.appName });
  const { key } = await createKey(context, { appId: app.appId, name: texts.keyName });
  await createKey(context, { appId: app.appId, name: `${texts.email} laptop` });
  const person = await createPerson(context, { accountId, email: texts.email, password: 'correct horse battery' });
  await beginSession(context, person, { method: 'password', userAgent: texts.browser });
  await createSignInLink(context, person.personId);
  await context.people.insertIdentity({
    issuer: 'https://id.example',
    subject: texts.email,
    personId: person.personId,
    linkedAt: 5,
  });
  const wanted = { clientId: 'c', clientName: texts.program, audience: 'rest', asked: SCOPES, ticked: SCOPES } as const;
  await createGrant(context, person, wanted);
  const caller = { accountId, appId: app.appId, credentialId: key.keyId, scopes: SCOPES };
  await createEndpoint(context, caller, { url: texts.endpoint, description: texts.description });
  await rotateSecret(context, caller, DEFAULT_ENDPOINT);
  // Kept for longer than the erasure takes, so that only the erasure removes it.
  await context.fingerprints.replace(
    {
      fingerprint: context.digests.ofJson(texts.silentKey),
      accountId,
      version: 1,
      creates: [{ key: texts.silentKey, createdAt: context.clock.now(), waits: [] }],
      removeAt: context.clock.now() + context.settings.claimRetentionMs,
    },
    0,
  );
  harness.provider.newOutputs = () => [plainImage(64, 64, 'image/png', texts.output)];
  const used = await sendUpload(harness, caller, texts);
  const filled = { caller, texts, personId: person.personId };
  await create(harness, filled, texts.trace, [used]);
  await harness.clock.advance(MINUTE_MS);
  const { lastSequence } = (await context.accounts.read(accountId))!;
  for (const list of ['uses', 'traces'] as const)
    await projectUsage(context, { accountId, list, through: lastSequence });
  return filled;
}

/** A text as it might be stored: in UTF-8 and UTF-16, and in base64 at each of the three places a byte can have. */
function formsOf(text: string): Buffer[] {
  const inBase64 = [0, 1, 2].map((before) => {
    const encoded = Buffer.concat([Buffer.alloc(before), Buffer.from(text)]).toString('base64');
    return Buffer.from(encoded.slice(before === 0 ? 0 : 4, Math.floor((before + text.length) / 3) * 4));
  });
  return [Buffer.from(text), Buffer.from(text, 'utf16le'), Buffer.from(Buffer.from(text).toString('hex')), ...inBase64];
}

/** The names of the texts that are stored or logged somewhere, with the place of each. */
async function found(harness: StoreHarness, texts: Texts): Promise<Map<string, string>> {
  const contents = new Map([...(await harness.contents()), ['log', Buffer.from(harness.logged.join('\n'))]]);
  const places = new Map<string, string>();
  for (const [name, text] of Object.entries(texts))
    for (const form of formsOf(text))
      for (const [place, bytes] of contents) if (bytes.includes(form)) places.set(name, place);
  return places;
}

const NOTHING = new Map<string, string>();

/** Runs recovery often enough for both rounds of an erasure, in steps that are no leaps of the clock. */
async function recover(harness: StoreHarness, context = harness.context, hours = 2): Promise<void> {
  const recovery = new Recovery(context);
  for (let minutes = 0; minutes < hours * 60; minutes += 20) {
    await harness.clock.advance(20 * MINUTE_MS);
    while (mayBeMore(await harness.clock.run(recovery.pass()), context.settings.recoveryBatch));
  }
}

type Open = (clock: ManualClock) => Promise<OpenedStores>;

async function withStores(open: Open, test: (harness: StoreHarness) => Promise<void>): Promise<void> {
  const harness = await StoreHarness.open(open);
  const work = new Work(harness.context, 'worker');
  await work.start(100);
  try {
    await test(harness);
  } finally {
    await harness.context.wakeUps.stop();
    await harness.close();
  }
}

async function booksOf({ context }: StoreHarness, { caller: { accountId } }: Filled) {
  const { issued, available, reserved, spent, lastSequence } = (await context.accounts.read(accountId))!;
  const { items } = await context.accounts.entries(accountId, { limit: 1_000 });
  const moves = items.map(({ kind, from, to, credits, at, sequence, generationId }) => {
    return { kind, from, to, credits, at, sequence, generationId };
  });
  return { issued, available, reserved, spent, lastSequence, moves };
}

async function expectVerified({ context }: StoreHarness): Promise<void> {
  expect((await verifyCredits(context)).findings).to.deep.equal([]);
}

/** The texts that stay when a person is erased: what they and others made is the account's. */
const OF_THE_PERSON = ['email', 'browser', 'program'];
const OF_THE_TRACE = ['prompt', 'negative', 'style', 'ownUrl', 'filename', 'upload', 'trace', 'output'];

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
      const kept = await create(harness, later, 'another-trace');
      await harness.clock.advance(MINUTE_MS);
      const stored = [...(await found(harness, mine.texts)).keys()];
      const books = await booksOf(harness, mine);
      const { erasureId } = await eraseTrace(harness.context, mine.caller.accountId, mine.texts.trace);
      await recover(harness);
      const left = [...(await found(harness, mine.texts)).keys()];
      expect(left).to.have.members(stored.filter((name) => !OF_THE_TRACE.includes(name)));
      expect((await findErasure(harness.context, erasureId)).step).to.equal('done');
      expect(await harness.context.generations.read(kept.generationId)).to.include({ clientTraceId: 'another-trace' });
      expect(await booksOf(harness, mine)).to.deep.equal(books);
      await expectVerified(harness);
    }));
}

/** A generation of this account that runs until it is cancelled. */
async function createRunning(harness: StoreHarness, mine: Filled): Promise<Generation> {
  harness.provider.newReport = () => ({ state: 'running' });
  const running = await create(harness, mine, mine.texts.trace);
  await harness.clock.advance(MINUTE_MS);
  expect(await harness.context.generations.read(running.generationId)).to.include({ status: 'running' });
  return running;
}

const inMemory = (test: (harness: StoreHarness) => Promise<void>) => withStores(openMemoryStores, test);

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
      const done = await eraseAccount(context, caller.accountId);
      expect(done).to.include({ step: 'done' }).and.not.have.any.keys('clientTraceId');
      expect(await eraseAccount(context, caller.accountId)).to.deep.equal(done);
      expect(await codeOf(erasePerson(context, personId))).to.equal('OK');
    }));

  it('of one trace begin again once an earlier one is done', () =>
    inMemory(async (harness) => {
      const mine = await fill(harness, 'ada');
      const request = () => eraseTrace(harness.context, mine.caller.accountId, mine.texts.trace);
      const { erasureId } = await request();
      await recover(harness);
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
      await authenticator.authenticate(secret);
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

/** The calls that one erasure of a filled account makes on its stores, at least. */
const CALLS = 260;

function deaths(): void {
  it('is completed, with the same credits, wherever its process dies', () =>
    forAll(sizeOf('erasuresCut'), [fc.nat(CALLS), fc.constantFrom<Cut>('before', 'after')], (index, cut) =>
      inMemory(async (harness) => {
        const mine = await fill(harness, 'ada');
        const { accountId } = mine.caller;
        const before = (await harness.context.accounts.read(accountId))!;
        await createRunning(harness, mine);
        const dying = harness.process(cutting(index, cut, { dies: true }));
        await eraseAccount(dying, accountId).catch(() => undefined);
        await recover(harness, dying).catch(() => undefined);
        if ((await harness.context.erasures.read(accountId)) === null) await eraseAccount(harness.context, accountId);
        await recover(harness, harness.context, 3);
        expect(await found(harness, mine.texts)).to.deep.equal(NOTHING);
        expect(await findErasure(harness.context, accountId)).to.include({ step: 'done' });
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

describe('an erasure', () => {
  describe('requests', () => requests());
  describe('open work', () => openWork());
  describe('a process that ends', () => deaths());
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
