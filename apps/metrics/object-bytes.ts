import { Counter, type Registry } from 'prom-client';
import type { ObjectStore } from '../../core/ports/object-store.js';
import type { AnswersOf } from './store-calls.js';

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

  /** What the object store's answers tell. */
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
