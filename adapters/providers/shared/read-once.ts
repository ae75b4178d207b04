import { throwIfAborted } from '../../../core/abort-signal.js';
import type { ProviderCall, SubmittedOutput } from '../../../core/ports/provider.js';

export interface Reading {
  readonly call: ProviderCall;
  /** How long the outputs may wait for their reader. */
  readonly afterMs: number;
  /** Frees what the outputs are read from; called once. */
  readonly close: () => Promise<void>;
}

const LONGEST_TIMER_MS = 2 ** 31 - 1;

/** Outputs that are freed when the last one was read or left, when the call is aborted, or when nobody reads them in time. */
export function readOnce(
  outputs: readonly SubmittedOutput[],
  { call: { signal }, afterMs, close }: Reading,
): readonly SubmittedOutput[] {
  let isClosed = false;
  const free = () => {
    if (isClosed) return;
    isClosed = true;
    clearTimeout(timer);
    signal.removeEventListener('abort', free);
    void close().catch(() => undefined);
  };
  const timer = setTimeout(free, Math.min(afterMs, LONGEST_TIMER_MS)).unref();
  signal.addEventListener('abort', free, { once: true });
  if (outputs.length === 0 || signal.aborted) free();
  const last = outputs.length - 1;
  return outputs.map((output, index) => ({
    ...output,
    bytes: read(output.bytes, {
      refuse: () => {
        throwIfAborted(signal);
        if (isClosed) throw new Error('The outputs were not read in time.');
      },
      ended: index === last ? free : () => undefined,
    }),
  }));
}

async function* read(
  bytes: AsyncIterable<Uint8Array>,
  { refuse, ended }: { readonly refuse: () => void; readonly ended: () => void },
): AsyncGenerator<Uint8Array> {
  try {
    refuse();
    for await (const piece of bytes) {
      yield piece;
      refuse();
    }
  } finally {
    ended();
  }
}
