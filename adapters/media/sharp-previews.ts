import PQueue from 'p-queue';
import type { Waits } from '../../core/cancellation.js';
import { decodeBytesOf, readImageHeader } from '../../core/media/image-header.js';
import { MemoryBudget } from '../../core/memory-budget.js';
import type { Preview, Previews } from '../../core/ports/media.js';
import { BytesCollector } from './sharp-media-probe.js';
import { xmpPacket } from './xmp-packet.js';

const MIB = 1024 * 1024;

/** Larger pictures have no preview: it would take the memory of many others. */
const MAX_SOURCE_BYTES = 64 * MIB;
const MAX_DECODE_BYTES = 160 * MIB;
/** Pictures that wait for their turn; one more has no preview. */
const MAX_WAITING = 100;

export interface SharpPreviewsOptions {
  /** Previews that are being made at the same time; 2 when absent. */
  readonly concurrency?: number;
  /** The memory budget for bytes and pixels, shared with other decoders; one of 192 MiB when absent. */
  readonly memory?: MemoryBudget;
}

/** Makes previews with sharp, which is loaded with the first one. */
export class SharpPreviews implements Previews {
  readonly #queue: PQueue;
  readonly #memory: MemoryBudget;

  constructor({ concurrency = 2, memory = new MemoryBudget(192 * MIB) }: SharpPreviewsOptions = {}) {
    this.#queue = new PQueue({ concurrency });
    this.#memory = memory;
  }

  async ofImage(
    bytes: AsyncIterable<Uint8Array>,
    { sourceBytes, maxBytes, mark }: Parameters<Previews['ofImage']>[1],
    waits?: Waits,
  ): Promise<Preview | null> {
    const collector = new BytesCollector(bytes, Math.min(sourceBytes, MAX_SOURCE_BYTES));
    if (this.#queue.size >= MAX_WAITING) {
      await collector.close();
      return null;
    }
    return this.#queue.add(async () => {
      const head = await collector.head((found) => readImageHeader(found) !== 'more');
      const decodeBytes = decodeBytesOf(head);
      // A colour profile can make the header longer than the head: then the most is reserved, until the header is known.
      const isPicture = decodeBytes > 0 && (decodeBytes <= MAX_DECODE_BYTES || decodeBytes === Infinity);
      if (!isPicture || sourceBytes > MAX_SOURCE_BYTES) {
        await collector.close();
        return null;
      }
      return this.#memory.during(
        sourceBytes + Math.min(decodeBytes, MAX_DECODE_BYTES),
        async () => {
          const collected = await collector.all();
          if (collected === undefined || decodeBytesOf(collected) > MAX_DECODE_BYTES) return null;
          const { shrinkImage } = await import('./shrink-image.js');
          return shrinkImage(collected, maxBytes, mark === undefined ? undefined : xmpPacket(mark));
        },
        waits,
      );
    });
  }
}
