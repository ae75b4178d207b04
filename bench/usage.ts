/** What a process has used since it began, all its threads together. */
export interface Usage {
  readonly cpuMicros: number;
  readonly rssBytes: number;
}

export function usageOfThisProcess(): Usage {
  const { user, system } = process.cpuUsage();
  return { cpuMicros: user + system, rssBytes: process.memoryUsage.rss() };
}

/** Microseconds on a clock that all processes of one machine read alike. */
export function machineMicros(): number {
  return Number(process.hrtime.bigint() / 1_000n);
}
