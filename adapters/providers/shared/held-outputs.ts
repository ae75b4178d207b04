import { throwIfAborted } from '../../../core/cancellation.js';
import type { ProviderCall, SubmitAnswer, SubmittedOutput } from '../../../core/ports/provider.js';

type Delivered = Pick<Extract<SubmitAnswer, { readonly outputs: unknown }>, 'outputs' | 'close'>;

export interface Holding {
  readonly call: ProviderCall;
  /** How long the outputs may wait for their reader. */
  readonly afterMs: number;
  /** Frees what the outputs are read from; called once. */
  readonly free: () => Promise<void>;
}

const LONGEST_TIMER_MS = 2 ** 31 - 1;

/**
 * Outputs for the answer to a submission, which may be read again and again. They are freed when the answer is closed, when
 * the call is aborted, or when nobody has closed it in time.
 */
export function heldOutputs(
  outputs: readonly SubmittedOutput[],
  { call: { signal }, afterMs, free }: Holding,
): Delivered {
  let isClosed = false;
  const close = () => {
    if (isClosed) return;
    isClosed = true;
    clearTimeout(timer);
    signal.removeEventListener('abort', close);
    void free().catch(() => undefined);
  };
  const timer = setTimeout(close, Math.min(afterMs, LONGEST_TIMER_MS)).unref();
  signal.addEventListener('abort', close, { once: true });
  if (outputs.length === 0 || signal.aborted) close();
  const refuse = () => {
    throwIfAborted(signal);
    if (isClosed) throw new Error('The outputs are no longer kept.');
  };
  const held = outputs.map(({ bytes, ...output }) => ({
    ...output,
    bytes: { [Symbol.asyncIterator]: () => whileHeld(bytes, refuse) },
  }));
  return { outputs: held, close };
}

async function* whileHeld(bytes: AsyncIterable<Uint8Array>, refuse: () => void): AsyncGenerator<Uint8Array> {
  refuse();
  for await (const piece of bytes) {
    yield piece;
    refuse();
  }
}
