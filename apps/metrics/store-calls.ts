import { CallOver } from '../../core/cancellation.js';
import { StoreUnavailable } from '../../core/errors.js';
import type { ObjectStore } from '../../core/ports/object-store.js';
import { type Ports, STORE_PORTS, type StorePort } from '../../core/ports/ports.js';
import type { Instruments } from './instruments.js';
import type { StoreObserver } from './observed-calls.js';

/** Collects metrics from the results of a port, by method. */
export type AnswersOf<Port> = {
  readonly [Method in keyof Port]?: Port[Method] extends (...args: infer Args) => Promise<infer Answer>
    ? (answer: Answer, args: Args) => void
    : never;
};

type Learn = (answer: unknown, args: readonly unknown[]) => void;

const SECONDS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 5];

/** How long the stores take, how often they cannot answer, and how often another writer was faster. */
export function storeCalls({ counter, preparedHistogram }: Instruments) {
  const durations = preparedHistogram(
    'darkroom_store_call_duration_seconds',
    'Time of calls to the stores, failed ones included.',
    SECONDS,
    ['port', 'method'],
  );
  const failures = counter(
    'darkroom_store_failures_total',
    'Calls that a store could not answer, or that failed with an internal error.',
    ['port', 'reason'],
  );
  const conflicts = counter(
    'darkroom_store_conflicts_total',
    'Writes rejected because another write was faster; they are decided again.',
    ['port', 'method'],
  );
  for (const port of STORE_PORTS) for (const reason of ['unavailable', 'unexpected']) failures.inc({ port, reason }, 0);
  return {
    /** Measures each call; `learn` receives the results. */
    observer:
      (learn: { readonly [P in StorePort]?: AnswersOf<Ports[P]> }): StoreObserver =>
      (port, method) => {
        const labels = { port, method };
        const learnFrom = (learn[port] as Readonly<Record<string, Learn | undefined>> | undefined)?.[method];
        return {
          answered: (answer, args) => {
            if (isConflict(answer)) conflicts.inc(labels);
            learnFrom?.(answer, args);
          },
          failed: (error) => {
            // A call whose caller has gone did not fail.
            if (!(error instanceof CallOver))
              failures.inc({ port, reason: error instanceof StoreUnavailable ? 'unavailable' : 'unexpected' });
          },
          ended: durations.prepare(labels),
        };
      },
  };
}

function isConflict(answer: unknown): boolean {
  if (answer === 'conflict') return true;
  return typeof answer === 'object' && answer !== null && 'outcome' in answer && answer.outcome === 'conflict';
}

/** The bytes of objects that pass through this process on their way to and from the store. */
export function objectBytes({ counter }: Instruments) {
  const total = counter(
    'darkroom_object_bytes_total',
    'Bytes this process wrote to the object store and read from it.',
    ['direction'],
  );
  for (const direction of ['written', 'read']) total.inc({ direction }, 0);
  /** Collects metrics from the results of the object store. */
  const learn: AnswersOf<ObjectStore> = {
    write: (answer) => {
      if (answer !== 'too-large') total.inc({ direction: 'written' }, answer.byteSize);
    },
  };
  const countedPieces = (bytes: AsyncIterable<Uint8Array>): AsyncIterable<Uint8Array> => ({
    [Symbol.asyncIterator]: () => {
      const pieces = bytes[Symbol.asyncIterator]();
      return {
        next: async () => {
          const piece = await pieces.next();
          if (piece.done !== true) total.inc({ direction: 'read' }, piece.value.byteLength);
          return piece;
        },
        // A consumer that stops early must end the store's own stream, or its file or socket stays open.
        return: async () => (await pieces.return?.()) ?? { done: true, value: undefined },
      };
    },
  });
  return {
    learn,
    /** The same reading; the bytes are counted piece by piece as they are taken. */
    counted: (store: Pick<ObjectStore, 'read'>): Pick<ObjectStore, 'read'> => ({
      read: async (...of) => {
        const bytes = await store.read(...of);
        return bytes && countedPieces(bytes);
      },
    }),
  };
}
