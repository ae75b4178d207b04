import { readFileSync } from 'node:fs';
import type { Span } from '../history/spans.js';

/** The share of its time that a process may wait for a processor before its timeouts say nothing of the program. */
export const MOST_WAITING = 0.75;

interface Sample {
  readonly at: number;
  readonly waitedMs: number;
}

export interface ProcessorWaitsOptions {
  readonly pids: () => readonly number[];
  /** In milliseconds since the epoch. */
  readonly now: () => number;
  /** How long the main thread of a process has waited for a processor so far, in milliseconds; undefined where nobody says. */
  readonly waitedMs?: (pid: number) => number | undefined;
}

/**
 * When processes were ready to run and did not, as the kernel counts it: on a machine that runs too much at once, leases and
 * calls time out without any fault. Only Linux tells; elsewhere there are no such times.
 */
export class ProcessorWaits {
  /** From one look to the next, where a process waited for more than `MOST_WAITING` of it. */
  readonly spans: Span[] = [];
  private samples = new Map<number, Sample>();

  constructor(private readonly options: ProcessorWaitsOptions) {}

  /** To be called about once a second. */
  look(): void {
    const { pids, now, waitedMs = waitedMsOf } = this.options;
    const samples = new Map<number, Sample>();
    for (const pid of pids()) {
      const waited = waitedMs(pid);
      if (waited !== undefined) samples.set(pid, { at: now(), waitedMs: waited });
    }
    const late = [...samples].flatMap(([pid, sample]) => {
      const before = this.samples.get(pid);
      return before !== undefined && isStarved(before, sample) ? [{ from: before.at, until: sample.at }] : [];
    });
    this.spans.push(...late);
    this.samples = samples;
  }
}

function isStarved(before: Sample, after: Sample): boolean {
  return after.waitedMs - before.waitedMs > MOST_WAITING * (after.at - before.at);
}

/** The second number of the file, in nanoseconds. */
function waitedMsOf(pid: number): number | undefined {
  try {
    const waited = Number(readFileSync(`/proc/${pid}/schedstat`, 'utf8').split(' ')[1]) / 1e6;
    return Number.isFinite(waited) ? waited : undefined;
  } catch {
    return undefined;
  }
}
