import { useCallback, useEffect, useState } from 'preact/hooks';
import type { AccountGeneration } from '../server-types.js';
import { read, sentenceOf } from '../server.js';
import { useLatest } from '../use-data.js';
import { isOpen } from './generation-texts.js';

export interface GenerationFilter {
  readonly app?: string | undefined;
  readonly status?: string | undefined;
  readonly model?: string | undefined;
  readonly key?: string | undefined;
  readonly kind?: string | undefined;
  /** Words of the prompt, an id or a trace id. */
  readonly q?: string | undefined;
  /** UTC days, both included. */
  readonly from?: string | undefined;
  readonly to?: string | undefined;
}

const DAY_MS = 86_400_000;

/** The query of the server for a filter. A text that is not a day is sent as it is, so that the server refuses it. */
function queryOf({ app, status, model, key, kind, q, from, to }: GenerationFilter): URLSearchParams {
  const startOf = (day: string, later: number): string => {
    const at = Date.parse(`${day}T00:00:00Z`);
    return Number.isNaN(at) ? day : new Date(at + later * DAY_MS).toISOString();
  };
  const given = {
    app_id: app,
    status,
    model_key: model,
    credential_id: key,
    modality: kind,
    q,
    created_after: from === undefined ? undefined : startOf(from, 0),
    created_before: to === undefined ? undefined : startOf(to, 1),
  };
  const entries = Object.entries(given).filter((entry): entry is [string, string] => entry[1] !== undefined);
  return new URLSearchParams(entries);
}

interface Answer {
  readonly generations: readonly AccountGeneration[];
  readonly next_cursor?: string;
}

interface Listed {
  readonly items: readonly AccountGeneration[];
  readonly cursor: string | undefined;
}

/** The generations of the account that a filter lets through, newest first. */
export interface GenerationsList {
  /** Undefined until the first page is here. */
  readonly items: readonly AccountGeneration[] | undefined;
  readonly fault: string | undefined;
  /** New ones that are not shown yet, because the person reads further down. */
  readonly waiting: number;
  readonly showWaiting: () => void;
  readonly hasMore: boolean;
  readonly isReading: boolean;
  readonly more: () => Promise<void>;
  readonly reload: () => Promise<void>;
}

const PAGE = 24;
/** While some are open, and otherwise. */
const POLL_MS = { open: 2_000, resting: 5_000 } as const;
/** Scrolled further than this, in CSS pixels, new ones are not inserted above. */
const TOP_PX = 240;
/** A page of a filter may be empty although more follow. */
const MAX_EMPTY_PAGES = 5;

/** The list stays that of the filter that was given first: another one is another component. */
export function useGenerationList(filter: GenerationFilter): GenerationsList {
  const [query] = useState(() => queryOf(filter).toString());
  const [listed, setListed] = useState<Listed>();
  const [held, setHeld] = useState<Listed>();
  const [fault, setFault] = useState<string>();
  const [isReading, setReading] = useState(false);

  const load = useCallback(
    async (take: (page: Listed) => void, cursor?: string, signal?: AbortSignal): Promise<void> => {
      try {
        take(await readPage(query, cursor, signal));
        setFault(undefined);
      } catch (error) {
        if (signal?.aborted !== true) setFault(sentenceOf(error));
      }
    },
    [query],
  );
  const refresh = useLatest((page: Listed): void => {
    const known = listed;
    const merged = known === undefined ? page : refreshed(known, page);
    if (known === undefined || window.scrollY < TOP_PX || countNew(known, merged) === 0) {
      setListed(merged);
      setHeld(undefined);
    } else {
      setHeld(merged);
      // What is shown already is brought up to date in its place.
      setListed({ ...known, items: known.items.map((one) => find(merged, one) ?? one) });
    }
  });

  useEffect(() => {
    const leaving = new AbortController();
    void load(refresh, undefined, leaving.signal);
    return () => leaving.abort();
  }, [load, refresh]);
  const isLive = listed?.items.some(isOpen) === true;
  useEffect(() => {
    const timer = setInterval(
      () => {
        if (!document.hidden) void load(refresh);
      },
      isLive ? POLL_MS.open : POLL_MS.resting,
    );
    return () => clearInterval(timer);
  }, [load, refresh, isLive]);

  const more = async (): Promise<void> => {
    if (listed?.cursor === undefined || isReading) return;
    setReading(true);
    await load((page) => setListed((before) => (before === undefined ? page : joined(before, page))), listed.cursor);
    setReading(false);
  };
  return {
    items: listed?.items,
    fault,
    waiting: listed === undefined || held === undefined ? 0 : countNew(listed, held),
    showWaiting: () => {
      setListed(held ?? listed);
      setHeld(undefined);
      window.scrollTo(0, 0);
    },
    hasMore: listed?.cursor !== undefined,
    isReading,
    more,
    reload: () => load(refresh),
  };
}

async function readPage(query: string, from: string | undefined, signal?: AbortSignal): Promise<Listed> {
  let cursor = from;
  for (let pages = 0; ; pages += 1) {
    const given = new URLSearchParams(query);
    given.set('limit', String(PAGE));
    if (cursor !== undefined) given.set('cursor', cursor);
    const answer = await read<Answer>(`/generations?${given.toString()}`, signal);
    cursor = answer.next_cursor;
    if (answer.generations.length > 0 || cursor === undefined || pages >= MAX_EMPTY_PAGES)
      return { items: answer.generations, cursor };
  }
}

function joined({ items: known }: Listed, { items, cursor }: Listed): Listed {
  const ids = new Set(known.map(({ generation_id: id }) => id));
  return { items: [...known, ...items.filter(({ generation_id: id }) => !ids.has(id))], cursor };
}

/** The first page once more: what was behind it stays. */
function refreshed(known: Listed, { items, cursor }: Listed): Listed {
  const last = items.at(-1);
  if (last === undefined || cursor === undefined) return { items, cursor };
  const ids = new Set(items.map(({ generation_id: id }) => id));
  const behind = known.items.filter((one) => one.created_at <= last.created_at && !ids.has(one.generation_id));
  return behind.length === 0 ? { items, cursor } : { items: [...items, ...behind], cursor: known.cursor };
}

function find({ items }: Listed, { generation_id: id }: AccountGeneration): AccountGeneration | undefined {
  return items.find((one) => one.generation_id === id);
}

function countNew(known: Listed, { items }: Listed): number {
  const ids = new Set(known.items.map(({ generation_id: id }) => id));
  return items.filter(({ generation_id: id }) => !ids.has(id)).length;
}
