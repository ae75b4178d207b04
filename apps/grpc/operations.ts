import type { MessageInitShape } from '@bufbuild/protobuf';
import type { Call, Erasing, Files, Identity, Machine, Models, Money, Webhooks, Work } from '../../core/context.js';
import { ServiceError } from '../../core/errors.js';
import { fieldInvalid } from '../../core/fields.js';
import { isRequestShown } from '../../core/generation/account-generation.js';
import {
  type AccountFilter,
  listAccountGenerations,
  readAccountFilter,
  readSearchQuery,
  searchAccountGenerations,
} from '../../core/generation/account-generations.js';
import { cancelAnyGeneration } from '../../core/generation/end-generation.js';
import {
  type AttemptCost,
  type Generation,
  type GenerationStatus,
  STATUSES,
} from '../../core/generation/generation.js';
import {
  findGeneration,
  type GenerationFilter,
  searchGenerations,
  viewGeneration,
} from '../../core/generation/read-generations.js';
import { CANCELS, type ProviderCapabilities } from '../../core/ports/provider.js';
import { type ConnectedProvider, listProviders, type ProviderWorker } from '../../core/providers/list-providers.js';
import { PROVIDER_STATES } from '../../core/providers/provider-state.js';
import { CIRCUITS } from '../../core/providers/provider-use.js';
import { mayBeMore, type Recovered, Recovery } from '../../core/recovery/recover.js';
import { addUpCosts, type ModelCosts, readUsageRequest } from '../../core/usage/read-usage.js';
import { pageByToken } from '../page-token.js';
import { requireAccount } from './access.js';
import { CATALOG_FILE_METHODS } from './catalog-file.js';
import { renderOutput } from './generations.js';
import {
  duration,
  int64s,
  MODALITY,
  OPERATION,
  PRICE_UNIT,
  readTimestamp,
  STATUS,
  timestamp,
  valuesByWord,
  wordOf,
} from './enums.js';
import {
  type FindGenerationsRequest,
  type FoundGenerationSchema,
  type GenerationContentSchema,
  type GenerationRecordSchema,
  type ModelCostsSchema,
  Operations,
  type RunRecoveryResponseSchema,
  type SearchGenerationsRequest,
} from './generated/darkroom/v1/operations_pb.js';
import {
  type ConnectedProviderSchema,
  ProviderCancels,
  ProviderCircuit,
  type ProviderCostSchema,
  type ProviderPromisesSchema,
  ProviderState,
  type ProviderWorkerSchema,
} from './generated/darkroom/v1/providers_pb.js';
import { OVERVIEW_METHODS } from './overview.js';
import { plain, readPage, readUuid, type ServedMethod, type UsedContext } from './method.js';

const { method } = Operations;

/** Work, providers, costs and recovery of a running service, for operators. */
export const OPERATIONS_METHODS: readonly ServedMethod<UsedContext>[] = [
  ...OVERVIEW_METHODS,
  ...CATALOG_FILE_METHODS,
  plain(method.runRecovery, 'operations:write', ({ context }) => recoverAll(context)),
  plain(method.getRetention, 'operations:read', async ({ context: { settings } }) => {
    return {
      outputs: duration(settings.outputRetentionMs),
      generations: duration(settings.taskRetentionMs),
      remnants: duration(settings.tombstoneRetentionMs),
      uploads: duration(settings.uploadRetentionMs),
      replays: duration(settings.replayWindowMs),
      claims: duration(settings.claimRetentionMs),
      unchargedContent: duration(settings.unchargedContentRetentionMs),
    };
  }),
  plain(method.searchGenerations, 'operations:read', async ({ context, request }) => {
    const statuses = request.statuses.map(readStatus);
    const page = readPage(request);
    const filter = await filterOf(context, request, [...new Set(statuses)].toSorted());
    const { accountId = 'all accounts', appId = 'all Apps' } = filter;
    const list = `generations of ${accountId} and ${appId} ${(filter.statuses ?? []).join(' ')}`;
    const { items, nextCursor = '' } = await pageByToken(page, list, (within) =>
      searchGenerations(context, filter, within),
    );
    return { generations: items.map(renderRecord), nextPageToken: nextCursor };
  }),
  plain(method.findGenerations, 'content:read', async ({ context, request }) => {
    const page = readPage(request, MAX_FOUND);
    const filter = accountFilterOf(request);
    const q = request.q === undefined ? undefined : readSearchQuery(request.q);
    const { accountId } = await requireAccount(context, request);
    const { showsRequests: mayReadPrompts } = context.settings;
    const list = `found generations of ${accountId} ${context.digests.ofJson({ ...filter, q: q ?? null })}`;
    const { items, nextCursor } = await pageByToken(page, list, (within) =>
      q === undefined
        ? listAccountGenerations(context, accountId, filter, within)
        : searchAccountGenerations(context, accountId, { ...filter, query: q, mayReadPrompts }, within),
    );
    const generations = await Promise.all(items.map((generation) => renderFound(context, generation)));
    return { generations, nextPageToken: nextCursor ?? '' };
  }),
  plain(method.inspectGeneration, 'content:read', async ({ context, request }) => {
    const generation = await findGeneration(context, readUuid(request.generationId, '/generation_id'));
    return { generation: renderRecord(generation), content: renderContent(generation) };
  }),
  plain(method.listProviders, 'operations:read', async ({ context }) => ({
    providers: (await listProviders(context)).map(renderProvider),
  })),
  plain(method.getModelCosts, 'operations:read', async ({ context, request }) => {
    const account = request.accountId === '' ? {} : { accountId: (await requireAccount(context, request)).accountId };
    const sent = { by: 'model', from: request.from, to: request.to };
    const { from, to } = readUsageRequest(sent, context.clock.now());
    return { models: (await addUpCosts(context, { from, to, ...account })).map(renderModelCosts), from, to };
  }),
  plain(method.stopGeneration, 'operations:write', async ({ context, request }) => ({
    generation: renderRecord(await cancelAnyGeneration(context, readUuid(request.generationId, '/generation_id'))),
  })),
];

function readStatus(number: number): GenerationStatus {
  const word = wordOf(STATUS, number);
  const status = STATUSES.find((known) => known === word);
  if (status === undefined) throw fieldInvalid('/statuses', 'statuses must be statuses that a generation can have.');
  return status;
}

/**
 * With the account that owns the App. Throws NOT_FOUND, since an empty list would not show that there is no such account
 * or App.
 */
async function filterOf(
  context: Money & Identity & Call,
  { accountId: account, appId }: SearchGenerationsRequest,
  named: readonly GenerationStatus[],
): Promise<GenerationFilter> {
  const statuses = named.length === 0 ? {} : { statuses: named };
  const accountId = account === '' ? undefined : (await requireAccount(context, { accountId: account })).accountId;
  if (appId === '') return { ...statuses, ...(accountId === undefined ? {} : { accountId }) };
  const app = await context.credentials.readApp(readUuid(appId, '/app_id'), context.call);
  if (!app) throw new ServiceError('NOT_FOUND', `There is no App ${appId.toLowerCase()}.`);
  if (accountId !== undefined && accountId !== app.accountId)
    throw new ServiceError('NOT_FOUND', `Account ${accountId} has no App ${app.appId}.`);
  return { ...statuses, accountId: app.accountId, appId: app.appId };
}

/** The maximum page of generations with URLs, of which each is signed. */
const MAX_FOUND = 50;

/** Throws FIELD_INVALID, and NOT_FOUND for a text that is not the id of an App. */
function accountFilterOf(request: FindGenerationsRequest): AccountFilter {
  const { appId, status, modelKey, credentialId, modality, createdAfter, createdBefore } = request;
  return readAccountFilter({
    appId,
    status: wordOf(STATUS, status),
    modelKey,
    credentialId,
    modality: wordOf(MODALITY, modality),
    createdFrom: createdAfter && readTimestamp(createdAfter, 'created_after'),
    createdBefore: createdBefore && readTimestamp(createdBefore, 'created_before'),
  });
}

async function renderFound(
  context: Files & Machine,
  generation: Generation,
): Promise<MessageInitShape<typeof FoundGenerationSchema>> {
  const { modality, credentialId, prompt, negativePrompt } = generation;
  const { outputs } = await viewGeneration(context, generation);
  return {
    generation: renderRecord(generation),
    modality: MODALITY[modality],
    credentialId,
    outputs: outputs.map(renderOutput),
    ...(isRequestShown(context.settings, generation) ? { prompt, negativePrompt } : {}),
  };
}

/** A generation as operators see it, without its request. */
export function renderRecord(g: Generation): MessageInitShape<typeof GenerationRecordSchema> {
  return {
    generationId: g.generationId,
    accountId: g.accountId,
    appId: g.appId,
    status: STATUS[g.status],
    modelKey: g.modelKey,
    operation: OPERATION[g.operation],
    createTime: timestamp(g.createdAt),
    updateTime: timestamp(g.updatedAt),
    completeTime: timestamp(g.completedAt),
    cancelTime: timestamp(g.cancelRequestedAt),
    ...int64s({ reservedCredits: g.reservedCredits, chargedCredits: g.chargedCredits }),
    attempts: g.attemptsMade,
    worker: g.lease?.worker,
    error: g.error,
    clientTraceId: g.clientTraceId,
    outputCount: g.outputs.length,
    provider: g.attempt?.provider,
    costs: (g.costs ?? []).map(renderCost),
  };
}

/** The request of a generation. */
function renderContent(g: Generation): MessageInitShape<typeof GenerationContentSchema> {
  return {
    prompt: g.prompt,
    negativePrompt: g.negativePrompt,
    parameters: g.parameters,
    referenceUploadIds: g.references.map(({ uploadId }) => uploadId),
  };
}

function renderCost({ attempt, provider, money, ...used }: AttemptCost): MessageInitShape<typeof ProviderCostSchema> {
  return { attempt, provider, ...int64s(used), money: money && int64s(money) };
}

function renderModelCosts({ modelKey, money, units, ...sums }: ModelCosts): MessageInitShape<typeof ModelCostsSchema> {
  return {
    modelKey,
    ...int64s(sums),
    money: money.map((sum) => int64s(sum)),
    units: units && {
      ...int64s({ billedMicros: units.billedMicros }),
      charged: units.charged.map(({ unit, micros }) => ({ unit: PRICE_UNIT[unit], ...int64s({ micros }) })),
    },
  };
}

const CIRCUIT = valuesByWord(CIRCUITS, ProviderCircuit);
const STATE = valuesByWord(PROVIDER_STATES, ProviderState);
const CANCEL = valuesByWord(CANCELS, ProviderCancels);

function renderProvider(p: ConnectedProvider): MessageInitShape<typeof ConnectedProviderSchema> {
  return {
    name: p.name,
    kind: p.kind,
    maxConcurrent: p.limits.maxConcurrent,
    maxSubmissionsPerMinute: p.limits.maxSubmissionsPerMinute,
    models: p.models.map(({ modelKey, weight, capabilities }) => ({
      modelKey,
      weight,
      promises: renderCapabilities(capabilities),
    })),
    circuit: CIRCUIT[p.circuit],
    tasks: p.tasks,
    waiting: p.waiting,
    workers: p.workers.map(renderWorker),
    state: STATE[p.condition.state],
    reason: p.condition.reason,
    pauseEndTime: timestamp(p.condition.pausedUntil),
    failTime: timestamp(p.condition.failingSince),
    lastCallTime: timestamp(p.condition.lastCallAt),
  };
}

export function renderCapabilities(p: ProviderCapabilities): MessageInitShape<typeof ProviderPromisesSchema> {
  return {
    answersWithOutputs: p.answersWithOutputs,
    askedByToken: p.isAskedBy === 'token',
    takesTokenOnce: p.takesTokenOnce,
    settleTime: duration(p.settleMs),
    cancels: CANCEL[p.cancels],
    resultsKept: duration(p.keepsResultsMs),
    paid: p.isPaid,
    maxMaskedReferences: p.maxMaskedReferences ?? 0,
    needsMask: p.needsMask === true,
  };
}

function renderWorker(use: ProviderWorker): MessageInitShape<typeof ProviderWorkerSchema> {
  const { circuit, pausedUntil, lastError, medianSubmitMs } = use.health;
  return {
    worker: use.worker,
    circuit: CIRCUIT[circuit],
    pauseEndTime: timestamp(pausedUntil),
    lastError: lastError && { time: timestamp(lastError.at), message: lastError.message },
    medianSubmitTime: duration(medianSubmitMs),
    tasks: use.tasks,
    waiting: use.waiting,
    slots: use.slots,
    seenTime: timestamp(use.seenAt),
    current: use.isCurrent,
  };
}

/** The maximum number of passes in one run, so that it ends beside a server under load. */
const MAX_PASSES = 100;

/**
 * Completes interrupted work, pass after pass, until nothing is left that existed at the beginning, or until its call is
 * over. Throws as a pass does.
 */
async function recoverAll(
  context: Money & Work & Files & Identity & Models & Webhooks & Erasing & Machine & Call,
): Promise<Omit<MessageInitShape<typeof RunRecoveryResponseSchema>, '$typeName'>> {
  const recovery = new Recovery(context);
  const stopListening = context.call?.onOver(() => recovery.stop());
  const passes: Recovered[] = [];
  try {
    while (passes.length < MAX_PASSES) {
      const pass = await recovery.pass();
      passes.push(pass);
      if (!mayBeMore(pass, context.settings.recoveryBatch) && pass.holds.nextCursor === undefined) break;
    }
  } finally {
    stopListening?.();
  }
  const sum = (countOf: (pass: Recovered) => number): bigint =>
    BigInt(passes.reduce((total, pass) => total + countOf(pass), 0));
  return {
    generationsWoken: sum(({ generations }) => generations.woken),
    generationsEnded: sum(({ generations }) => generations.ended),
    generationsSettled: sum(({ generations }) => generations.settled),
    generationsRetired: sum(({ generations }) => generations.retired),
    holdsReleased: sum(({ holds }) => holds.released),
    holdsSettled: sum(({ holds }) => holds.settled),
    uploadsSwept: sum(({ uploads }) => uploads.swept),
    uploadsRemoved: sum(({ uploads }) => uploads.removed),
    claimsRemoved: sum(({ claimsRemoved }) => claimsRemoved),
    fingerprintsRemoved: sum(({ fingerprintsRemoved }) => fingerprintsRemoved),
    artefactsRemoved: sum(({ artefactsRemoved }) => artefactsRemoved),
    deliveriesWoken: sum(({ deliveries }) => deliveries.woken),
    deliveriesRemoved: sum(({ deliveries }) => deliveries.removed),
    failed: sum(
      ({ generations, holds, uploads, deliveries, erasures }) =>
        generations.failed + holds.failed + uploads.failed + deliveries.failed + erasures.failed,
    ),
  };
}
