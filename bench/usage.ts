import { readdirSync, readFileSync } from 'node:fs';

/** Linux counts the time of other processes in hundredths of a second. */
const MICROS_PER_TICK = 10_000;
const BYTES_PER_KIBIBYTE = 1_024;

/** The resources that a process has used since it started, in all its threads. */
export interface Usage {
  readonly cpuMicros: number;
  readonly rssBytes: number;
  /** The maximum of `rssBytes` so far. */
  readonly peakRssBytes: number;
}

export function usageOfThisProcess(): Usage {
  const { user, system } = process.cpuUsage();
  return {
    cpuMicros: user + system,
    rssBytes: process.memoryUsage.rss(),
    peakRssBytes: peakRssBytes(),
  };
}

/**
 * Linux's own counter of this process, where there is one: there, `maxRSS` begins with the peak of the parent process.
 */
function peakRssBytes(): number {
  try {
    const kibibytes = /^VmHWM:\s+(\d+) kB$/m.exec(readFileSync('/proc/self/status', 'utf8'))?.[1];
    if (kibibytes !== undefined) return Number(kibibytes) * BYTES_PER_KIBIBYTE;
  } catch {
    // No `/proc`.
  }
  return process.resourceUsage().maxRSS * BYTES_PER_KIBIBYTE;
}

/**
 * The CPU time of another process of this machine, including all processes that it has started, directly or
 * indirectly, even those that have ended. Undefined if that is not visible.
 */
export function cpuMicrosOf(pid: number | undefined): number | undefined {
  if (pid === undefined) return undefined;
  const seen = processesOfMachine();
  if (!seen.has(pid)) return undefined;
  const family = new Set([pid]);
  // Iteration of a set includes members that are added during it.
  for (const parent of family) {
    for (const [child, { parentPid }] of seen) if (parentPid === parent) family.add(child);
  }
  return [...family].reduce((sum, member) => sum + (seen.get(member)?.cpuMicros ?? 0), 0);
}

interface SeenProcess {
  readonly parentPid: number;
  /** Its own CPU time, and that of its children that have ended. */
  readonly cpuMicros: number;
}

/** The processes of this machine by their ids; none where there is no `/proc`. */
function processesOfMachine(): Map<number, SeenProcess> {
  const seen = new Map<number, SeenProcess>();
  for (const pid of pidsOfMachine()) {
    try {
      // After the command's name, which is in parentheses and may hold anything: the parent is the second, and user and
      // system time, its own and of its ended children, are the 12th to 15th.
      const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ').at(-1)?.split(' ') ?? [];
      const ticks = fields.slice(11, 15).reduce((sum, field) => sum + Number(field), 0);
      seen.set(pid, { parentPid: Number(fields[1]), cpuMicros: ticks * MICROS_PER_TICK });
    } catch {
      // It has just ended.
    }
  }
  return seen;
}

function pidsOfMachine(): number[] {
  try {
    return readdirSync('/proc').map(Number).filter(Number.isInteger);
  } catch {
    return [];
  }
}

/** Microseconds on a clock that all processes of one machine read alike. */
export function machineMicros(): number {
  return Number(process.hrtime.bigint() / 1_000n);
}
