import { computed } from '@preact/signals';
import { useCallback, useState } from 'preact/hooks';
import { path as shownPath } from '../router.js';
import { API, envelopeIn, read, refusalOf, RequestFailed, sentenceOf, unreadable } from '../server.js';
import { type Data, useData } from '../use-data.js';

type Page<N extends string, T> = Readonly<Record<N, readonly T[]>> & { readonly next_cursor?: string };

/** A list that is loaded page by page. */
export interface Pages<N extends string, T, A extends Page<N, T>> extends Data<A> {
  /** The items of all pages loaded so far. */
  readonly items: readonly T[];
  /** Absent once all pages are loaded. */
  readonly more?: (() => Promise<void>) | undefined;
  readonly isReading: boolean;
}

interface Behind<T> {
  /** The first page that the later pages belong to: when it is loaded again, they are dropped. */
  readonly first: object;
  readonly items: readonly T[];
  readonly cursor: string | undefined;
}

/** Loads the first page when the component is first shown, and the others on request. */
export function usePages<N extends string, T, A extends Page<N, T> = Page<N, T>>(
  path: string,
  name: N,
): Pages<N, T, A> {
  const first = useData<A>(path);
  const [behind, setBehind] = useState<Behind<T>>();
  const [isReading, setReading] = useState(false);
  const [moreFault, setFault] = useState<string>();
  const { value, reload: readFirst } = first;
  const known = behind !== undefined && behind.first === value ? behind : undefined;
  const cursor = known === undefined ? value?.next_cursor : known.cursor;
  const more = useCallback(async (): Promise<void> => {
    if (value === undefined || cursor === undefined) return;
    setReading(true);
    setFault(undefined);
    try {
      const joint = path.includes('?') ? '&' : '?';
      const page = await read<A>(`${path}${joint}cursor=${encodeURIComponent(cursor)}`);
      setBehind({ first: value, items: [...(known?.items ?? []), ...page[name]], cursor: page.next_cursor });
    } catch (error) {
      setFault(sentenceOf(error));
    } finally {
      setReading(false);
    }
  }, [path, name, value, cursor, known]);
  const fault = first.fault ?? moreFault;
  const reload = useCallback(async (): Promise<void> => {
    setFault(undefined);
    await readFirst();
  }, [readFirst]);
  return {
    value,
    fault,
    reload,
    items: [...(value?.[name] ?? []), ...(known?.items ?? [])],
    more: cursor === undefined ? undefined : more,
    isReading,
  };
}

interface MoreButtonProps {
  readonly pages: { readonly more?: (() => Promise<void>) | undefined; readonly isReading: boolean };
  /** The kind of items, as in "More keys". */
  readonly what: string;
}

/** Loads the next page of a list, while there is one. */
export function MoreButton({ pages: { more, isReading }, what }: MoreButtonProps) {
  if (more === undefined) return null;
  return (
    <button
      type="button"
      class="outline secondary small more"
      aria-busy={isReading}
      disabled={isReading}
      onClick={() => void more()}
    >
      {`More ${what}`}
    </button>
  );
}

const BASE = '/console/operator/';

/** The pages of the area, as they stand in its navigation. */
export const LISTED = [
  { name: 'accounts', title: 'Accounts' },
  { name: 'work', title: 'Open work' },
  { name: 'providers', title: 'Providers' },
  { name: 'books', title: 'Books' },
] as const;

export type ListedName = (typeof LISTED)[number]['name'];

/** A page of the operator's area: a list, or a single item. */
export interface Place {
  readonly name: ListedName;
  /** The id of an account or a generation. */
  readonly id?: string;
}

/** The page that the address names; undefined outside the area. */
export const place = computed<Place | undefined>(() => {
  if (!shownPath.value.startsWith(BASE)) return undefined;
  const [asked, id] = shownPath.value.slice(BASE.length).split('/');
  const name = LISTED.find((one) => one.name === asked)?.name ?? 'accounts';
  return id === undefined ? { name } : { name, id };
});

export function titleOf({ name, id }: Place): string {
  if (id !== undefined) return name === 'work' ? 'Generation' : 'Account';
  return LISTED.find((one) => one.name === name)?.title ?? '';
}

export function hrefOfPlace({ name, id }: Place): string {
  return BASE + name + (id === undefined ? '' : `/${id}`);
}

const CUT = 'The connection to the server was lost. Try again.';

/** Requests a response that consists of lines of JSON. Throws `RequestFailed`. */
export async function* linesOf<T>(path: string, signal: AbortSignal): AsyncGenerator<T> {
  const init: RequestInit = {
    method: 'POST',
    headers: { 'Content-Type': 'application/json' },
    body: '{}',
    signal,
    cache: 'no-store',
  };
  const response = await fetch(API + path, init).catch(() => {
    throw new RequestFailed(CUT);
  });
  if (!response.ok || response.body === null) throw refusalOf(await envelopeIn(response));
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = '';
  for (;;) {
    const { done, value } = await reader.read().catch(() => {
      throw new RequestFailed(CUT);
    });
    if (done) return;
    const lines = (rest + value).split('\n');
    rest = lines.pop() ?? '';
    for (const line of lines) yield lineOf<T>(line);
  }
}

function lineOf<T>(text: string): T {
  try {
    return JSON.parse(text) as T;
  } catch {
    throw unreadable();
  }
}
