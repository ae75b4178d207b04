import { useState } from 'preact/hooks';
import { sentenceOf } from './server.js';

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
