import { useCallback, useEffect, useState } from 'preact/hooks';
import type { AccountDelivery } from '../server-types.js';
import { read, sentenceOf } from '../server.js';

/** The delays between readings while the page is visible: while a delivery is being sent, and otherwise. */
const POLL_MS = { sending: 1_000, resting: 4_000 };
/** A page of a filter may be empty although more follow. */
const MAX_EMPTY_PAGES = 5;

interface Listed {
  readonly query: string;
  readonly items: readonly AccountDelivery[];
  readonly cursor: string | undefined;
  /** Whether one is being sent, or is about to be. */
  readonly isSending?: boolean;
}

interface Answer {
  readonly deliveries: readonly AccountDelivery[];
  readonly next_cursor?: string;
}

export interface DeliveryList {
  /** Undefined until the first page is loaded. */
  readonly items: readonly AccountDelivery[] | undefined;
  readonly fault: string | undefined;
  readonly isReading: boolean;
  /** Absent once all pages are loaded. */
  readonly more: (() => Promise<void>) | undefined;
  /** Never rejects. */
  readonly reload: () => Promise<void>;
}

/** The deliveries that a query finds, newest first; those of another query replace them. New ones appear by themselves; the pages that are loaded stay. */
export function useDeliveryList(query: string): DeliveryList {
  const [listed, setListed] = useState<Listed>();
  const [fault, setFault] = useState<string>();
  const [isReading, setReading] = useState(false);
  const load = useCallback(
    async (cursor?: string, signal?: AbortSignal): Promise<void> => {
      try {
        const page = await readPage(query, cursor, signal);
        const isSending = page.items.some((one) => isDue(one, Date.now()));
        setListed((known) => ({ ...merged(known, page, cursor !== undefined), isSending }));
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
  const delayMs = listed?.isSending === true ? POLL_MS.sending : POLL_MS.resting;
  useEffect(() => {
    const timer = setInterval(() => {
      if (!document.hidden) void load();
    }, delayMs);
    return () => clearInterval(timer);
  }, [load, delayMs]);
  const cursor = listed?.query === query ? listed.cursor : undefined;
  const more = async (): Promise<void> => {
    setReading(true);
    await load(cursor);
    setReading(false);
  };
  return {
    items: listed?.items,
    fault,
    isReading,
    more: cursor === undefined ? undefined : more,
    reload: useCallback(() => load(), [load]),
  };
}

/** A try takes up to 15 seconds; one that is much overdue waits for its turn. */
const SENDING_MS = 20_000;

function isDue({ next_attempt_at: next }: AccountDelivery, now: number): boolean {
  return next !== undefined && Math.abs(Date.parse(next) - now) < SENDING_MS;
}

async function readPage(query: string, from: string | undefined, signal?: AbortSignal): Promise<Listed> {
  let cursor = from;
  for (let pages = 0; ; pages += 1) {
    const after = cursor === undefined ? '' : `&cursor=${encodeURIComponent(cursor)}`;
    const { deliveries, next_cursor: next } = await read<Answer>(`/deliveries?${query}${after}`, signal);
    cursor = next;
    if (deliveries.length > 0 || cursor === undefined || pages >= MAX_EMPTY_PAGES)
      return { query, items: deliveries, cursor };
  }
}

/** What is known with another page behind it, or with its first page once more. */
function merged(known: Listed | undefined, page: Listed, isBehind: boolean): Listed {
  const { query, items, cursor } = page;
  if (known?.query !== query) return page;
  const ids = new Set((isBehind ? known : page).items.map(({ delivery_id: id }) => id));
  if (isBehind)
    return { query, items: [...known.items, ...items.filter(({ delivery_id: id }) => !ids.has(id))], cursor };
  const last = items.at(-1);
  if (last === undefined || cursor === undefined) return page;
  const behind = known.items.filter((one) => one.created_at <= last.created_at && !ids.has(one.delivery_id));
  return behind.length === 0 ? page : { query, items: [...items, ...behind], cursor: known.cursor };
}
