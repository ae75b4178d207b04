import { useCallback, useState } from 'preact/hooks';
import { read, sentenceOf } from '../server.js';
import { useData, type Data } from '../use-data.js';

type Page<N extends string, T> = Readonly<Record<N, readonly T[]>> & { readonly next_cursor?: string };

/** A list that is read page by page. */
export interface Pages<N extends string, T, A extends Page<N, T>> extends Data<A> {
  /** All that was read, of the first page and of those behind it. */
  readonly items: readonly T[];
  /** Absent once all is read. */
  readonly more?: (() => Promise<void>) | undefined;
  readonly isReading: boolean;
}

interface Behind<T> {
  /** What the pages behind belong to: another reading of the first one drops them. */
  readonly first: object;
  readonly items: readonly T[];
  readonly cursor: string | undefined;
}

/** Reads the first page when the part is first shown, and the others as they are asked for. */
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
