import type { MessageInitShape } from '@bufbuild/protobuf';
import type { AttemptCost } from '../../core/generation/generation.js';
import type { ProviderCapabilities as CoreCapabilities } from '../../core/ports/provider.js';
import type { ConnectedProvider, ProviderWorker } from '../../core/providers/list-providers.js';
import type { ProviderHealth } from '../../core/providers/provider-use.js';
import type { ModelCosts, Usage, UsageBy as Word, UsageGroup } from '../../core/usage/read-usage.js';
import type { UsageSums } from '../../core/usage/usage.js';
import { duration, timestamp } from './enums.js';
import {
  type GetAccountUsageResponseSchema,
  UsageBy,
  type UsageRowSchema,
  type UsageSumsSchema,
} from './generated/darkroom/v1/credits_pb.js';
import type { ModelCostsSchema } from './generated/darkroom/v1/operations_pb.js';
import {
  type ConnectedProviderSchema,
  ProviderCancels,
  ProviderCircuit,
  type ProviderCostSchema,
  type ProviderPromisesSchema,
  type ProviderWorkerSchema,
} from './generated/darkroom/v1/providers_pb.js';

export const CIRCUIT: Readonly<Record<ProviderHealth['circuit'], ProviderCircuit>> = {
  closed: ProviderCircuit.CLOSED,
  trying: ProviderCircuit.TRYING,
  paused: ProviderCircuit.PAUSED,
};

export const CANCELS: Readonly<Record<CoreCapabilities['cancels'], ProviderCancels>> = {
  nothing: ProviderCancels.NOTHING,
  queued: ProviderCancels.QUEUED,
  running: ProviderCancels.RUNNING,
};

/** A provider as operators see it. */
export function renderProvider(p: ConnectedProvider): MessageInitShape<typeof ConnectedProviderSchema> {
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

export function renderCost({
  attempt,
  provider,
  inputTokens,
  outputTokens,
  computeMs,
  money,
}: AttemptCost): MessageInitShape<typeof ProviderCostSchema> {
  return {
    attempt,
    provider,
    ...(inputTokens === undefined ? {} : { inputTokens: BigInt(inputTokens) }),
    ...(outputTokens === undefined ? {} : { outputTokens: BigInt(outputTokens) }),
    ...(computeMs === undefined ? {} : { computeMs: BigInt(computeMs) }),
    ...(money === undefined ? {} : { money: { micros: BigInt(money.micros), currency: money.currency } }),
  };
}

function renderCapabilities(p: CoreCapabilities): MessageInitShape<typeof ProviderPromisesSchema> {
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

function renderWorker({
  worker,
  health: { circuit, pausedUntil, lastError, medianSubmitMs },
  tasks,
  waiting,
  slots,
  seenAt,
  isCurrent,
}: ProviderWorker): MessageInitShape<typeof ProviderWorkerSchema> {
  return {
    worker,
    circuit: CIRCUIT[circuit],
    ...(pausedUntil === undefined ? {} : { pauseEndTime: timestamp(pausedUntil) }),
    ...(lastError === undefined ? {} : { lastError: { time: timestamp(lastError.at), message: lastError.message } }),
    ...(medianSubmitMs === undefined ? {} : { medianSubmitTime: duration(medianSubmitMs) }),
    tasks,
    waiting,
    slots,
    seenTime: timestamp(seenAt),
    current: isCurrent,
  };
}

export const USAGE_BY: Readonly<Record<Word, UsageBy>> = {
  day: UsageBy.DAY,
  model: UsageBy.MODEL,
  key: UsageBy.KEY,
  client_trace_id: UsageBy.CLIENT_TRACE_ID,
};

/** Its cursor is the token of the next page already. */
export function renderUsage({
  request: { from, to },
  groups,
  total,
  nextCursor = '',
}: Usage): Omit<MessageInitShape<typeof GetAccountUsageResponseSchema>, '$typeName'> {
  return { rows: groups.map(renderUsageRow), total: renderSums(total), from, to, nextPageToken: nextCursor };
}

export function renderModelCosts({ modelKey, money, ...sums }: ModelCosts): MessageInitShape<typeof ModelCostsSchema> {
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

function renderSums(sums: UsageSums): MessageInitShape<typeof UsageSumsSchema> {
  return {
    generations: BigInt(sums.generations),
    failed: BigInt(sums.failed),
    reservedCredits: BigInt(sums.reservedCredits),
    chargedCredits: BigInt(sums.chargedCredits),
    releasedCredits: BigInt(sums.releasedCredits),
  };
}

function renderUsageRow({ group, credentialName, ...sums }: UsageGroup): MessageInitShape<typeof UsageRowSchema> {
  return { group, ...(credentialName === undefined ? {} : { credentialName }), sums: renderSums(sums) };
}
