import type { Context } from '../context.js';
import { added, NO_USAGE, type TraceRow, type UsageSums } from './usage.js';

type Ports = Pick<Context, 'usage' | 'call'>;

export interface TraceGroup extends UsageSums {
  /** The trace id; empty for entries without one. */
  readonly group: string;
}

export interface Traces {
  readonly accountId: string;
  readonly days: readonly string[];
  /** Only trace ids behind this one. */
  readonly after: string | undefined;
  /** Rows of each day that are read at a time, 1 to 1,000. */
  readonly rowsADay: number;
}

/** Days that are read at the same time, so that one request does not take every connection to the store. */
const AT_ONCE = 8;

/**
 * The sums of each trace id, in the order of their text. Merges the days, whose rows are in that order each: what it reads
 * and keeps does not grow with the number of trace ids in front of or behind those that its caller takes.
 */
export async function* traceGroups(ports: Ports, traces: Traces): AsyncGenerator<TraceGroup> {
  const days = traces.days.map((day) => new DayOfTraces(ports, day, traces));
  for (let at = 0; at < days.length; at += AT_ONCE)
    await Promise.all(days.slice(at, at + AT_ONCE).map((day) => day.fill()));
  for (;;) {
    let group: string | undefined;
    for (const { next } of days)
      if (next !== undefined && (group === undefined || next.clientTraceId < group)) group = next.clientTraceId;
    if (group === undefined) return;
    let sums = NO_USAGE;
    for (const day of days) {
      if (day.next?.clientTraceId !== group) continue;
      sums = added(sums, day.next);
      await day.take();
    }
    yield { group, ...sums };
  }
}

/** The rows of one day in the order of their trace ids, of which a bounded number is kept. */
class DayOfTraces {
  private rows: readonly TraceRow[] = [];
  private taken = 0;
  private isAtEnd = false;

  constructor(
    private readonly ports: Ports,
    private readonly day: string,
    private readonly traces: Traces,
  ) {}

  get next(): TraceRow | undefined {
    return this.rows[this.taken];
  }

  async take(): Promise<void> {
    this.taken += 1;
    if (this.next === undefined) await this.fill();
  }

  async fill(): Promise<void> {
    if (this.isAtEnd) return;
    const { accountId, after, rowsADay: limit } = this.traces;
    const { day } = this;
    const clientTraceId = this.rows.at(-1)?.clientTraceId ?? after;
    const page = clientTraceId === undefined ? { limit } : { limit, after: { day, clientTraceId } };
    this.rows = await this.ports.usage.listTraces(accountId, { from: day, to: day }, page, this.ports.call);
    this.taken = 0;
    this.isAtEnd = this.rows.length < limit;
  }
}
