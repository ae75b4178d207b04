import { accountSuspended, type Caller } from '../access/credential.js';
import { assert } from '../assert.js';
import { measuredRateOf, unitsReserved } from '../catalog/price.js';
import type { Call, Files, Machine, Models, Money, Webhooks, Work } from '../context.js';
import type { Acceptance, WriterOutcome } from '../credits/account-writer.js';
import { creditsText, periodOf, usedIn } from '../credits/account.js';
import type { HoldCommand } from '../credits/decide.js';
import { type ErrorDetails, ServiceError } from '../errors.js';
import type { Claim } from '../idempotency/claim.js';
import {
  claim,
  type ClaimRequest,
  type ClaimTarget,
  freshClaim,
  orFree,
  refusedUnder,
  takenOver,
} from '../idempotency/claims.js';
import type { Json } from '../json.js';
import type { Settings } from '../settings.js';
import { pause } from '../waiting.js';
import { markUsed } from '../uploads/manage-uploads.js';
import type { Upload } from '../uploads/upload.js';
import { webhookUrlRefusal } from '../webhooks/manage-endpoints.js';
import type { Generation, GenerationRecord, Operation, Reference, ReferenceRole } from './generation.js';
import { type GenerationRequest, type Quote, quoteGeneration, readGenerationRequest, sizesOf } from './quote.js';
import { wakeAccepted } from './wake.js';

export interface Created {
  readonly generation: Generation;
  /** Whether the key had been used before, with this same request. */
  readonly replayed: boolean;
}

export interface CreateOptions {
  /** The most that may be reserved. A replay reserves nothing, and is never refused for it. */
  readonly approvedCredits?: number;
  /** URL that is notified of the end, in addition to the App's webhooks. The idempotency key covers it. */
  readonly webhookUrl?: string | undefined;
  /** The space of the key; `create` when absent. */
  readonly operation?: 'create' | 'create-compatible';
  /** Digest of the request that the key covers, where that is not the body. */
  readonly digest?: string;
  /** Throws the refusal of a caller who may no longer create; called after a delay, before anything is held. */
  readonly requireAllowed?: () => Promise<void>;
}

/**
 * Accepts a generation: claims the key, holds the price, inserts the generation, in that order, each durable before the
 * next, or all at once where the store can. Requests are refused before the key is claimed, unless the store claims it
 * in a separate step and the refusal is decided after that. A create that is interrupted in between is completed or
 * undone by a retry with the key or by recovery. Only the process that minted the generation's id ever holds or inserts
 * under it. A replay returns the generation as it is now.
 *
 * Throws, in this order: FIELD_REQUIRED, FIELD_INVALID (of the body), DEVELOPER_SCOPE_INSUFFICIENT, FIELD_INVALID and
 * CONFLICT (of a webhook URL; CONFLICT while the App has no default secret that signs for it), the three idempotency
 * codes, FIELD_REQUIRED and FIELD_INVALID (of model, uploads and parameters), QUEUE_FULL (of content kept uncharged),
 * SPENDING_NOT_CONFIRMED, FIELD_INVALID (of an upload that was deleted in the meantime), DEVELOPER_TOKEN_REVOKED for a
 * suspended account, CREDITS_INSUFFICIENT, QUEUE_FULL (of open generations). A refusal leaves the key free.
 * `StoreUnavailable` means that the outcome is unknown; a retry with the same key finds it out.
 */
export async function createGeneration(
  context: Money & Work & Files & Models & Webhooks & Machine & Call,
  caller: Caller,
  idempotencyKey: string,
  body: Json,
  {
    approvedCredits = Infinity,
    webhookUrl,
    operation = 'create',
    digest: givenDigest,
    requireAllowed,
  }: CreateOptions = {},
): Promise<Created> {
  const beganAt = context.clock.monotonic();
  const digestOf = ({ content }: GenerationRequest): string =>
    givenDigest ?? context.digests.ofJson(webhookUrl === undefined ? content : { content, webhookUrl });
  const key = { accountId: caller.accountId, appId: caller.appId, operation, key: idempotencyKey };
  const read = await readOnce(
    context,
    body,
    async (repeated) => (await context.claims.read(key))?.digest === digestOf(repeated),
  );
  if (read instanceof ServiceError) throw read;
  const refusedUrl = webhookUrl === undefined ? undefined : await webhookUrlRefusal(context, caller, webhookUrl);
  if (refusedUrl !== undefined) throw refusedUrl;
  const request = webhookUrl === undefined ? read : { ...read, webhookUrl };
  const digest = digestOf(read);

  const planned = await plan(context, caller, request, approvedCredits);
  const first =
    planned instanceof ServiceError
      ? planned
      : planned.delayMs > 0
        ? 'taken'
        : await acceptUnclaimed(context, planned, { key, digest });
  if (first === 'overtaken') throw takenOver();
  if (first !== 'taken') {
    if (!(first instanceof ServiceError)) return newlyAccepted(context, first, beganAt);
    // A request that has the key decides what this one is answered, even if this one would be refused on its own.
    if ((await context.claims.read(key)) === null) throw first;
  }

  const claimed = await claim(context, { key, digest }, generationTarget(context, caller));
  if (claimed instanceof ServiceError) throw claimed;
  if ('replayOf' in claimed) return replayed(await context.generations.read(claimed.replayOf));
  if (planned instanceof ServiceError) throw await refusedUnder(context, claimed.mine, planned);
  if (planned.delayMs > 0) {
    await pause(context.clock, planned.delayMs);
    const refused = await orFree(context, claimed.mine, async () => requireAllowed?.());
    if (refused instanceof ServiceError) throw refused;
  }
  const accepted = await accept(context, planned, claimed.mine, true);
  if (accepted === 'taken' || accepted === 'overtaken') throw takenOver();
  if (accepted instanceof ServiceError) throw accepted;
  return newlyAccepted(context, accepted, beganAt);
}

function newlyAccepted({ outcomeCounts, clock }: Work & Machine, generation: Generation, beganAt: number): Created {
  outcomeCounts.accepted(clock.monotonic() - beganAt);
  return { generation, replayed: false };
}

/**
 * Reads the body. One without a prompt may repeat a request that was accepted when its model did without: a catalog that has
 * changed since then must not hide what was created under the key.
 */
async function readOnce(
  ports: Models & Machine,
  body: Json,
  isRepeated: (request: GenerationRequest) => Promise<boolean>,
): Promise<GenerationRequest | ServiceError> {
  const read = readGenerationRequest(ports, body);
  if (!(read instanceof ServiceError) || read.code !== 'FIELD_REQUIRED' || read.details.pointer !== '/prompt')
    return read;
  const withoutPrompt = readGenerationRequest(ports, body, false);
  return !(withoutPrompt instanceof ServiceError) && (await isRepeated(withoutPrompt)) ? withoutPrompt : read;
}

/** A request that nothing refuses so far. */
interface Planned {
  readonly caller: Caller;
  readonly request: GenerationRequest;
  readonly quote: Quote;
  /** How long the model's first provider delays the create, in milliseconds: 0, except for tests of clients. */
  readonly delayMs: number;
}

/** Everything that can be refused without the account. */
async function plan(
  context: Work & Files & Models & Machine,
  caller: Caller,
  request: GenerationRequest,
  approvedCredits: number,
): Promise<Planned | ServiceError> {
  const { unchargedSums, settings } = context;
  const { maxUnchargedContentBytesPerAccount: maxBytes } = settings;
  const uncharged = unchargedSums.bytesFor(caller.accountId, maxBytes);
  // Read beside the quote, whose refusal comes first.
  uncharged.catch(() => undefined);
  const quote = await quoteGeneration(context, caller, request);
  if (quote instanceof ServiceError) return quote;
  // Summed before the claim: of many concurrent creates, none counts the others.
  const bytes = await uncharged;
  if (bytes >= maxBytes) return tooMuchContent(bytes, settings);
  if (quote.credits > approvedCredits) return notApproved(quote.credits, approvedCredits);
  const [first] = quote.model.route;
  const delayMs =
    first && context.providers.find(first.provider)?.acceptanceDelayMs?.(first.settings, quote.parameters);
  return { caller, request, quote, delayMs: delayMs ?? 0 };
}

function tooMuchContent(
  bytes: number,
  { maxUnchargedContentBytesPerAccount: max, unchargedContentRetentionMs }: Settings,
): ServiceError {
  const message = `The content that the account stores of generations that ended without charge counts ${bytes} bytes, and may count ${max}; that of each counts for ${unchargedContentRetentionMs / 3_600_000} hours after its end.`;
  return new ServiceError('QUEUE_FULL', message, { retryAfterMs: 60_000, bound: 'uncharged_content_bytes' });
}

function notApproved(credits: number, approvedCredits: number): ServiceError {
  const message = `This would reserve ${creditsText(credits)}, more than the ${approvedCredits} that were allowed for it.`;
  return new ServiceError('SPENDING_NOT_CONFIRMED', message, { credits });
}

/**
 * `taken`: another request has the key. `overtaken`: another process took the key over while this one was slow; nothing is
 * held any more.
 */
type Accepted = Generation | ServiceError | 'taken' | 'overtaken';

/**
 * Accepts under a key that is not known to be claimed. A replay must not mark uploads as used, so it is looked up
 * first.
 */
async function acceptUnclaimed(
  context: Money & Work & Files & Machine,
  planned: Planned,
  request: ClaimRequest,
): Promise<Accepted> {
  if (planned.quote.uploads.length > 0 && (await context.claims.read(request.key)) !== null) return 'taken';
  return accept(context, planned, freshClaim(context, request, context.ids.uuid()), false);
}

/** A hold of unknown outcome throws and keeps the key: only a retry under it, or recovery, may find out. */
async function accept(
  context: Money & Work & Files & Machine,
  planned: Planned,
  mine: Claim,
  claimStands: boolean,
): Promise<Accepted> {
  const { accountWriter, clock, settings } = context;
  const generation = newGeneration(mine.subjectId, planned, clock.now(), settings.recoveryGraceMs);
  const acceptance: Acceptance = { claim: mine, generation, claimStands };
  const refuse = (refusal: ServiceError) => (acceptance.claimStands ? refusedUnder(context, mine, refusal) : refusal);
  const { caller, request, quote } = planned;
  const unusable = quote.uploads.length === 0 ? undefined : await markUsed(context, quote.uploads);
  if (unusable !== undefined) return refuse(unusable);
  const hold: HoldCommand = {
    kind: 'hold',
    generationId: mine.subjectId,
    credits: quote.credits,
    maxOpenHolds: settings.maxOpenGenerationsPerAccount,
    attribution: {
      credentialId: caller.credentialId,
      appId: caller.appId,
      ...(caller.actor === undefined ? {} : { actor: caller.actor }),
      modelKey: quote.model.modelKey,
      ...(request.clientTraceId === undefined ? {} : { clientTraceId: request.clientTraceId }),
    },
    ...(caller.cap === undefined ? {} : { cap: caller.cap }),
  };
  const outcome = await accountWriter.accept(hold, acceptance);
  if (outcome instanceof ServiceError) return refuse(outcome);
  if (outcome.refused !== undefined) return refuse(holdRefusal(outcome, planned));

  // Nothing is refused from here on.
  if ('taken' in outcome) return 'taken';
  if ('existing' in outcome) return adoptOrRelease(context, mine, outcome.existing);
  wakeAccepted(context, generation);
  return generation;
}

/** The generation that a quote becomes once its price is held: queued, reserved, nothing charged. */
function newGeneration(
  generationId: string,
  { caller, request, quote }: Planned,
  now: number,
  recoveryGraceMs: number,
): Generation {
  const references = sizesOf(quote.uploads);
  const measuredRate = measuredRateOf(quote.model, quote.parameters, references);
  const queueDeadlineAt = now + quote.model.queueTimeoutMs;
  return {
    kind: 'generation',
    generationId,
    accountId: caller.accountId,
    appId: caller.appId,
    credentialId: caller.credentialId,
    version: 1,
    status: 'queued',
    modelKey: quote.model.modelKey,
    modality: quote.model.modality,
    operation: request.operation,
    prompt: request.prompt,
    ...(request.negativePrompt === undefined ? {} : { negativePrompt: request.negativePrompt }),
    parameters: quote.parameters,
    references: quote.uploads.map(referenceTo),
    ...(request.clientTraceId === undefined ? {} : { clientTraceId: request.clientTraceId }),
    ...(request.webhookUrl === undefined ? {} : { webhookUrl: request.webhookUrl }),
    createdAt: now,
    updatedAt: now,
    estimatedCredits: quote.credits,
    reservedCredits: quote.credits,
    chargedCredits: 0,
    terms: {
      priceVersion: quote.model.price.version,
      creditsByOutputs: quote.creditsByOutputs,
      ...(measuredRate === undefined ? {} : { measuredRate }),
      units: unitsReserved(quote.model, quote.parameters, references),
      cancelFloorCredits: Math.min(quote.model.cancelFloorCredits, quote.credits),
      queueDeadlineAt,
      runTimeoutMs: quote.model.runTimeoutMs,
      maxAttempts: quote.model.maxAttempts,
    },
    fence: 0,
    attemptsMade: 0,
    outputs: [],
    dueAt: Math.min(now + recoveryGraceMs, queueDeadlineAt),
  };
}

function referenceTo(upload: Upload): Reference {
  assert(upload.ready && upload.objectKey !== undefined, 'a quoted upload is ready');
  return {
    uploadId: upload.uploadId,
    role: upload.role,
    objectKey: upload.objectKey,
    mediaType: upload.mediaType,
    byteSize: upload.byteSize,
    sha256: upload.ready.sha256,
    ...(upload.ready.contentBytes === undefined ? {} : { contentBytes: upload.ready.contentBytes }),
    ...(upload.ready.isMasked === true ? { isMasked: true } : {}),
  };
}

function holdRefusal(
  { refused, availableCredits }: Extract<WriterOutcome, { refused: string }>,
  { caller, quote: { credits } }: Planned,
): ServiceError {
  if (refused === 'ACCOUNT_SUSPENDED') return accountSuspended();
  if (refused === 'QUEUE_FULL')
    return new ServiceError('QUEUE_FULL', undefined, { retryAfterMs: 5_000, bound: 'open_generations' });
  if (refused === 'CREDITS_INSUFFICIENT') return insufficientCredits(caller, credits, availableCredits);
  if (refused === 'CAP_REACHED') return capReached(caller, credits, availableCredits);
  return new ServiceError('INTERNAL_ERROR');
}

/** Only callers that may read the balance receive the available credits. */
function insufficientCredits(caller: Caller, credits: number, availableCredits: number): ServiceError {
  const told = toldTo(caller, availableCredits);
  const available =
    told.availableCredits === undefined
      ? ', more than the account has available'
      : `; the account has ${availableCredits} available`;
  return new ServiceError('CREDITS_INSUFFICIENT', `This would reserve ${creditsText(credits)}${available}.`, told);
}

/** The account may have enough: it is the credential that may not spend it. */
function capReached(caller: Caller, credits: number, availableCredits: number): ServiceError {
  const { cap } = caller;
  const bound = `${creditsText(cap?.credits ?? 0)}${cap?.per === 'month' ? ' a month (UTC)' : ''}`;
  const told = toldTo(caller, availableCredits);
  const account = told.availableCredits === undefined ? '' : `; the account itself has ${availableCredits} available`;
  return new ServiceError(
    'CREDITS_INSUFFICIENT',
    `This would reserve ${creditsText(credits)}, which is more than is left of the credential's spending cap of ${bound}${account}.`,
    told,
  );
}

function toldTo({ scopes }: Caller, availableCredits: number): Pick<ErrorDetails, 'availableCredits'> {
  return scopes.includes('credits:read') ? { availableCredits } : {};
}

/**
 * The generation that is stored under our id already, because the response of an insert was lost. If the id was ruled out
 * instead, the hold is released.
 */
async function adoptOrRelease(
  { accountWriter }: Money,
  { accountId, subjectId }: Claim,
  existing: GenerationRecord,
): Promise<Generation | 'overtaken'> {
  if (existing.kind === 'generation') return existing;
  await accountWriter.execute(accountId, { kind: 'settle', generationId: subjectId, charge: 0 });
  return 'overtaken';
}

function generationTarget(context: Money & Work & Machine, caller: Caller): ClaimTarget {
  return {
    mint: () => context.ids.uuid(),
    exists: async (id) => isTaken(await context.generations.read(id)),
    preclude: async (id) => {
      const standing = await voidGeneration(context, {
        generationId: id,
        accountId: caller.accountId,
        appId: caller.appId,
      });
      if (isTaken(standing)) return 'exists';
      await context.accountWriter.execute(caller.accountId, { kind: 'settle', generationId: id, charge: 0 });
      return 'precluded';
    },
  };
}

function isTaken(record: GenerationRecord | null): boolean {
  return record !== null && record.kind !== 'void';
}

function replayed(record: GenerationRecord | null): Created {
  if (record?.kind !== 'generation' || record.deletedAt !== undefined)
    throw new ServiceError('IDEMPOTENCY_REPLAY_EXPIRED');
  return { generation: record, replayed: true };
}

/**
 * Takes a generation's id so that none can be created there, unless one exists: answers the record at the id
 * afterwards. The first insert wins, and the loser learns of it.
 */
export async function voidGeneration(
  { generations, clock, settings }: Work & Machine,
  id: { readonly generationId: string; readonly accountId: string; readonly appId: string },
): Promise<GenerationRecord> {
  const now = clock.now();
  const tombstone: GenerationRecord = {
    kind: 'void',
    ...id,
    version: 1,
    createdAt: now,
    dueAt: now + settings.tombstoneRetentionMs,
  };
  const outcome = await generations.insert(tombstone);
  return outcome.inserted ? tombstone : outcome.existing;
}

export interface Estimate {
  readonly modelKey: string;
  readonly operation: Operation;
  readonly estimatedCredits: number;
  readonly currency: string;
}

/**
 * Returns the credits that `createGeneration` would reserve for this request, without storing anything. Throws the same
 * errors, except the idempotency codes and QUEUE_FULL. Files of the roles in `rolesToCome` are added to the request later.
 */
export async function estimateGeneration(
  context: Money & Files & Models & Machine & Call,
  caller: Caller,
  body: Json,
  rolesToCome: readonly ReferenceRole[] = [],
): Promise<Estimate> {
  const request = readGenerationRequest(context, body);
  if (request instanceof ServiceError) throw request;
  const quote = await quoteGeneration(context, caller, request, rolesToCome);
  if (quote instanceof ServiceError) throw quote;
  const account = await context.accounts.read(caller.accountId, context.call, 'totals');
  if (!account) throw new ServiceError('DEVELOPER_TOKEN_INVALID');
  if (account.suspendedAt !== undefined) throw accountSuspended();
  if (account.available < quote.credits) throw insufficientCredits(caller, quote.credits, account.available);
  if (!(await isWithinCap(context, caller, quote.credits))) throw capReached(caller, quote.credits, account.available);
  return {
    modelKey: quote.model.modelKey,
    operation: request.operation,
    estimatedCredits: quote.credits,
    currency: account.currency,
  };
}

async function isWithinCap(
  context: Money & Machine & Call,
  { accountId, credentialId, cap }: Caller,
  credits: number,
): Promise<boolean> {
  if (cap === undefined) return true;
  const stored = (await context.accounts.read(accountId, context.call))?.capUses?.get(credentialId);
  return usedIn(periodOf(cap, stored, context.clock.now()), stored) + credits <= cap.credits;
}
