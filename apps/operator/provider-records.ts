import type { ProviderPromises } from '../../core/ports/provider.js';
import type { ConnectedProvider, ProviderWorker } from '../../core/providers/list-providers.js';
import { isoTime } from './iso-time.js';

/** How the commands write what there is of providers as JSON. */
export function providerJson(p: ConnectedProvider) {
  const { maxConcurrent, maxSubmissionsPerMinute } = p.limits;
  return {
    name: p.name,
    kind: p.kind,
    circuit: p.circuit,
    tasks: p.tasks,
    waiting: p.waiting,
    ...(maxConcurrent === undefined ? {} : { max_concurrent: maxConcurrent }),
    ...(maxSubmissionsPerMinute === undefined ? {} : { max_submissions_per_minute: maxSubmissionsPerMinute }),
    models: p.models.map(({ modelKey, weight, promises }) => ({
      model_key: modelKey,
      weight,
      promises: promisesJson(promises),
    })),
    workers: p.workers.map(workerJson),
  };
}

export function promisesJson(p: ProviderPromises) {
  return {
    answers_with_outputs: p.answersWithOutputs,
    is_asked_by: p.isAskedBy,
    takes_token_once: p.takesTokenOnce,
    settle_ms: p.settleMs,
    cancels: p.cancels,
    ...(p.keepsResultsMs === undefined ? {} : { keeps_results_ms: p.keepsResultsMs }),
    is_paid: p.isPaid,
    ...(p.maxMaskedReferences === undefined ? {} : { max_masked_references: p.maxMaskedReferences }),
  };
}

function workerJson({ worker, health, tasks, waiting, slots, seenAt, isCurrent }: ProviderWorker) {
  const { circuit, pausedUntil, lastError, medianSubmitMs } = health;
  return {
    worker,
    circuit,
    ...(pausedUntil === undefined ? {} : { paused_until: isoTime(pausedUntil) }),
    ...(lastError === undefined ? {} : { last_error: { at: isoTime(lastError.at), message: lastError.message } }),
    ...(medianSubmitMs === undefined ? {} : { median_submit_ms: medianSubmitMs }),
    tasks,
    waiting,
    slots,
    seen_at: isoTime(seenAt),
    is_current: isCurrent,
  };
}
