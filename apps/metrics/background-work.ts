import type { WakeUps } from '../../core/ports/wake-ups.js';
import { NOTHING, type Recovered } from '../../core/recovery/recover.js';
import type { Instruments } from './instruments.js';

const SECONDS = [0.01, 0.05, 0.1, 0.5, 1, 5, 15, 60, 300];

/** The findings of recovery in this process, and whether it keeps up. */
export function recoveryPasses({ counter, gauge, histogram }: Instruments) {
  const durations = histogram(
    'darkroom_recovery_pass_duration_seconds',
    'Duration of completed recovery passes.',
    SECONDS,
  );
  const full = counter(
    'darkroom_recovery_full_passes_total',
    'Recovery passes that reached their limit and left more to do.',
  );
  const lastEndedAt = gauge(
    'darkroom_recovery_last_pass_timestamp_seconds',
    'When the last recovery pass was completed; 0 before the first.',
  );
  const found = counter('darkroom_recovery_found_total', 'What recovery found, and what it did about it.', [
    'kind',
    'outcome',
  ]);
  const count = ({
    generations,
    holds,
    uploads,
    deliveries,
    claimsRemoved,
    fingerprintsRemoved,
    artefactsRemoved,
    erasures,
  }: Recovered): void => {
    const { nextCursor: _nextCursor, ...heldOutcomes } = holds;
    const kinds = {
      generation: generations,
      hold: heldOutcomes,
      upload: uploads,
      delivery: deliveries,
      claim: { removed: claimsRemoved },
      fingerprint: { removed: fingerprintsRemoved },
      artefact: { removed: artefactsRemoved },
      erasure: erasures,
    };
    for (const [kind, outcomes] of Object.entries(kinds)) {
      for (const [outcome, times] of Object.entries(outcomes)) found.inc({ kind, outcome }, times);
    }
  };
  // Shows every kind from the first scrape on, so that the first one found is a change.
  count(NOTHING);
  return {
    /** One pass was completed. */
    passed(
      recovered: Recovered,
      { durationMs, isFull }: { readonly durationMs: number; readonly isFull: boolean },
    ): void {
      durations.observe(durationMs / 1_000);
      if (isFull) full.inc();
      lastEndedAt.setToCurrentTime();
      count(recovered);
    },
  };
}

/** The wake-ups that reach this process. */
export function wakeUpDeliveries({ counter, gauge }: Instruments) {
  const delivered = counter(
    'darkroom_wake_ups_delivered_total',
    'Wake-ups delivered to this process, by whether they are done or will be delivered again.',
    ['outcome'],
  );
  const underWay = gauge(
    'darkroom_wake_ups_in_flight',
    'Wake-ups delivered and not done: most of them wait for a place in the queue of their model.',
  );
  for (const outcome of ['done', 'failed']) delivered.inc({ outcome }, 0);
  const deliver = async (handled: Promise<void>): Promise<void> => {
    underWay.inc();
    let outcome = 'failed';
    try {
      await handled;
      outcome = 'done';
    } finally {
      underWay.dec();
      delivered.inc({ outcome });
    }
  };
  return {
    /** The same wake-ups, each delivery counted. */
    counted: (wakeUps: WakeUps): WakeUps => ({
      ...wakeUps,
      start: (handler, limit) => wakeUps.start((subject) => deliver(handler(subject)), limit),
    }),
  };
}

export type WorkerCounts = () => { readonly running: number; readonly waiting: number };

/** How much the worker of this process has taken on. A process without one has none of it. */
export function workerLoad({ gauge }: Instruments) {
  let countsNow: WorkerCounts | undefined;
  const generations = gauge(
    'darkroom_worker_generations',
    'Generations this process runs, and those that wait in it for a place.',
    ['state'],
    () => {
      const counts = countsNow?.();
      for (const state of ['running', 'waiting'] as const) generations.set({ state }, counts?.[state] ?? 0);
    },
  );
  return {
    /** Asked at every scrape from now on. */
    watch: (counts: WorkerCounts): void => void (countsNow = counts),
  };
}
