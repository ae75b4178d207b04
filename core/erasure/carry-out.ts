import { changeKey } from '../access/manage.js';
import type { Call, Erasing, Files, Identity, Machine, Money, Webhooks, Work } from '../context.js';
import type { Entry } from '../credits/account.js';
import { StoreUnavailable } from '../errors.js';
import { cancelAnyGeneration, cancelOpenGenerations, eraseGeneration } from '../generation/end-generation.js';
import { type Generation, isTerminal } from '../generation/generation.js';
import { itemsOf } from '../paging.js';
import { changePerson, readSignInEmail } from '../people/manage-people.js';
import { endGrants } from '../people/grants.js';
import { OWNED_ARTEFACTS, type Person, PROOF_OF_REVOCATION } from '../people/person.js';
import { removeUpload, USE_MARKED_FOR_MS } from '../uploads/manage-uploads.js';
import type { Upload } from '../uploads/upload.js';
import { afterStep, ERASED_NAME, type Erasure, withoutTexts, withoutTrace } from './erasure.js';
import { requestOf } from './request-erasure.js';

type Capabilities = Money & Work & Files & Identity & Webhooks & Erasing & Machine & Call;

/** How far one step has come. `more`: there is more to do now. `waiting`: for something that has to end first. */
type Progress = 'none' | 'waiting' | 'more';

/** An erasure that waits for something, or that failed, is continued after this, in milliseconds. */
const AGAIN_MS = 30_000;
/** The process that works on an erasure is taken for lost after this, in milliseconds. */
const LOST_AFTER_MS = 120_000;
/** The most erasures of one pass. */
const MAX_AT_ONCE = 20;
/** The most generations that one pass examines and has to leave for a later one. */
const MAX_LEFT = 2_000;
const PAGE = 500;

export const NO_ERASURES = { advanced: 0, waiting: 0, completed: 0, failed: 0 };
export type ErasuresRecovered = Readonly<typeof NO_ERASURES>;

/**
 * Carries out the erasures that are due. Of each it erases at most `recoveryBatch` generations and uploads, and as many pages
 * of the ledger as hold ten thousand entries; the next pass continues. Every part may be repeated, and an erasure that several
 * processes work on is carried out all the same. Ends early once `shouldContinue` returns false.
 */
export async function carryOutErasures(
  context: Capabilities,
  now: number,
  shouldContinue: () => boolean,
): Promise<ErasuresRecovered> {
  const done = { ...NO_ERASURES };
  const pass = { now, ...storeTasks(context) };
  for (const erasure of await context.erasures.due(now, MAX_AT_ONCE)) {
    if (!shouldContinue()) break;
    try {
      const outcome = await carryOut(context, erasure, pass);
      if (outcome !== undefined) done[outcome] += 1;
    } catch (error) {
      done.failed += 1;
      context.log.warn('erasure not continued', { erasureId: erasure.erasureId, error });
      await postpone(context, erasure.erasureId, AGAIN_MS).catch(() => undefined);
      if (error instanceof StoreUnavailable) break;
    }
  }
  return done;
}

/** The pass that an erasure is continued in. */
interface Pass {
  readonly now: number;
  readonly removeRemains: () => Promise<Progress>;
  readonly emptyLog: () => Promise<Progress>;
}

/** Each is done once in a pass: it takes long, and serves all erasures that were at its step when the pass began. */
function storeTasks({ erasures, log }: Erasing & Machine): Pick<Pass, 'removeRemains' | 'emptyLog'> {
  const removeRemains = async (): Promise<Progress> => {
    const outcome = await erasures.removeRemains();
    if (outcome === 'later') return 'waiting';
    if (outcome !== 'done') log.warn('database file not rewritten', { reason: outcome });
    return 'none';
  };
  const emptyLog = async (): Promise<Progress> => ((await erasures.emptyLog()) === 'done' ? 'none' : 'waiting');
  let [removed, emptied]: (Promise<Progress> | undefined)[] = [];
  return { removeRemains: () => (removed ??= removeRemains()), emptyLog: () => (emptied ??= emptyLog()) };
}

/** Undefined if another process is working on it. */
async function carryOut(
  context: Capabilities,
  erasure: Erasure,
  pass: Pass,
): Promise<keyof ErasuresRecovered | undefined> {
  const { erasures, clock, log, settings } = context;
  if (erasure.step === 'done') {
    await erasures.remove(erasure.erasureId, erasure.version);
    return undefined;
  }
  const mine = { ...erasure, version: erasure.version + 1, dueAt: pass.now + LOST_AFTER_MS };
  if ((await erasures.replace(mine, erasure.version)) === 'conflict') return undefined;
  const { progress, examinedThrough } = await takeStep(context, mine, pass);
  const at = clock.now();
  if (progress !== 'none') {
    const dueAt = progress === 'more' ? at : at + AGAIN_MS;
    await erasures.replace({ ...mine, version: mine.version + 1, examinedThrough, dueAt }, mine.version);
    return progress === 'more' ? 'advanced' : 'waiting';
  }
  const next = afterStep(mine, at);
  const isDone = next.step === 'done';
  const kept = isDone ? { ...next, dueAt: at + settings.tombstoneRetentionMs } : next;
  if ((await erasures.replace(kept, mine.version)) === 'conflict') return undefined;
  if (!isDone) return next.dueAt > at ? 'waiting' : 'advanced';
  log.info('erasure completed', { erasureId: next.erasureId, of: next.of, accountId: next.accountId });
  return 'completed';
}

async function postpone({ erasures, clock }: Capabilities, erasureId: string, byMs: number): Promise<void> {
  const newest = await erasures.read(erasureId);
  if (newest === null || newest.step === 'done') return;
  await erasures.replace({ ...newest, version: newest.version + 1, dueAt: clock.now() + byMs }, newest.version);
}

interface Stepped {
  readonly progress: Progress;
  readonly examinedThrough: number;
}

async function takeStep(context: Capabilities, erasure: Erasure, pass: Pass): Promise<Stepped> {
  const { examinedThrough } = erasure;
  switch (erasure.step) {
    case 'content':
      return { progress: await eraseContent(context, erasure, pass), examinedThrough };
    case 'ledger':
      return eraseTexts(context, erasure);
    case 'remains':
      return { progress: await pass.removeRemains(), examinedThrough };
    case 'log':
      return { progress: await pass.emptyLog(), examinedThrough };
    case 'done':
      return { progress: 'none', examinedThrough };
  }
}

function eraseContent(context: Capabilities, erasure: Erasure, pass: Pass): Promise<Progress> {
  switch (erasure.of) {
    case 'account':
      return eraseAccountContent(context, erasure, pass);
    case 'person':
      return erasePersonContent(context, erasure);
    case 'trace':
      return eraseTraceContent(context, erasure);
  }
}

/** Access first, so that nothing new comes while the rest is removed. */
async function eraseAccountContent(context: Capabilities, erasure: Erasure, pass: Pass): Promise<Progress> {
  const { accountId } = erasure;
  await context.accountWriter.execute(accountId, { kind: 'erase', name: ERASED_NAME });
  await endKeys(context, accountId);
  const parts = [await erasePeople(context, accountId, pass), await stopOpenWork(context, accountId)];
  for await (const { appId, name } of appsOf(context, accountId)) {
    await removeEndpoints(context, appId);
    if (name !== ERASED_NAME) await context.credentials.renameApp(appId, ERASED_NAME);
  }
  parts.push(await removeDeliveries(context, accountId));
  parts.push(await eraseGenerationsOf(context, accountId));
  parts.push(await eraseUploads(context, erasure));
  for (const store of [context.claims, context.fingerprints])
    parts.push((await store.removeOfAccount(accountId, PAGE)) === PAGE ? 'more' : 'none');
  return furthest(parts);
}

function furthest(parts: readonly Progress[]): Progress {
  if (parts.includes('more')) return 'more';
  return parts.includes('waiting') ? 'waiting' : 'none';
}

function batchOf({ settings }: Machine): number {
  return Math.min(PAGE, settings.recoveryBatch);
}

function appsOf({ credentials }: Identity, accountId: string) {
  return itemsOf((page) => credentials.listApps(accountId, page), PAGE);
}

async function endKeys(context: Capabilities, accountId: string): Promise<void> {
  const { credentials, clock } = context;
  for await (const { keyId, name, revokedAt } of itemsOf((page) => credentials.listKeys(accountId, page), PAGE))
    if (revokedAt === undefined || name !== ERASED_NAME)
      await changeKey(context, keyId, (key) => ({
        ...key,
        name: ERASED_NAME,
        revokedAt: key.revokedAt ?? clock.now(),
      }));
}

/** Each person is an erasure of their own, which outlasts their record: what they were given is removed an hour later. */
async function erasePeople(context: Capabilities, accountId: string, pass: Pass): Promise<Progress> {
  let progress: Progress = 'none';
  for await (const person of itemsOf((page) => context.people.list(accountId, page), PAGE)) {
    const erasure = await requestOf(context, person);
    // At a later step it waits for nothing but the store, and its own turn comes.
    if (erasure.step === 'content') await carryOut(context, erasure, pass);
    if ((await context.people.read(person.personId)) !== null) progress = 'waiting';
  }
  return progress;
}

/** Waits until every hold has ended: until then a charge may be due. */
async function stopOpenWork(context: Capabilities, accountId: string): Promise<Progress> {
  const isStopped = await evenIfRefused(context, { accountId }, () => cancelOpenGenerations(context, accountId));
  const account = await context.accounts.read(accountId);
  return isStopped && (account === null || account.holds.size === 0) ? 'none' : 'waiting';
}

/**
 * Returns whether the action succeeded. One that fails is logged with the ids that it is about and tried again by a later
 * pass, so that it holds back nothing else of its erasure. Throws only `StoreUnavailable`, of which all the rest would fail.
 */
async function evenIfRefused(
  { log }: Capabilities,
  about: Readonly<Record<string, string>>,
  act: () => Promise<unknown>,
): Promise<boolean> {
  try {
    await act();
    return true;
  } catch (error) {
    if (error instanceof StoreUnavailable) throw error;
    log.warn('part of an erasure not continued', { ...about, error });
    return false;
  }
}

async function removeEndpoints({ webhookEndpoints }: Webhooks, appId: string): Promise<void> {
  const webhooks = await webhookEndpoints.read(appId);
  if (webhooks === null || webhooks.endpoints.length === 0) return;
  await webhookEndpoints.replace({ ...webhooks, endpoints: [], version: webhooks.version + 1 }, webhooks.version);
}

/** They have URLs of single generations, and what receivers answered. */
async function removeDeliveries({ deliveries }: Webhooks, accountId: string): Promise<Progress> {
  const { items } = await deliveries.list({ of: 'account', id: accountId }, { limit: PAGE });
  for (const { deliveryId, version } of items) await deliveries.remove(deliveryId, version);
  return items.length === 0 ? 'none' : 'more';
}

/** Those that have not ended are waited for: a hold is open for them. One that cannot be erased holds back no other. */
async function eraseGenerationsOf(context: Capabilities, accountId: string): Promise<Progress> {
  const all = itemsOf((page) => context.generations.list({ of: 'account', accountId }, page), batchOf(context));
  let [erased, left] = [0, 0];
  for await (const generation of all) {
    if (isTerminal(generation.status) && (await eraseEnded(context, generation))) erased += 1;
    else left += 1;
    if (erased === batchOf(context) || left === MAX_LEFT) break;
  }
  if (erased > 0) return 'more';
  return left > 0 ? 'waiting' : 'none';
}

function eraseEnded(context: Capabilities, generation: Generation): Promise<boolean> {
  const { generationId } = generation;
  return evenIfRefused(context, { generationId }, () => eraseGeneration(context, generation));
}

/**
 * Bytes may be sent to an upload until its target expires: until then the record of one that is erased stays, without its
 * filename, and recovery removes both. The second round waits for that.
 */
async function eraseUploads(context: Capabilities, { accountId, round }: Erasure): Promise<Progress> {
  let [left, erased, changed] = [0, 0, 0];
  for await (const upload of itemsOf((page) => context.uploads.list(accountId, page), PAGE)) {
    if (isErased(upload)) left += 1;
    else if (await eraseUpload(context, upload)) erased += 1;
    else changed += 1;
    if (erased === batchOf(context)) break;
  }
  if (erased + changed > 0) return 'more';
  return left > 0 && round === 2 ? 'waiting' : 'none';
}

/** False if it was erased before, or another process has changed it since it was read. */
async function eraseUpload(context: Capabilities, upload: Upload): Promise<boolean> {
  if (isErased(upload)) return false;
  return (await removeUpload(context, { ...upload, filename: ERASED_NAME })) === 'removed';
}

function isErased({ status, filename }: Upload): boolean {
  return status === 'removing' && filename === ERASED_NAME;
}

async function erasePersonContent(context: Capabilities, erasure: Erasure): Promise<Progress> {
  const { erasureId: personId, accountId, round } = erasure;
  const person = await context.people.read(personId);
  await endGrants(context, personId);
  const kept: readonly string[] = round === 1 ? PROOF_OF_REVOCATION : [];
  let progress: Progress = 'none';
  for (const kind of OWNED_ARTEFACTS.filter((one) => !kept.includes(one)))
    if ((await context.artefacts.removeOwned(kind, personId, PAGE)) === PAGE) progress = 'more';
  for (const identity of await context.people.listIdentities(personId))
    await context.people.removeIdentity(identity, personId);
  if (person === null) return progress;
  await removeAddress(context, accountId, person);
  const disabled = await changePerson(context, personId, (one) =>
    one.disabledAt === undefined ? { ...one, disabledAt: context.clock.now(), sessionEpoch: context.ids.uuid() } : one,
  );
  // An identity may have been linked until the person was disabled.
  for (const identity of await context.people.listIdentities(personId))
    await context.people.removeIdentity(identity, personId);
  return (await context.people.remove(personId, disabled.version)) === 'applied' ? progress : 'more';
}

/**
 * The account, its Apps and its keys stay; only a name with the address of the person is removed. Throws CONFLICT while others
 * change a key all the time: the person must not be removed before, as nothing else has the address to look for.
 */
async function removeAddress(context: Capabilities, accountId: string, { email }: Person): Promise<void> {
  const { accounts, accountWriter, credentials } = context;
  const has = (name: string) => readSignInEmail(name).includes(email);
  for await (const { keyId, name } of itemsOf((page) => credentials.listKeys(accountId, page), PAGE))
    if (has(name)) await changeKey(context, keyId, (key) => (has(key.name) ? { ...key, name: ERASED_NAME } : key));
  for await (const { appId, name } of appsOf(context, accountId))
    if (has(name)) await credentials.renameApp(appId, ERASED_NAME);
  const account = await accounts.read(accountId, undefined, 'totals');
  if (account !== null && has(account.name))
    await accountWriter.execute(accountId, { kind: 'rename', name: ERASED_NAME });
}

async function eraseTraceContent(context: Capabilities, { accountId, clientTraceId = '' }: Erasure): Promise<Progress> {
  const parts: Progress[] = [];
  for await (const { appId } of appsOf(context, accountId)) {
    const wanted = { of: 'app', appId, only: { field: 'clientTraceId', value: clientTraceId } } as const;
    let [erased, left] = [0, 0];
    for await (const generation of itemsOf((page) => context.generations.list(wanted, page), batchOf(context))) {
      if (await eraseTraced(context, generation)) erased += 1;
      else left += 1;
      if (erased === batchOf(context) || left === MAX_LEFT) break;
    }
    if (erased > 0) parts.push('more');
    else if (left > 0) parts.push('waiting');
  }
  const account = await context.accounts.read(accountId);
  const holds = [...(account?.holds.values() ?? [])];
  const isHeld = holds.some(({ attribution }) => attribution?.clientTraceId === clientTraceId);
  return furthest([...parts, isHeld ? 'waiting' : 'none']);
}

/** Stops a generation that has not ended, and erases one that has, after the uploads that it was made with. */
async function eraseTraced(context: Capabilities, generation: Generation): Promise<boolean> {
  const { generationId, status } = generation;
  if (!isTerminal(status)) {
    await evenIfRefused(context, { generationId }, () => cancelAnyGeneration(context, generationId));
    return false;
  }
  return (await eraseReferences(context, generation)) && eraseEnded(context, generation);
}

/**
 * Removes the uploads that a generation was made with. False while one of them is or may be needed by a generation that has
 * not ended; then none is removed.
 *
 * A create marks its uploads as used before it is accepted. So they are read before the open generations are listed, and
 * removed only if nobody has marked them since: a create is either in the list or prevents the removal. While a recent mark
 * serves later creates too, nothing tells of them.
 */
async function eraseReferences(context: Capabilities, { appId, references }: Generation): Promise<boolean> {
  const uploads: Upload[] = [];
  for (const uploadId of new Set(references.map((reference) => reference.uploadId))) {
    const record = await context.uploads.read(uploadId);
    if (record?.kind === 'upload' && !isErased(record)) uploads.push(record);
  }
  if (uploads.some((upload) => mayBeUsedUnmarked(context, upload)) || (await areNeeded(context, appId, uploads)))
    return false;
  for (const upload of uploads) if (!(await eraseUpload(context, upload))) return false;
  return true;
}

/** A create that came just before its mark was too old is accepted, or refused, within the lease of its key. */
function mayBeUsedUnmarked({ clock, settings }: Machine, { lastUsedAt }: Upload): boolean {
  return lastUsedAt !== undefined && clock.now() - lastUsedAt < USE_MARKED_FOR_MS + settings.claimLeaseMs;
}

async function areNeeded({ generations }: Work, appId: string, uploads: readonly Upload[]): Promise<boolean> {
  if (uploads.length === 0) return false;
  const ids = new Set(uploads.map(({ uploadId }) => uploadId));
  for (const value of ['queued', 'running']) {
    const only = { field: 'status', value } as const;
    for await (const { references } of itemsOf((page) => generations.list({ of: 'app', appId, only }, page), PAGE))
      if (references.some(({ uploadId }) => ids.has(uploadId))) return true;
  }
  return false;
}

/** Pages of the ledger that one pass examines: ten thousand entries. */
const LEDGER_PAGES = 20;

/**
 * Removes the texts of ledger entries, and the sums of usage by trace id before and after that: until they are computed again
 * nothing can differ from the ledger.
 */
async function eraseTexts(context: Capabilities, erasure: Erasure): Promise<Stepped> {
  const { accountId, clientTraceId, of } = erasure;
  const erased = (entry: Entry) => (of === 'trace' ? withoutTrace(entry, clientTraceId ?? '') : withoutTexts(entry));
  let through = erasure.examinedThrough;
  if (through === 0) await removeTraces(context, accountId);
  for (let pages = 0; pages < LEDGER_PAGES; pages += 1) {
    const { items } = await context.accounts.entries(accountId, { limit: PAGE, cursor: String(through) });
    const changed = items.flatMap((entry) => (erased(entry) === entry ? [] : [erased(entry)]));
    if (changed.length > 0) await context.accounts.removeTexts(accountId, changed);
    through = items.at(-1)?.sequence ?? through;
    if (items.length < PAGE) {
      await removeTraces(context, accountId);
      return { progress: 'none', examinedThrough: through };
    }
  }
  return { progress: 'more', examinedThrough: through };
}

async function removeTraces({ usage }: Capabilities, accountId: string): Promise<void> {
  // Until there is nothing: usage that is computed meanwhile writes the row of the whole account first.
  while ((await usage.removeTraces(accountId, PAGE)) > 0);
}
