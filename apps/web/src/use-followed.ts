import { useCallback, useEffect, useState } from 'preact/hooks';
import { inOrder, isRefusedAgain, isUnreachable, read, sentenceOf } from './server.js';
import { RETRY_MS, useEvery, useLatest, useLost } from './use-data.js';

/** A list that is read again and again. */
export interface Followed<T> {
  /** Undefined until the first page is here. */
  readonly items: readonly T[] | undefined;
  readonly fault: string | undefined;
  /** Whether another request would fail in the same way. */
  readonly isFinal: boolean;
  /** The number of new ones that are held back. */
  readonly waiting: number;
  readonly showWaiting: () => void;
  readonly isReading: boolean;
  /** Absent once all pages are loaded. */
  readonly more: (() => Promise<void>) | undefined;
  /** Never rejects. */
  readonly reload: () => Promise<void>;
}

export interface FollowOptions<T> {
  /** The name of the list in the answer. */
  name: string;
  idOf: (item: T) => string;
  /** The delay until the list is read again, in milliseconds. */
  delayOf: (items: readonly T[]) => number;
  /** Whether new ones are held back now, so that nothing moves. */
  isHeld?: () => boolean;
}

interface Listed<T> {
  readonly path: string;
  readonly items: readonly T[];
  readonly cursor: string | undefined;
}

/**
 * Loads a list page by page, newest first, and reads its first page again while the page is visible: new ones appear by themselves,
 * and what is loaded behind them stays. The list of another path takes its place once it is here.
 */
export function useFollowed<T extends { readonly created_at: string }>(
  path: string,
  { name, idOf, delayOf, isHeld }: FollowOptions<T>,
): Followed<T> {
  const [listed, setListed] = useState<Listed<T>>();
  const [held, setHeld] = useState<Listed<T>>();
  const [error, setError] = useState<unknown>();
  const [isReading, setReading] = useState(false);
  const refresh = useLatest((page: Listed<T>) => {
    if (page.path !== path) return;
    const next = merged(listed, page, idOf);
    const mustWait = listed?.path === path && isHeld?.() === true && newIn(next, listed, idOf).length > 0;
    setHeld(mustWait ? next : undefined);
    if (!mustWait) return setListed((known) => merged(known, page, idOf));
    // Items that are shown already are updated in place.
    const fresh = new Map(next.items.map((item) => [idOf(item), item]));
    setListed({ ...listed, items: listed.items.map((item) => fresh.get(idOf(item)) ?? item) });
  });
  const [begin] = useState(inOrder);
  const load = useCallback(
    async (cursor?: string, signal?: AbortSignal): Promise<void> => {
      // Only the first page is read again and again.
      const isLate = cursor === undefined ? begin() : () => false;
      try {
        const page = await readPage<T>(path, name, cursor, signal);
        if (isLate()) return;
        if (cursor === undefined) refresh(page);
        else setListed((known) => (known === undefined ? page : joined(known, page, idOf)));
        setError(undefined);
      } catch (failure) {
        if (signal?.aborted !== true && !isLate()) setError(failure);
      }
    },
    // oxlint-disable-next-line react-hooks/exhaustive-deps
    [path],
  );
  useEffect(() => {
    const leaving = new AbortController();
    void load(undefined, leaving.signal);
    return () => leaving.abort();
  }, [load]);
  const isLost = isUnreachable(error);
  useLost(isLost);
  useEvery(isLost ? RETRY_MS : delayOf(listed?.items ?? []), () => load());
  const cursor = listed?.path === path ? listed.cursor : undefined;
  const more = async (): Promise<void> => {
    if (isReading) return;
    setReading(true);
    await load(cursor);
    setReading(false);
  };
  return {
    items: listed?.items,
    fault: error === undefined || isLost ? undefined : sentenceOf(error),
    isFinal: isRefusedAgain(error),
    waiting: listed === undefined || held === undefined ? 0 : newIn(held, listed, idOf).length,
    showWaiting: () => {
      setListed(held ?? listed);
      setHeld(undefined);
    },
    isReading,
    more: cursor === undefined ? undefined : more,
    reload: useCallback(() => load(), [load]),
  };
}

/** A page of a filter may be empty although more follow. */
const MAX_EMPTY_PAGES = 5;

async function readPage<T>(path: string, name: string, from?: string, signal?: AbortSignal): Promise<Listed<T>> {
  let cursor = from;
  for (let pages = 0; ; pages += 1) {
    const after = cursor === undefined ? '' : `&cursor=${encodeURIComponent(cursor)}`;
    const answer = await read<{ readonly next_cursor?: string }>(path + after, signal);
    const items = (answer as Readonly<Record<string, readonly T[]>>)[name] ?? [];
    cursor = answer.next_cursor;
    if (items.length > 0 || cursor === undefined || pages >= MAX_EMPTY_PAGES) return { path, items, cursor };
  }
}

type IdOf<T> = (item: T) => string;

/** The items of one list that the other does not have. */
function newIn<T>(list: Listed<T>, other: Listed<T>, idOf: IdOf<T>): readonly T[] {
  const ids = new Set(other.items.map(idOf));
  return list.items.filter((item) => !ids.has(idOf(item)));
}

function joined<T>(known: Listed<T>, page: Listed<T>, idOf: IdOf<T>): Listed<T> {
  return known.path === page.path ? { ...page, items: [...known.items, ...newIn(page, known, idOf)] } : page;
}

/** The first page once more, with what is known behind it. */
function merged<T extends { readonly created_at: string }>(
  known: Listed<T> | undefined,
  page: Listed<T>,
  idOf: IdOf<T>,
): Listed<T> {
  const last = page.items.at(-1);
  if (known?.path !== page.path || last === undefined || page.cursor === undefined) return page;
  const behind = newIn(known, page, idOf).filter(({ created_at: at }) => at <= last.created_at);
  return behind.length === 0 ? page : { ...known, items: [...page.items, ...behind] };
}
