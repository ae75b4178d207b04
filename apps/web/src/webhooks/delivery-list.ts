import { useCallback, useEffect, useState } from 'preact/hooks';
import type { AccountDelivery } from '../server-types.js';
import { read, sentenceOf } from '../server.js';
import { useEvery } from '../use-data.js';

/** The delays between readings: while a delivery is being sent, and otherwise. */
const POLL_MS = { sending: 1_000, resting: 4_000 };
/** A try takes up to 15 seconds; one that is much overdue waits for its turn. */
const SENDING_MS = 20_000;
/** A page of a filter may be empty although more follow. */
const MAX_EMPTY_PAGES = 5;

/** A page of deliveries. */
export interface Deliveries {
  readonly deliveries: readonly AccountDelivery[];
  readonly next_cursor?: string;
}

interface Listed {
  readonly query: string;
  readonly items: readonly AccountDelivery[];
  readonly cursor: string | undefined;
}

/** The deliveries that a query finds, newest first; those of another query replace them. New ones appear by themselves; the pages that are loaded stay. */
export function useDeliveryList(query: string) {
  const [listed, setListed] = useState<Listed>();
  const [fault, setFault] = useState<string>();
  const [isReading, setReading] = useState(false);
  const load = useCallback(
    async (cursor?: string, signal?: AbortSignal): Promise<void> => {
      try {
        const page = await readPage(query, cursor, signal);
        setListed((known) => merged(known, page, cursor !== undefined));
        setFault(undefined);
      } catch (error) {
        if (signal?.aborted !== true) setFault(sentenceOf(error));
      }
    },
    [query],
  );
  useEffect(() => {
    const leaving = new AbortController();
    void load(undefined, leaving.signal);
    return () => leaving.abort();
  }, [load]);
  useEvery(listed?.items.some(isDue) === true ? POLL_MS.sending : POLL_MS.resting, () => load());
  const cursor = listed?.query === query ? listed.cursor : undefined;
  const more = async (): Promise<void> => {
    setReading(true);
    await load(cursor);
    setReading(false);
  };
  return {
    /** Undefined until the first page is loaded. */
    items: listed?.items,
    fault,
    isReading,
    /** Absent once all pages are loaded. */
    more: cursor === undefined ? undefined : more,
    /** Never rejects. */
    reload: useCallback(() => load(), [load]),
  };
}

function isDue({ next_attempt_at: next }: AccountDelivery): boolean {
  return next !== undefined && Math.abs(Date.parse(next) - Date.now()) < SENDING_MS;
}

async function readPage(query: string, from: string | undefined, signal?: AbortSignal): Promise<Listed> {
  let cursor = from;
  for (let pages = 0; ; pages += 1) {
    const after = cursor === undefined ? '' : `&cursor=${encodeURIComponent(cursor)}`;
    const { deliveries: items, next_cursor: next } = await read<Deliveries>(`/deliveries?${query}${after}`, signal);
    cursor = next;
    if (items.length > 0 || cursor === undefined || pages >= MAX_EMPTY_PAGES) return { query, items, cursor };
  }
}

/** What is known with another page behind it, or with its first page once more. */
function merged(known: Listed | undefined, page: Listed, isBehind: boolean): Listed {
  const { query, items, cursor } = page;
  if (known?.query !== query || (!isBehind && cursor === undefined)) return page;
  const [above, below] = isBehind ? [known.items, items] : [items, known.items];
  const ids = new Set(above.map(({ delivery_id: id }) => id));
  const end = above.at(-1)?.created_at ?? '';
  const rest = below.filter(({ delivery_id: id, created_at: at }) => (isBehind || at <= end) && !ids.has(id));
  return { query, items: [...above, ...rest], cursor: isBehind || rest.length === 0 ? cursor : known.cursor };
}
