import { durationMs } from '@bufbuild/protobuf/wkt';
import type { AttemptCost } from '../../../core/generation/generation.js';
import type { ProviderPromises } from '../../../core/ports/provider.js';
import type { ConnectedProvider, ProviderWorker } from '../../../core/providers/list-providers.js';
import type {
  ConnectedProvider as ProviderMessage,
  ProviderCost,
  ProviderPromises as PromisesMessage,
  ProviderWorker as WorkerMessage,
} from '../../grpc/generated/darkroom/v1/providers_pb.js';
import { CANCELS, CIRCUIT } from '../../grpc/render/providers.js';
import { present, timeOf, wordOf } from './grpc-values.js';

// What a server answers of providers, as the commands show it.

export function providerOf(p: ProviderMessage): ConnectedProvider {
  const { name, kind, maxConcurrent, maxSubmissionsPerMinute, tasks, waiting } = p;
  return {
    name,
    kind,
    limits: {
      ...(maxConcurrent === undefined ? {} : { maxConcurrent }),
      ...(maxSubmissionsPerMinute === undefined ? {} : { maxSubmissionsPerMinute }),
    },
    models: p.models.map(({ modelKey, weight, promises }) => ({ modelKey, weight, promises: promisesOf(promises) })),
    circuit: wordOf(CIRCUIT, p.circuit),
    tasks,
    waiting,
    workers: p.workers.map(workerOf),
  };
}

export function costOf({ attempt, provider, inputTokens, outputTokens, computeMs, money }: ProviderCost): AttemptCost {
  return {
    attempt,
    provider,
    ...(inputTokens === undefined ? {} : { inputTokens: Number(inputTokens) }),
    ...(outputTokens === undefined ? {} : { outputTokens: Number(outputTokens) }),
    ...(computeMs === undefined ? {} : { computeMs: Number(computeMs) }),
    ...(money === undefined ? {} : { money: { micros: Number(money.micros), currency: money.currency } }),
  };
}

function promisesOf(message: PromisesMessage | undefined): ProviderPromises {
  const promises = present(message);
  const { answersWithOutputs, askedByToken, takesTokenOnce, settleTime, cancels, resultsKept, paid } = promises;
  const { maxMaskedReferences } = promises;
  return {
    answersWithOutputs,
    isAskedBy: askedByToken ? 'token' : 'nothing',
    takesTokenOnce,
    settleMs: durationMs(present(settleTime)),
    cancels: wordOf(CANCELS, cancels),
    ...(resultsKept === undefined ? {} : { keepsResultsMs: durationMs(resultsKept) }),
    isPaid: paid,
    ...(maxMaskedReferences === 0 ? {} : { maxMaskedReferences }),
  };
}

function workerOf(w: WorkerMessage): ProviderWorker {
  const { worker, circuit, pauseEndTime, lastError, medianSubmitTime, tasks, waiting, slots, seenTime, current } = w;
  return {
    worker,
    health: {
      circuit: wordOf(CIRCUIT, circuit),
      ...(pauseEndTime === undefined ? {} : { pausedUntil: timeOf(pauseEndTime) }),
      ...(lastError === undefined ? {} : { lastError: { at: timeOf(lastError.time), message: lastError.message } }),
      ...(medianSubmitTime === undefined ? {} : { medianSubmitMs: durationMs(medianSubmitTime) }),
    },
    tasks,
    waiting,
    slots,
    seenAt: timeOf(seenTime),
    isCurrent: current,
  };
}
