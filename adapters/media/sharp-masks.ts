import { tmpdir } from 'node:os';
import PQueue from 'p-queue';
import { setImmediate as yieldToOthers } from 'node:timers/promises';
import { assert } from '../../core/assert.js';
import { decodeBytesOf, readImageHeader } from '../../core/media/image-header.js';
import { MemoryBudget } from '../../core/memory-budget.js';
import type { MadePicture, MaskFault, Masks, PictureBytes } from '../../core/ports/media.js';
import { UnnamedFile } from '../unnamed-file.js';
import { BytesCollector } from './sharp-media-probe.js';

export interface SharpMasksOptions {
  /** The memory budget for bytes and pixels, shared with other decoders; one of 192 MiB when absent. */
  readonly memory?: MemoryBudget;
  /** The folder for the results; the system's folder for temporary files when absent. */
  readonly folder?: string;
}

type Limits = Parameters<Masks['apply']>[2];

/** Red, green, blue and alpha. */
const PIXEL_BYTES = 4;

/**
 * Applies masks with sharp, one at a time: each holds the pixels of two pictures. The result is encoded row by row into a file
 * without a name.
 */
export class SharpMasks implements Masks {
  readonly #queue = new PQueue({ concurrency: 1 });
  readonly #memory: MemoryBudget;
  readonly #folder: string;

  constructor({ memory = new MemoryBudget(192 * 1024 * 1024), folder = tmpdir() }: SharpMasksOptions = {}) {
    this.#memory = memory;
    this.#folder = folder;
  }

  async apply(picture: PictureBytes, mask: PictureBytes, limits: Limits): Promise<MadePicture | MaskFault> {
    return this.#queue.add(async () => {
      const sources = [new Source('picture', picture, limits), new Source('mask', mask, limits)] as const;
      try {
        for (const source of sources) {
          const fault = await source.fault();
          if (fault !== undefined) return { of: source.of, message: fault };
        }
        const neededBytes = sources.reduce((sum, source) => sum + source.neededBytes, 0);
        return await this.#memory.during(neededBytes, () => this.#made(...sources));
      } finally {
        await Promise.all(sources.map((source) => source.close()));
      }
    });
  }

  async #made(picture: Source, mask: Source): Promise<MadePicture | MaskFault> {
    const below = await picture.pixels();
    if ('message' in below) return below;
    const above = await mask.pixels();
    if ('message' in above) return above;
    const [{ widthPx, heightPx }, other] = [below, above];
    if (widthPx !== other.widthPx || heightPx !== other.heightPx) {
      const message = `must be as large as the picture, ${widthPx}x${heightPx}; it is ${other.widthPx}x${other.heightPx}.`;
      return { of: 'mask', message };
    }
    await lowerAlpha(below.bytes, above.bytes);
    const file = await UnnamedFile.open(this.#folder);
    const close = (): Promise<void> => file.close().catch(() => undefined);
    try {
      const { sharp } = await import('../image-library.js');
      // A photograph is a third smaller with these than with the library's own, in about the same time.
      await sharp(below.bytes, { raw: { width: widthPx, height: heightPx, channels: PIXEL_BYTES } })
        .png({ adaptiveFiltering: true, compressionLevel: 3 })
        .toFile(file.path);
      await file.measure();
    } catch (error) {
      await close();
      throw error;
    }
    return { byteSize: file.byteSize, bytes: () => file.read(), close };
  }
}

interface Pixels {
  readonly widthPx: number;
  readonly heightPx: number;
  readonly bytes: Uint8Array;
}

/** One of the two files. */
class Source {
  readonly #collector: BytesCollector;
  /** Memory for the file, for decoding it and for its pixels; the most that it may take where its header is too long. */
  neededBytes = 0;

  constructor(
    readonly of: MaskFault['of'],
    file: PictureBytes,
    private readonly limits: Limits,
  ) {
    this.neededBytes = file.byteSize;
    this.#collector = new BytesCollector(file.bytes(), file.byteSize);
  }

  /** What is wrong by the header. */
  async fault(): Promise<string | undefined> {
    const { maxPixels, maxDecodeBytes } = this.limits;
    const head = await this.#collector.head((bytes) => readImageHeader(bytes) !== 'more');
    const header = readImageHeader(head);
    if (header === 'none')
      return this.of === 'mask' ? 'must be a PNG picture.' : 'must be a PNG, JPEG or WebP picture.';
    const pixels = header === 'more' ? maxPixels : header.widthPx * header.heightPx;
    const isPng = header !== 'more' && header.form.endsWith('PNG');
    if (this.of === 'mask' && !isPng) return 'must be a PNG picture.';
    if (pixels > maxPixels) return `must have at most ${maxPixels} pixels; it has ${pixels}.`;
    const decodeBytes = Math.max(header === 'more' ? maxDecodeBytes : decodeBytesOf(head), pixels * PIXEL_BYTES);
    if (decodeBytes > maxDecodeBytes) return 'takes too much memory to decode; send fewer pixels.';
    this.neededBytes += decodeBytes + pixels * PIXEL_BYTES;
    return undefined;
  }

  /** The picture as browsers show it. A mask without an alpha channel is at fault, and whatever cannot be decoded. */
  async pixels(): Promise<Pixels | MaskFault> {
    const bytes = await this.#collector.all();
    if (bytes === undefined) throw new Error('A picture is longer than announced.');
    const [{ sharp }, { openUpright }] = await Promise.all([
      import('../image-library.js'),
      import('../upright-image.js'),
    ]);
    const options = { limitInputPixels: this.limits.maxPixels, failOn: 'error', pages: 1 } as const;
    try {
      if (this.of === 'mask' && !(await sharp(bytes, options).metadata()).hasAlpha)
        return { of: 'mask', message: 'must have an alpha channel, transparent where the picture is to be made anew.' };
      const { data, info } = await openUpright(bytes, options)
        .toColourspace('srgb')
        .ensureAlpha()
        .raw()
        .toBuffer({ resolveWithObject: true });
      assert(data.byteLength === info.width * info.height * PIXEL_BYTES, 'four bytes per pixel');
      return { widthPx: info.width, heightPx: info.height, bytes: data };
    } catch {
      return { of: this.of, message: 'could not be decoded; send an intact picture.' };
    }
  }

  close(): Promise<void> {
    return this.#collector.close();
  }
}

/** How many pixels are changed before other work of the process has its turn. */
const PIXELS_AT_ONCE = 1024 * 1024;

/** Sets the alpha of each pixel to the smaller of both. */
async function lowerAlpha(pixels: Uint8Array, mask: Uint8Array): Promise<void> {
  for (let from = 0; from < pixels.byteLength; from += PIXELS_AT_ONCE * PIXEL_BYTES) {
    const to = Math.min(from + PIXELS_AT_ONCE * PIXEL_BYTES, pixels.byteLength);
    for (let at = from + PIXEL_BYTES - 1; at < to; at += PIXEL_BYTES) {
      const alpha = mask[at] as number;
      if (alpha < (pixels[at] as number)) pixels[at] = alpha;
    }
    await yieldToOthers();
  }
}
