import type { MessageInitShape } from '@bufbuild/protobuf';
import type { Context } from '../../core/context.js';
import { ServiceError } from '../../core/errors.js';
import { fieldInvalid } from '../../core/fields.js';
import { cancelAnyGeneration } from '../../core/generation/end-generation.js';
import {
  type AttemptCost,
  type Generation,
  type GenerationStatus,
  STATUSES,
} from '../../core/generation/generation.js';
import { findGeneration, type GenerationFilter, searchGenerations } from '../../core/generation/read-generations.js';
import type { ProviderCapabilities } from '../../core/ports/provider.js';
import { type ConnectedProvider, listProviders, type ProviderWorker } from '../../core/providers/list-providers.js';
import type { ProviderHealth } from '../../core/providers/provider-use.js';
import { mayBeMore, type Recovered, Recovery } from '../../core/recovery/recover.js';
import { addUpCosts, type ModelCosts, readUsageRequest } from '../../core/usage/read-usage.js';
import { pageByToken } from '../page-token.js';
import { requireAccount } from './access.js';
import { duration, OPERATION, STATUS, timestamp, wordOf } from './enums.js';
import {
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
  type ProviderWorkerSchema,
} from './generated/darkroom/v1/providers_pb.js';
import { plain, readPage, readUuid } from './method.js';

const { method } = Operations;

/** Work, providers, costs and recovery of a running service, for operators. */
export const OPERATIONS_METHODS = [
  plain(method.runRecovery, {
    scope: 'operations:write',
    answer: ({ context }) => recoverAll(context),
  }),
  plain(method.getRetention, {
    scope: 'operations:read',
    async answer({ context: { settings } }) {
      return {
        outputs: duration(settings.outputRetentionMs),
        generations: duration(settings.taskRetentionMs),
        remnants: duration(settings.tombstoneRetentionMs),
        uploads: duration(settings.uploadRetentionMs),
        replays: duration(settings.replayWindowMs),
        claims: duration(settings.claimRetentionMs),
        unchargedContent: duration(settings.unchargedContentRetentionMs),
      };
    },
  }),
  plain(method.searchGenerations, {
    scope: 'operations:read',
    async answer({ context, request }) {
      const statuses = request.statuses.map(readStatus);
      const page = readPage(request);
      const filter = await filterOf(context, request, [...new Set(statuses)].toSorted());
      const { accountId = 'all accounts', appId = 'all Apps' } = filter;
      const list = `generations of ${accountId} and ${appId} ${(filter.statuses ?? []).join(' ')}`;
      const { items, nextCursor = '' } = await pageByToken(page, list, (within) =>
        searchGenerations(context, filter, within),
      );
      return { generations: items.map(renderRecord), nextPageToken: nextCursor };
    },
  }),
  plain(method.inspectGeneration, {
    scope: 'content:read',
    async answer({ context, request }) {
      const generation = await findGeneration(context, readUuid(request.generationId, '/generation_id'));
      return { generation: renderRecord(generation), content: renderContent(generation) };
    },
  }),
  plain(method.listProviders, {
    scope: 'operations:read',
    answer: async ({ context }) => ({ providers: (await listProviders(context)).map(renderProvider) }),
  }),
  plain(method.getModelCosts, {
    scope: 'operations:read',
    async answer({ context, request }) {
      const account = request.accountId === '' ? {} : { accountId: (await requireAccount(context, request)).accountId };
      const sent = { by: 'model', from: request.from, to: request.to };
      const { from, to } = readUsageRequest(sent, context.clock.now());
      return { models: (await addUpCosts(context, { from, to, ...account })).map(renderModelCosts), from, to };
    },
  }),
  plain(method.stopGeneration, {
    scope: 'operations:write',
    answer: async ({ context, request }) => ({
      generation: renderRecord(await cancelAnyGeneration(context, readUuid(request.generationId, '/generation_id'))),
    }),
  }),
] as const;

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
  context: Context,
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
    ...(g.completedAt === undefined ? {} : { completeTime: timestamp(g.completedAt) }),
    ...(g.cancelRequestedAt === undefined ? {} : { cancelTime: timestamp(g.cancelRequestedAt) }),
    reservedCredits: BigInt(g.reservedCredits),
    chargedCredits: BigInt(g.chargedCredits),
    attempts: g.attemptsMade,
    ...(g.lease === undefined ? {} : { worker: g.lease.worker }),
    ...(g.error === undefined
      ? {}
      : { error: { code: g.error.code, message: g.error.message, retryable: g.error.retryable } }),
    ...(g.clientTraceId === undefined ? {} : { clientTraceId: g.clientTraceId }),
    outputCount: g.outputs.length,
    ...(g.attempt?.provider === undefined ? {} : { provider: g.attempt.provider }),
    costs: (g.costs ?? []).map(renderCost),
  };
}

/** The request of a generation. */
function renderContent(g: Generation): MessageInitShape<typeof GenerationContentSchema> {
  return {
    prompt: g.prompt,
    ...(g.negativePrompt === undefined ? {} : { negativePrompt: g.negativePrompt }),
    parameters: g.parameters,
    referenceUploadIds: g.references.map(({ uploadId }) => uploadId),
  };
}

function renderCost(cost: AttemptCost): MessageInitShape<typeof ProviderCostSchema> {
  const { attempt, provider, inputTokens, outputTokens, computeMs, money } = cost;
  return {
    attempt,
    provider,
    ...(inputTokens === undefined ? {} : { inputTokens: BigInt(inputTokens) }),
    ...(outputTokens === undefined ? {} : { outputTokens: BigInt(outputTokens) }),
    ...(computeMs === undefined ? {} : { computeMs: BigInt(computeMs) }),
    ...(money === undefined ? {} : { money: { micros: BigInt(money.micros), currency: money.currency } }),
  };
}

function renderModelCosts({ modelKey, money, ...sums }: ModelCosts): MessageInitShape<typeof ModelCostsSchema> {
  return {
    modelKey,
    generations: BigInt(sums.generations),
    chargedCredits: BigInt(sums.chargedCredits),
    withoutMoney: BigInt(sums.withoutMoney),
    inputTokens: BigInt(sums.inputTokens),
    outputTokens: BigInt(sums.outputTokens),
    computeMs: BigInt(sums.computeMs),
    money: money.map(({ currency, micros }) => ({ currency, micros: BigInt(micros) })),
  };
}

const CIRCUIT: Readonly<Record<ProviderHealth['circuit'], ProviderCircuit>> = {
  closed: ProviderCircuit.CLOSED,
  trying: ProviderCircuit.TRYING,
  paused: ProviderCircuit.PAUSED,
};

const CANCELS: Readonly<Record<ProviderCapabilities['cancels'], ProviderCancels>> = {
  nothing: ProviderCancels.NOTHING,
  queued: ProviderCancels.QUEUED,
  running: ProviderCancels.RUNNING,
};

function renderProvider(p: ConnectedProvider): MessageInitShape<typeof ConnectedProviderSchema> {
  const { maxConcurrent, maxSubmissionsPerMinute } = p.limits;
  return {
    name: p.name,
    kind: p.kind,
    ...(maxConcurrent === undefined ? {} : { maxConcurrent }),
    ...(maxSubmissionsPerMinute === undefined ? {} : { maxSubmissionsPerMinute }),
    models: p.models.map(({ modelKey, weight, capabilities }) => ({
      modelKey,
      weight,
      promises: renderCapabilities(capabilities),
    })),
    circuit: CIRCUIT[p.circuit],
    tasks: p.tasks,
    waiting: p.waiting,
    workers: p.workers.map(renderWorker),
  };
}

export function renderCapabilities(p: ProviderCapabilities): MessageInitShape<typeof ProviderPromisesSchema> {
  return {
    answersWithOutputs: p.answersWithOutputs,
    askedByToken: p.isAskedBy === 'token',
    takesTokenOnce: p.takesTokenOnce,
    settleTime: duration(p.settleMs),
    cancels: CANCELS[p.cancels],
    ...(p.keepsResultsMs === undefined ? {} : { resultsKept: duration(p.keepsResultsMs) }),
    paid: p.isPaid,
    maxMaskedReferences: p.maxMaskedReferences ?? 0,
  };
}

function renderWorker(use: ProviderWorker): MessageInitShape<typeof ProviderWorkerSchema> {
  const { circuit, pausedUntil, lastError, medianSubmitMs } = use.health;
  return {
    worker: use.worker,
    circuit: CIRCUIT[circuit],
    ...(pausedUntil === undefined ? {} : { pauseEndTime: timestamp(pausedUntil) }),
    ...(lastError === undefined ? {} : { lastError: { time: timestamp(lastError.at), message: lastError.message } }),
    ...(medianSubmitMs === undefined ? {} : { medianSubmitTime: duration(medianSubmitMs) }),
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
  context: Context,
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
    artefactsRemoved: sum(({ artefactsRemoved }) => artefactsRemoved),
    deliveriesWoken: sum(({ deliveries }) => deliveries.woken),
    deliveriesRemoved: sum(({ deliveries }) => deliveries.removed),
    failed: sum(
      ({ generations, holds, uploads, deliveries }) =>
        generations.failed + holds.failed + uploads.failed + deliveries.failed,
    ),
  };
}
