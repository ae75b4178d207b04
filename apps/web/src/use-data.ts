import { signal } from '@preact/signals';
import { useCallback, useEffect, useLayoutEffect, useState } from 'preact/hooks';
import { announce } from './parts/toasts.js';
import { inOrder, isRefusedAgain, isUnreachable, read, sentenceOf } from './server.js';

/** The state of data that is loaded from the server. */
export interface Data<T> {
  readonly value: T | undefined;
  /** Why the last request was refused. */
  readonly fault: string | undefined;
  /** Whether another request would fail in the same way. */
  readonly isFinal?: boolean | undefined;
  /** Loads it again; the old value remains until then. Never rejects. */
  readonly reload: () => Promise<void>;
}

interface DataOptions<T> {
  readonly load?: (path: string, signal?: AbortSignal) => Promise<T>;
  /** Loads it again after this time, in milliseconds, while the page is visible. */
  readonly everyMs?: number;
}

/** What was loaded last, by path: a page that is opened again shows it until the new answer is here. */
const CACHE = new Map<string, unknown>();
const MAX_CACHED = 50;
/** The delay before a server that was not reached is asked again. */
export const RETRY_MS = 5_000;
/** The number of reads that wait for a server that was not reached. The page shows one message for all. */
export const lostReads = signal(0);

/** Counts a read among those while it is lost. */
export function useLost(isLost: boolean): void {
  useEffect(() => {
    if (!isLost) return undefined;
    lostReads.value += 1;
    return () => {
      lostReads.value -= 1;
    };
  }, [isLost]);
}

function keep(path: string, value: unknown): void {
  CACHE.delete(path);
  CACHE.set(path, value);
  const [oldest] = CACHE.keys();
  if (CACHE.size > MAX_CACHED && oldest !== undefined) CACHE.delete(oldest);
}

interface State<T> {
  readonly path: string;
  readonly value?: T | undefined;
  readonly fault?: string | undefined;
  readonly isFinal?: boolean | undefined;
}

/**
 * Loads from the server when the component is first shown and when the path changes. Another path begins with what it had the
 * last time. A server that is not reached is asked again every 5 seconds. `load` stays the same function.
 */
export function useData<T>(path: string, { load = read<T>, everyMs }: DataOptions<T> = {}): Data<T> {
  const [state, setState] = useState<State<T>>({ path });
  const [isLost, setLost] = useState(false);
  const [begin] = useState(inOrder);
  const known = state.path === path ? state : { path };
  const reload = useCallback(
    async (leaving?: AbortSignal): Promise<void> => {
      const isLate = begin();
      try {
        const value = await load(path, leaving);
        if (isLate()) return;
        keep(path, value);
        setState({ path, value });
        setLost(false);
      } catch (error) {
        if (leaving?.aborted === true || isLate()) return;
        setLost(isUnreachable(error));
        if (isUnreachable(error)) return;
        const [fault, isFinal] = [sentenceOf(error), isRefusedAgain(error)];
        setState((before) => ({ ...(before.path === path ? before : { path }), fault, isFinal }));
      }
    },
    [path, load, begin],
  );
  useEffect(() => {
    const leaving = new AbortController();
    void reload(leaving.signal);
    return () => leaving.abort();
  }, [reload]);
  useLost(isLost);
  useEvery(isLost ? RETRY_MS : everyMs, reload);
  return {
    value: known.value ?? (CACHE.get(path) as T | undefined),
    fault: known.fault,
    isFinal: known.isFinal,
    reload: useCallback(() => reload(), [reload]),
  };
}

/** Something that a person has the page do: whether it is under way, and why it did not work the last time. */
export interface Action {
  readonly isBusy: boolean;
  readonly fault: string | undefined;
  /** The error behind the fault. */
  readonly error: unknown;
  readonly setFault: (sentence: string | undefined) => void;
  /** Never rejects: what the work throws is the fault. Returns whether it worked. */
  readonly run: (work: () => Promise<void>) => Promise<boolean>;
}

export function useAction(): Action {
  const [isBusy, setBusy] = useState(false);
  const [failed, setFailed] = useState<{ readonly fault?: string | undefined; readonly error?: unknown }>({});
  const run = async (work: () => Promise<void>): Promise<boolean> => {
    setBusy(true);
    setFailed({});
    try {
      await work();
      return true;
    } catch (error) {
      setFailed({ fault: sentenceOf(error), error });
      return false;
    } finally {
      setBusy(false);
    }
  };
  return { isBusy, fault: failed.fault, error: failed.error, setFault: (fault) => setFailed({ fault }), run };
}

/** A function that stays the same and calls what the last render gave it, for listeners and observers. */
export function useLatest<A extends unknown[]>(work: (...given: A) => void): (...given: A) => void {
  const [latest] = useState(() => ({ call: work }));
  useLayoutEffect(() => {
    Object.assign(latest, { call: work });
  });
  return useCallback((...given: A) => latest.call(...given), [latest]);
}

/** Runs the work after each delay, in milliseconds, while the page is visible; never without a delay. */
export function useEvery(delayMs: number | undefined, work: () => unknown): void {
  const latest = useLatest(work);
  useEffect(() => {
    if (delayMs === undefined) return;
    const timer = setInterval(() => {
      if (!document.hidden) latest();
    }, delayMs);
    return () => clearInterval(timer);
  }, [delayMs, latest]);
}

/** The present time, which is read again after each delay, in milliseconds; never without a delay. */
export function useNow(delayMs: number | undefined): number {
  const [now, setNow] = useState(() => Date.now());
  useEvery(delayMs, () => setNow(Date.now()));
  return now;
}

/** Moves the focus to a heading, once the page is drawn. */
export function focusOn(id: string): void {
  requestAnimationFrame(() => document.getElementById(id)?.focus());
}

/** Moves the focus to the first field that has an error, once the page is drawn. */
export function focusOnFaulty(form: HTMLElement | null): void {
  requestAnimationFrame(() => form?.querySelector<HTMLElement>('[aria-invalid=true]')?.focus());
}

/** After a change: loads what has changed, reports it, and moves the focus to a heading. */
export function afterChange(reload: () => Promise<void>, headingId: string): (sentence: string) => Promise<void> {
  return async (sentence) => {
    await reload();
    announce(sentence);
    focusOn(headingId);
  };
}

/**
 * The value that is shown once. It is kept in this part of the page and nowhere else, until the person has it or leaves.
 * Returns it, the function that sets it, and the one that closes it, which moves the focus to a heading.
 */
export function useShownOnce<T>(headingId: string) {
  const [shown, setShown] = useState<T>();
  useEffect(() => {
    // A browser may keep the page as it is, to show it again when the person comes back.
    const forget = (): void => setShown(undefined);
    window.addEventListener('pagehide', forget);
    return () => window.removeEventListener('pagehide', forget);
  }, []);
  const close = (): void => {
    setShown(undefined);
    focusOn(headingId);
  };
  return [shown, setShown, close] as const;
}

/** A page of a list, which has its items under the name of the list. */
type Page<N extends string, T> = Readonly<Record<N, readonly T[]>> & { readonly next_cursor?: string };

/** A list that is loaded page by page. */
export interface Pages<T, A> extends Data<A> {
  /** The items of all pages loaded so far. */
  readonly items: readonly T[];
  /** The page that was loaded last. */
  readonly last: A | undefined;
  /** Absent once all pages are loaded. */
  readonly more?: (() => Promise<void>) | undefined;
  readonly isReading: boolean;
}

interface Behind<T, A> {
  /** The first page that the later pages belong to: when it is loaded again, they are dropped. */
  readonly first: object;
  readonly items: readonly T[];
  readonly last: A;
}

interface PagesOptions {
  /** As of `useData`, until a later page is loaded, so that no item moves away. */
  readonly everyMs?: number;
}

/** Loads the first page when the component is first shown, and the others on request. */
export function usePages<N extends string, T, A extends Page<N, T> = Page<N, T>>(
  path: string,
  name: N,
  { everyMs }: PagesOptions = {},
): Pages<T, A> {
  const [behind, setBehind] = useState<Behind<T, A>>();
  const isFollowed = everyMs !== undefined && behind === undefined;
  const first = useData<A>(path, isFollowed ? { everyMs } : {});
  const reading = useAction();
  const { value, reload: readFirst } = first;
  const known = behind !== undefined && behind.first === value ? behind : undefined;
  const last = known?.last ?? value;
  const cursor = last?.next_cursor;
  const more = (): Promise<void> =>
    reading
      .run(async () => {
        if (value === undefined || last === undefined) return;
        const page = await read<A>(after(path, last));
        setBehind({ first: value, items: [...(known?.items ?? []), ...page[name]], last: page });
      })
      .then(() => undefined);
  const reload = async (): Promise<void> => {
    reading.setFault(undefined);
    setBehind(undefined);
    await readFirst();
  };
  return {
    value,
    fault: first.fault ?? reading.fault,
    isFinal: first.isFinal,
    reload,
    items: [...(value?.[name] ?? []), ...(known?.items ?? [])],
    last,
    more: cursor === undefined ? undefined : more,
    isReading: reading.isBusy,
  };
}

/** The path of the page after this one. */
function after(path: string, { next_cursor: cursor = '' }: { readonly next_cursor?: string }): string {
  return `${path}${path.includes('?') ? '&' : '?'}cursor=${encodeURIComponent(cursor)}`;
}
