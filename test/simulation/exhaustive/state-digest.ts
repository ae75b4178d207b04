import { createHash } from 'node:crypto';
import type { SmallRun } from './small-run.js';
import type { Snapshot } from './state-checks.js';
import { stableJson } from './stable-json.js';

/**
 * What a state is, for what can still come of it: all that is stored, the time, what may still go wrong, and of each
 * process what it has observed and which timers it has set. Core is a function of what it observes (calls, their
 * answers, the time, its own ids), so two runs with the same digest go on alike, and one of them is enough. Left out,
 * since nothing comes of it any more: all about a process that is dead, and what a REST process remembers that is never
 * asked again. Digests are SHA-256; that two states share one is not to be expected.
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

/** What decides how everything ends once all processes are gone and faults have stopped. */
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
