import type { Span } from '../history/spans.js';

interface Line {
  readonly time: number;
  readonly pid: number;
  readonly msg?: string;
  readonly store?: string;
  readonly awayMs?: number;
  readonly err?: { readonly type?: string };
}

/**
 * When stores did not answer in time, as the log of a process tells it: outages with their beginning and their end, and
 * single failures that are no part of one. An outage that its process did not survive ends with the last line of it.
 */
export function storeTroubles(log: string): Span[] {
  const lines = log.split('\n').flatMap(parsed);
  const lastOf = new Map(lines.map(({ pid, time }) => [pid, time]));
  return lines.flatMap((line): Span[] => {
    if (line.err?.type === 'StoreUnavailable') return [{ from: line.time, until: line.time }];
    if (line.msg !== 'store away') return [];
    const ended = lines.find((end) => isEndOf(end, line));
    return [
      {
        from: line.time,
        until: ended?.awayMs === undefined ? (lastOf.get(line.pid) ?? line.time) : line.time + ended.awayMs,
      },
    ];
  });
}

function isEndOf({ msg, pid, store, time }: Line, began: Line): boolean {
  return (
    (msg === 'store back' || msg === 'store still away') &&
    pid === began.pid &&
    store === began.store &&
    time >= began.time
  );
}

/** A process that is killed may leave half a line, and says a few words before it logs. */
function parsed(text: string): Line[] {
  if (!text.startsWith('{')) return [];
  try {
    return [JSON.parse(text) as Line];
  } catch {
    return [];
  }
}
