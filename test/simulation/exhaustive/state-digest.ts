import { createHash } from 'node:crypto';
import { stableJson } from './small-process.js';
import type { SmallRun } from './small-run.js';
import type { Snapshot } from './state-checks.js';

/**
 * Identifies a state by everything its future depends on: all stored data, the time, what may still fail, and for each
 * process its observations and the timers it has set. Core is a function of its observations (calls, their answers, the
 * time, its own ids), so two runs with the same digest continue alike, and one of them is enough. Data without a future
 * effect is left out: everything about a dead process, and what a REST process remembers that is never used again.
 * Digests are SHA-256; collisions are not expected.
 */
export function digestOf(run: SmallRun, snapshot: Snapshot, bounds: { readonly retries: number }): string {
  const { time, provider } = run.service;
  const seats = run.seats.map(({ process, client, incarnation }) => {
    const isOver =
      process.pending.length === 0 &&
      (client === 'answered' || (client === 'again' && run.spent.retries >= bounds.retries));
    return isOver || !process.isAlive
      ? [client, incarnation, process.isAlive && !isOver]
      : [client, incarnation, process.observed, timersOf(process)];
  });
  const worker = run.worker.isAlive ? [run.worker.observed, timersOf(run.worker)] : [];
  const tasks = [...provider.tasks.values()].map(({ submission, report, cancels }) => [
    submission.token,
    report.state,
    cancels,
  ]);
  const state = [storedText(run, snapshot), time.now, run.spent, seats, worker, tasks];
  return hash(stableJson(state));
}

/** Identifies the data that decides how everything ends once all processes are gone and faults have stopped. */
export function restDigestOf(run: SmallRun, snapshot: Snapshot): string {
  const tasks = [...run.service.provider.tasks.values()].map(({ submission }) => submission.token);
  return hash(stableJson([storedText(run, snapshot), run.service.time.now, tasks]));
}

function storedText(run: SmallRun, { account, entries, records }: Snapshot): string {
  return `${stableJson([account, entries, records])} ${run.service.wakeUps()} ${run.service.witness.summary()}`;
}

function timersOf({ timers }: SmallRun['worker']): unknown[] {
  return timers.map((timer) => [timer.of, timer.at]);
}

function hash(text: string): string {
  return createHash('sha256').update(text).digest('base64');
}
