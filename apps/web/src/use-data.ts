import { useCallback, useEffect, useState } from 'preact/hooks';
import { read, sentenceOf } from './server.js';

/** What is known of something that is read from the server. */
export interface Data<T> {
  readonly value: T | undefined;
  /** Why the last reading failed. */
  readonly fault: string | undefined;
  /** Reads it again; the old value stays until then. Never rejects. */
  readonly reload: () => Promise<void>;
}

/** Reads from the server when the part is first shown. */
export function useData<T>(path: string): Data<T> {
  const [value, setValue] = useState<T>();
  const [fault, setFault] = useState<string>();
  const load = useCallback(
    async (signal?: AbortSignal): Promise<void> => {
      try {
        const answer = await read<T>(path, signal);
        setValue(() => answer);
        setFault(undefined);
      } catch (error) {
        if (signal?.aborted !== true) setFault(sentenceOf(error));
      }
    },
    [path],
  );
  useEffect(() => {
    const leaving = new AbortController();
    void load(leaving.signal);
    return () => leaving.abort();
  }, [load]);
  const reload = useCallback(() => load(), [load]);
  return { value, fault, reload };
}
