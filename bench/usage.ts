import { readFileSync } from 'node:fs';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

/** Linux counts the time of other processes in hundredths of a second. */
const MICROS_PER_TICK = 10_000;
const BYTES_PER_KIBIBYTE = 1_024;

/** What a process has used since it began, all its threads together. */
export interface Usage {
  readonly cpuMicros: number;
  readonly rssBytes: number;
  /** The most that `rssBytes` has been. */
  readonly peakRssBytes: number;
}

export function usageOfThisProcess(): Usage {
  const { user, system } = process.cpuUsage();
  return {
    cpuMicros: user + system,
    rssBytes: process.memoryUsage.rss(),
    peakRssBytes: process.resourceUsage().maxRSS * BYTES_PER_KIBIBYTE,
  };
}

/** Collects all garbage of this thread, so that what is in use can be told from what is not collected yet. */
export function collectGarbage(): void {
  setFlagsFromString('--expose-gc');
  (runInNewContext('gc') as () => void)();
}

/**
 * How much CPU another process of this machine has used, all its threads together; undefined where that cannot be seen.
 */
export function cpuMicrosOf(pid: number | undefined): number | undefined {
  if (pid === undefined) return undefined;
  try {
    // After the command's name, which is in parentheses and may hold anything: user and system time are the 12th and
    // 13th.
    const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ').at(-1)?.split(' ') ?? [];
    const micros = (Number(fields[11]) + Number(fields[12])) * MICROS_PER_TICK;
    return Number.isFinite(micros) ? micros : undefined;
  } catch {
    return undefined;
  }
}

/** Microseconds on a clock that all processes of one machine read alike. */
export function machineMicros(): number {
  return Number(process.hrtime.bigint() / 1_000n);
}
