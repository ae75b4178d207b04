import PQueue from 'p-queue';
import { CallOver, type Waits } from '../../core/cancellation.js';
import { decodeBytesOf, readImageHeader } from '../../core/media/image-header.js';
import { MemoryBudget } from '../../core/memory-budget.js';
import type { Preview, Previews, ProbedFile, Thumbnail, ThumbnailRefusal } from '../../core/ports/media.js';
import { BytesCollector } from './sharp-media-probe.js';
import { xmpPacket } from './xmp-packet.js';

const MIB = 1024 * 1024;

/** Larger pictures have no preview: it would take the memory of many others. */
const MAX_SOURCE_BYTES = 64 * MIB;
const MAX_DECODE_BYTES = 160 * MIB;
/** Pictures that wait for their turn; one more has no preview. */
const MAX_WAITING = 100;
/** The memory of the encoder for one pixel of a thumbnail: its rows as they are made, as they are coded, and the result. */
const ENCODED_PIXEL_BYTES = 16;

export interface SharpPreviewsOptions {
  /** Previews and thumbnails that are being made at the same time; 2 when absent. */
  readonly concurrency?: number;
  /** The memory budget for bytes and pixels, shared with other decoders; one of 192 MiB when absent. */
  readonly memory?: MemoryBudget;
}

/** Makes previews and thumbnails with sharp, which is loaded with the first one. */
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
    if (this.#queue.size >= MAX_WAITING) {
      await new BytesCollector(bytes, sourceBytes).close();
      return null;
    }
    const made = await this.#queue.add(() =>
      this.#decoded(bytes, { sourceBytes, workBytes: 0 }, waits, async (collected) => {
        const { shrinkImage } = await import('./shrink-image.js');
        return shrinkImage(collected, maxBytes, mark === undefined ? undefined : xmpPacket(mark));
      }),
    );
    return typeof made === 'string' ? null : made;
  }

  async thumbnail(
    file: ProbedFile,
    { widthPx, heightPx, mark }: Parameters<Previews['thumbnail']>[1],
    waits?: Waits,
  ): Promise<Thumbnail | ThumbnailRefusal> {
    if (file.byteSize > MAX_SOURCE_BYTES) return 'too-large';
    if (this.#queue.size >= MAX_WAITING) return 'busy';
    return this.#queue.add(async () => {
      if (waits?.isOver === true) throw new CallOver();
      const needed = { sourceBytes: file.byteSize, workBytes: ENCODED_PIXEL_BYTES * widthPx * heightPx };
      return this.#decoded(await file.read(), needed, waits, async (collected) => {
        const { makeThumbnail } = await import('./shrink-image.js');
        return makeThumbnail(collected, { widthPx, heightPx }, mark === undefined ? undefined : xmpPacket(mark));
      });
    });
  }

  /** Does the work with all bytes of a picture, while the memory for it is reserved. Leaves no source open. */
  async #decoded<T>(
    bytes: AsyncIterable<Uint8Array>,
    { sourceBytes, workBytes }: { readonly sourceBytes: number; readonly workBytes: number },
    waits: Waits | undefined,
    work: (collected: Uint8Array) => Promise<T>,
  ): Promise<T | 'too-large' | 'unreadable'> {
    const collector = new BytesCollector(bytes, Math.min(sourceBytes, MAX_SOURCE_BYTES));
    try {
      if (sourceBytes > MAX_SOURCE_BYTES) return 'too-large';
      const head = await collector.head((found) => readImageHeader(found) !== 'more');
      const decodeBytes = decodeBytesOf(head);
      if (decodeBytes === 0) return 'unreadable';
      // A colour profile can make the header longer than the head: then the most is reserved, until the header is known.
      if (decodeBytes > MAX_DECODE_BYTES && decodeBytes !== Infinity) return 'too-large';
      const reserved = sourceBytes + Math.min(decodeBytes, MAX_DECODE_BYTES) + workBytes;
      return await this.#memory.during(
        reserved,
        async () => {
          const collected = await collector.all();
          if (collected === undefined) return 'unreadable';
          const neededBytes = decodeBytesOf(collected);
          if (neededBytes === Infinity) return 'unreadable';
          return neededBytes > MAX_DECODE_BYTES ? 'too-large' : work(collected);
        },
        waits,
      );
    } finally {
      await collector.close();
    }
  }
}
