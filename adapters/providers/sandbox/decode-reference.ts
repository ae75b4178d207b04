import type { Waits } from '../../../core/cancellation.js';
import type { ReferenceRole } from '../../../core/generation/generation.js';
import { decodeBytesOf, readImageHeader } from '../../../core/media/image-header.js';
import type { MemoryBudget } from '../../../core/memory-budget.js';
import type { ProviderReference } from '../../../core/ports/provider.js';
import { sharp } from '../../image-library.js';
import { openUpright } from '../../upright-image.js';
import { splitMasked } from '../shared/masked-reference.js';
import { bytesOf, headOf, waitsOf } from '../shared/reference-bytes.js';
import { TaskRefused } from '../shared/task-refused.js';
import type { Size } from './plan.js';

/** A reference of the size of the picture: three bytes per pixel, top row first. */
export interface DecodedReference {
  readonly role: ReferenceRole;
  readonly pixels: Uint8Array;
  /** One byte per pixel: 255 where the picture is repainted, 0 where this reference is kept. */
  readonly mask?: Uint8Array;
}

/** Decodes references one after another. Throws `CallOver` when the signal is aborted while it waits for memory. */
export async function decodeReferences(
  references: readonly ProviderReference[],
  size: Size,
  memory: MemoryBudget,
  signal: AbortSignal,
): Promise<DecodedReference[]> {
  const decode = (reference: ProviderReference): Promise<DecodedReference> =>
    decodeReference(reference, size, memory, waitsOf(signal));
  const decoded: DecodedReference[] = [];
  for (const reference of references) {
    if (reference.isMasked !== true) decoded.push(await decode(reference));
    else {
      // It is split before it is resized, and only one reservation of memory is held at a time.
      const { role } = reference;
      const { colours, mask, close } = await splitMasked(reference, 'white', { memory, signal });
      try {
        const { pixels } = await decode({ role, ...colours });
        const { pixels: grey } = await decode({ role, ...mask });
        decoded.push({ role, pixels, mask: grey.filter((_, index) => index % 3 === 0) });
      } finally {
        await close();
      }
    }
  }
  return decoded;
}

/**
 * Decodes a reference and cuts it to the size of the picture, once the memory for that is free. Throws `TaskRefused` for
 * a file that is not a picture.
 */
export async function decodeReference(
  reference: ProviderReference,
  size: Size,
  memory: MemoryBudget,
  waits: Waits,
): Promise<DecodedReference> {
  const head = await headOf(reference);
  if (readImageHeader(head) === 'none') throw new TaskRefused('A reference file must be a PNG, JPEG or WebP picture.');
  const work = async (): Promise<DecodedReference> => {
    const bytes = await bytesOf(reference, head);
    return { role: reference.role, pixels: await readPixels(bytes, size) };
  };
  return memory.during(reference.byteSize + decodeBytesOf(head) + workBytes(size), work, waits);
}

/**
 * Memory for two copies of the shrunk reference, one turned and one cropped, each at most twice as long as it is
 * wide.
 */
function workBytes({ widthPx, heightPx }: Size): number {
  return 2 * 4 * 2 * Math.max(widthPx, heightPx) ** 2;
}

/**
 * The colours of the picture's pixels. The whole file is turned upright and shrunk in both directions before it is
 * cropped and resized: scaling a narrow strip to cover a square in one step would need a picture many times as large
 * as the strip.
 */
async function readPixels(bytes: Uint8Array, size: Size): Promise<Uint8Array> {
  const header = readImageHeader(bytes);
  const isLong =
    typeof header === 'string' ||
    Math.max(header.widthPx, header.heightPx) > 2 * Math.min(header.widthPx, header.heightPx);
  const side = Math.max(size.widthPx, size.heightPx) * (isLong ? 2 : 1);
  try {
    const shrunk = await openUpright(bytes, { limitInputPixels: 64_000_000, failOn: 'error' })
      .resize(side, side, { fit: isLong ? 'inside' : 'outside', withoutEnlargement: true })
      .flatten({ background: '#ffffff' })
      .toColourspace('srgb')
      .raw()
      .toBuffer({ resolveWithObject: true });
    const { width, height, channels } = shrunk.info;
    const pixels = await sharp(shrunk.data, { raw: { width, height, channels } })
      .extract(middleOf({ widthPx: width, heightPx: height }, size))
      .resize(size.widthPx, size.heightPx, { fit: 'fill' })
      .raw()
      .toBuffer();
    return new Uint8Array(pixels);
  } catch {
    throw new TaskRefused('A reference file could not be read as a picture; send an intact PNG, JPEG or WebP file.');
  }
}

/** The largest part around the middle of `from` with the proportions of `to`. */
function middleOf(from: Size, to: Size): { left: number; top: number; width: number; height: number } {
  const scale = Math.min(from.widthPx / to.widthPx, from.heightPx / to.heightPx);
  const width = Math.max(1, Math.round(to.widthPx * scale));
  const height = Math.max(1, Math.round(to.heightPx * scale));
  return { left: Math.floor((from.widthPx - width) / 2), top: Math.floor((from.heightPx - height) / 2), width, height };
}
