import { expect } from 'chai';
import { type Caller, SCOPES } from '../../core/access/credential.js';
import { createApp, createKey } from '../../core/access/manage.js';
import { adjustCredits, grantCredits } from '../../core/credits/operate.js';
import { verifyCredits } from '../../core/credits/verify.js';
import { createGeneration } from '../../core/generation/create-generation.js';
import type { Generation } from '../../core/generation/generation.js';
import { createGrant } from '../../core/people/grants.js';
import { createPerson } from '../../core/people/manage-people.js';
import { beginSession } from '../../core/people/sessions.js';
import { createSignInLink } from '../../core/people/sign-in.js';
import { mayBeMore, Recovery } from '../../core/recovery/recover.js';
import { completeUpload } from '../../core/uploads/complete-upload.js';
import { prepareUpload } from '../../core/uploads/prepare-upload.js';
import { projectUsage } from '../../core/usage/project-usage.js';
import { createEndpoint, DEFAULT_ENDPOINT, rotateSecret } from '../../core/webhooks/manage-endpoints.js';
import { streamOf } from '../fixtures/byte-streams.js';
import type { ManualClock } from '../fixtures/clocks.js';
import { newOwner } from '../fixtures/memory-stores.js';
import { plainImage } from '../fixtures/plain-media.js';
import { Work } from '../harness/darkroom.js';
import { type OpenedStores, openMemoryStores, StoreHarness } from './store-harness.js';

export const MINUTE_MS = 60_000;

/** Texts of one account: each is stored somewhere, and found nowhere else. */
export function textsOf(name: string) {
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
    answer: of('answer'),
  };
}

export type Texts = ReturnType<typeof textsOf>;

export interface Filled {
  readonly caller: Caller;
  readonly personId: string;
  readonly texts: Texts;
}

export async function sendUpload(
  harness: StoreHarness,
  caller: Caller,
  { filename, upload: note }: Texts,
): Promise<string> {
  const { context, ids } = harness;
  const bytes = plainImage(64, 64, 'image/png', note);
  const body = { filename, media_type: 'image/png', byte_size: bytes.byteLength, role: 'reference_image' };
  const { upload } = await prepareUpload(context, caller, ids.uuid(), body);
  await context.objects.write(upload.stagingKey, streamOf(bytes), { mediaType: 'image/png', maxBytes: 10_000 });
  await completeUpload(context, caller, ids.uuid(), upload.uploadId, {});
  return upload.uploadId;
}

export async function create(
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
export async function fill(harness: StoreHarness, name: string): Promise<Filled> {
  const { context } = harness;
  const texts = textsOf(name);
  // Of the account and of an App.
  const owner = await newOwner(context, `${texts.accountName} of ${texts.email}`, 0);
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
  harness.receiver.receive = () => ({ status: 200, body: { bytes: texts.answer.length, text: texts.answer } });
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
export async function found(harness: StoreHarness, texts: Texts): Promise<Map<keyof Texts, string>> {
  const contents = new Map([...(await harness.contents()), ['log', Buffer.from(harness.logged.join('\n'))]]);
  const places = new Map<keyof Texts, string>();
  for (const [name, text] of Object.entries(texts) as [keyof Texts, string][])
    for (const form of formsOf(text))
      for (const [place, bytes] of contents) if (bytes.includes(form)) places.set(name, place);
  return places;
}

export const NOTHING = new Map<string, string>();

/** Runs recovery often enough for both rounds of an erasure, in steps that do not count as clock jumps. */
export async function recover(harness: StoreHarness, context = harness.context, hours = 2): Promise<void> {
  const recovery = new Recovery(context);
  for (let minutes = 0; minutes < hours * 60; minutes += 20) {
    await harness.clock.skip(20 * MINUTE_MS);
    while (mayBeMore(await harness.clock.run(recovery.pass()), context.settings.recoveryBatch));
  }
}

export type Open = (clock: ManualClock) => Promise<OpenedStores>;

export async function withStores(open: Open, test: (harness: StoreHarness) => Promise<void>): Promise<void> {
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

export async function booksOf({ context }: StoreHarness, { caller: { accountId } }: Filled) {
  const { issued, available, reserved, spent, lastSequence } = (await context.accounts.read(accountId))!;
  const { items } = await context.accounts.entries(accountId, { limit: 1_000 });
  const moves = items.map(({ kind, from, to, credits, at, sequence, generationId }) => {
    return { kind, from, to, credits, at, sequence, generationId };
  });
  return { issued, available, reserved, spent, lastSequence, moves };
}

export async function expectVerified({ context }: StoreHarness): Promise<void> {
  expect((await verifyCredits(context)).findings).to.deep.equal([]);
}

/** The texts that are removed with a person: the name of the account is, as it has the address. */
export const OF_THE_PERSON: readonly (keyof Texts)[] = ['email', 'browser', 'program', 'accountName'];
export const OF_THE_TRACE: readonly (keyof Texts)[] = [
  'prompt',
  'negative',
  'style',
  'ownUrl',
  'filename',
  'upload',
  'trace',
  'output',
  'answer',
];

/** A generation of this account that runs until it is cancelled. */
export async function createRunning(harness: StoreHarness, mine: Filled): Promise<Generation> {
  harness.provider.newReport = () => ({ state: 'running' });
  const running = await create(harness, mine, mine.texts.trace);
  await harness.clock.advance(MINUTE_MS);
  expect(await harness.context.generations.read(running.generationId)).to.include({ status: 'running' });
  return running;
}

export const inMemory = (test: (harness: StoreHarness) => Promise<void>) => withStores(openMemoryStores, test);
