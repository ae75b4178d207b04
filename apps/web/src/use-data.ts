import { useCallback, useEffect, useState } from 'preact/hooks';
import { read, sentenceOf } from './server.js';

/** The state of data that is loaded from the server. */
export interface Data<T> {
  readonly value: T | undefined;
  /** Why the last request failed. */
  readonly fault: string | undefined;
  /** Loads it again; the old value remains until then. Never rejects. */
  readonly reload: () => Promise<void>;
}

/** Loads from the server when the component is first shown. */
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

/** Something that a person has the page do: whether it is under way, and why it did not work the last time. */
export interface Action {
  readonly isBusy: boolean;
  readonly fault: string | undefined;
  readonly setFault: (sentence: string | undefined) => void;
  /** Never rejects: what the work throws is the fault. */
  readonly run: (work: () => Promise<void>) => Promise<void>;
}

export function useAction(): Action {
  const [isBusy, setBusy] = useState(false);
  const [fault, setFault] = useState<string>();
  const run = async (work: () => Promise<void>): Promise<void> => {
    setBusy(true);
    setFault(undefined);
    try {
      await work();
    } catch (error) {
      setFault(sentenceOf(error));
    } finally {
      setBusy(false);
    }
  };
  return { isBusy, fault, setFault, run };
}
