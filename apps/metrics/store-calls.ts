import { Counter, type Registry } from 'prom-client';
import { CallOver } from '../../core/cancellation.js';
import { StoreUnavailable } from '../../core/errors.js';
import type { ObjectStore } from '../../core/ports/object-store.js';
import { type Ports, STORE_PORTS, type StorePort } from '../../core/ports/ports.js';
import type { StoreObserver } from './observed-calls.js';
import { PreparedHistogram } from './prepared-histogram.js';

/** Collects metrics from the results of a port, by method. */
export type AnswersOf<Port> = {
  readonly [Method in keyof Port]?: Port[Method] extends (...args: infer Args) => Promise<infer Answer>
    ? (answer: Answer, args: Args) => void
    : never;
};

type Learn = (answer: unknown, args: readonly unknown[]) => void;

const SECONDS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 5];

/** How long the stores take, how often they cannot answer, and how often another writer was faster. */
export class StoreCalls {
  private readonly durations: PreparedHistogram<'port' | 'method'>;
  private readonly failures: Counter<'port' | 'reason'>;
  private readonly conflicts: Counter<'port' | 'method'>;

  constructor(registry: Registry) {
    const registers = [registry];
    this.durations = new PreparedHistogram({
      name: 'darkroom_store_call_duration_seconds',
      help: 'Time of calls to the stores, failed ones included.',
      labelNames: ['port', 'method'],
      buckets: SECONDS,
      registers,
    });
    this.failures = new Counter({
      name: 'darkroom_store_failures_total',
      help: 'Calls that a store could not answer, or that failed with an internal error.',
      labelNames: ['port', 'reason'],
      registers,
    });
    this.conflicts = new Counter({
      name: 'darkroom_store_conflicts_total',
      help: 'Writes rejected because another write was faster; they are decided again.',
      labelNames: ['port', 'method'],
      registers,
    });
    for (const port of STORE_PORTS) {
      for (const reason of ['unavailable', 'unexpected']) this.failures.inc({ port, reason }, 0);
    }
  }

  /** Measures each call; `learn` receives the results. */
  observer(learn: { readonly [P in StorePort]?: AnswersOf<Ports[P]> }): StoreObserver {
    return (port, method) => {
      const labels = { port, method };
      const learnFrom = (learn[port] as Readonly<Record<string, Learn | undefined>> | undefined)?.[method];
      return {
        answered: (answer, args) => {
          if (isConflict(answer)) this.conflicts.inc(labels);
          learnFrom?.(answer, args);
        },
        failed: (error) => {
          // A call whose caller has gone did not fail.
          if (!(error instanceof CallOver))
            this.failures.inc({ port, reason: error instanceof StoreUnavailable ? 'unavailable' : 'unexpected' });
        },
        ended: this.durations.prepare(labels),
      };
    };
  }
}

function isConflict(answer: unknown): boolean {
  if (answer === 'conflict') return true;
  return typeof answer === 'object' && answer !== null && 'outcome' in answer && answer.outcome === 'conflict';
}

/** The bytes of objects that pass through this process on their way to and from the store. */
export class ObjectBytes {
  private readonly bytes: Counter<'direction'>;

  constructor(registry: Registry) {
    this.bytes = new Counter({
      name: 'darkroom_object_bytes_total',
      help: 'Bytes this process wrote to the object store and read from it.',
      labelNames: ['direction'],
      registers: [registry],
    });
    for (const direction of ['written', 'read']) this.bytes.inc({ direction }, 0);
  }

  /** Collects metrics from the results of the object store. */
  readonly learn: AnswersOf<ObjectStore> = {
    write: (answer) => {
      if (answer !== 'too-large') this.bytes.inc({ direction: 'written' }, answer.byteSize);
    },
  };

  /** The same reading; the bytes are counted piece by piece as they are taken. */
  counted(store: Pick<ObjectStore, 'read'>): Pick<ObjectStore, 'read'> {
    return {
      read: async (...of) => {
        const bytes = await store.read(...of);
        return bytes && this.countedPieces(bytes);
      },
    };
  }

  private countedPieces(bytes: AsyncIterable<Uint8Array>): AsyncIterable<Uint8Array> {
    const count = (byteSize: number): void => this.bytes.inc({ direction: 'read' }, byteSize);
    return {
      [Symbol.asyncIterator]: () => {
        const pieces = bytes[Symbol.asyncIterator]();
        return {
          next: async () => {
            const piece = await pieces.next();
            if (piece.done !== true) count(piece.value.byteLength);
            return piece;
          },
          // A consumer that stops early must end the store's own stream, or its file or socket stays open.
          return: async () => (await pieces.return?.()) ?? { done: true, value: undefined },
        };
      },
    };
  }
}
