import { useCallback, useEffect, useState } from 'preact/hooks';
import type { Delivery, DeliveryList, DeliveryState } from '../api-types.js';
import { inApp } from '../apps/usable-apps.js';
import { read, sentenceOf } from '../server.js';

const PAGE = 25;
/** A page with a filter may hold none, although there are more: so many are asked for at a time. */
const MAX_EMPTY_PAGES = 5;

export interface Deliveries {
  readonly shown: readonly Delivery[] | undefined;
  readonly hasMore: boolean;
  readonly fault: string | undefined;
  readonly isBusy: boolean;
  readonly more: () => Promise<void>;
  readonly reload: () => Promise<void>;
}

interface Listed {
  readonly shown: readonly Delivery[];
  readonly cursor: string | undefined;
}

/** What a webhook was told, newest first. The list stays the one that was asked for first. */
export function useDeliveries(appId: string, webhookId: string, state: DeliveryState | undefined): Deliveries {
  const [path] = useState(() => inApp(appId, `/webhooks/${encodeURIComponent(webhookId)}/deliveries`));
  const [wanted] = useState(state);
  const [listed, setListed] = useState<Listed>();
  const [fault, setFault] = useState<string>();
  const [isBusy, setBusy] = useState(false);
  const load = useCallback(
    async (before: Listed | undefined): Promise<void> => {
      setBusy(true);
      try {
        const page = await readPage(path, wanted, before?.cursor);
        setListed({ shown: [...(before?.shown ?? []), ...page.shown], cursor: page.cursor });
        setFault(undefined);
      } catch (error) {
        setFault(sentenceOf(error));
      } finally {
        setBusy(false);
      }
    },
    [path, wanted],
  );
  useEffect(() => void load(undefined), [load]);
  return {
    shown: listed?.shown,
    hasMore: listed?.cursor !== undefined,
    fault,
    isBusy,
    more: () => load(listed),
    reload: () => load(undefined),
  };
}

async function readPage(path: string, state: DeliveryState | undefined, from: string | undefined): Promise<Listed> {
  let cursor = from;
  for (let pages = 0; ; pages += 1) {
    const query = new URLSearchParams({ limit: String(PAGE) });
    if (state !== undefined) query.set('state', state);
    if (cursor !== undefined) query.set('cursor', cursor);
    const answer = await read<DeliveryList>(`${path}?${query.toString()}`);
    cursor = answer.next_cursor;
    if (answer.deliveries.length > 0 || cursor === undefined || pages >= MAX_EMPTY_PAGES)
      return { shown: answer.deliveries, cursor };
  }
}
