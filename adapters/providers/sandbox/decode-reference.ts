import type { Waits } from '../../../core/cancellation.js';
import type { ReferenceRole } from '../../../core/generation/generation.js';
import { decodeBytesOf, readImageHeader } from '../../../core/media/image-header.js';
import type { MemoryBudget } from '../../../core/memory-budget.js';
import type { ProviderReference } from '../../../core/ports/provider.js';
import { sharp } from '../../image-library.js';
import { openUpright } from '../../upright-image.js';
import { bytesOf, headOf } from '../shared/reference-bytes.js';
import { TaskRefused } from '../shared/task-refused.js';
import type { Size } from './plan.js';

/** A reference of the size of the picture: three bytes per pixel, top row first. */
export interface DecodedReference {
  readonly role: ReferenceRole;
  readonly pixels: Uint8Array;
  /** One byte per pixel: 255 where the picture is repainted, 0 where this reference is kept. */
  readonly mask?: Uint8Array;
}

/**
 * Decodes a reference and cuts it to the size of the picture, once the memory for that is free. Throws `TaskRefused` for
 * a file that is not a picture, and `CallOver` when the call ends while it waits.
 */
export async function decodeReference(
  reference: ProviderReference,
  size: Size,
  memory: MemoryBudget,
  waits: Waits,
): Promise<DecodedReference> {
  const { role, byteSize, isMasked = false } = reference;
  const head = await headOf(reference);
  if (!isMasked && readImageHeader(head) === 'none')
    throw new TaskRefused('A reference file must be a PNG, JPEG or WebP picture.');
  const work = async (): Promise<DecodedReference> => {
    const pixels = await readPixels(await bytesOf(reference, head), size, isMasked ? 4 : 3);
    if (!isMasked) return { role, pixels };
    const raw = { width: size.widthPx, height: size.heightPx, channels: 4 } as const;
    const mask = await sharp(pixels, { raw }).extractChannel('alpha').negate().raw().toBuffer();
    return { role, pixels: await sharp(pixels, { raw }).removeAlpha().raw().toBuffer(), mask };
  };
  return memory.during(byteSize + decodeBytesOf(head) + workBytes(size), work, waits);
}

/**
 * Memory for two copies of the shrunk reference, one turned and one cropped, each at most twice as long as it is
 * wide.
 */
function workBytes({ widthPx, heightPx }: Size): number {
  return 2 * 4 * 2 * Math.max(widthPx, heightPx) ** 2;
}

/**
 * The pixels of the picture, on white where they have no alpha channel. The whole file is turned upright and shrunk in both directions before it is
 * cropped and resized: scaling a narrow strip to cover a square in one step would need a picture many times as large
 * as the strip.
 */
async function readPixels(bytes: Uint8Array, size: Size, channels: 3 | 4): Promise<Uint8Array> {
  const header = readImageHeader(bytes);
  const isLong =
    typeof header === 'string' ||
    Math.max(header.widthPx, header.heightPx) > 2 * Math.min(header.widthPx, header.heightPx);
  const side = Math.max(size.widthPx, size.heightPx) * (isLong ? 2 : 1);
  try {
    const image = openUpright(bytes, { limitInputPixels: 64_000_000, failOn: 'error' });
    const shrunk = await (channels === 4 ? image.ensureAlpha() : image.flatten({ background: '#ffffff' }))
      .resize(side, side, { fit: isLong ? 'inside' : 'outside', withoutEnlargement: true })
      .toColourspace('srgb')
      .raw()
      .toBuffer({ resolveWithObject: true });
    const { width, height } = shrunk.info;
    const pixels = await sharp(shrunk.data, { raw: { width, height, channels } })
      .extract(middleOf({ widthPx: width, heightPx: height }, size))
      .resize(size.widthPx, size.heightPx, { fit: 'fill' })
      .raw()
      .toBuffer();
    return new Uint8Array(pixels);
  } catch {
    const formats = channels === 4 ? 'PNG or WebP' : 'PNG, JPEG or WebP';
    throw new TaskRefused(`A reference file could not be read as a picture; send an intact ${formats} file.`);
  }
}

/** The largest part around the middle of `from` with the proportions of `to`. */
function middleOf(from: Size, to: Size): { left: number; top: number; width: number; height: number } {
  const scale = Math.min(from.widthPx / to.widthPx, from.heightPx / to.heightPx);
  const width = Math.max(1, Math.round(to.widthPx * scale));
  const height = Math.max(1, Math.round(to.heightPx * scale));
  return { left: Math.floor((from.widthPx - width) / 2), top: Math.floor((from.heightPx - height) / 2), width, height };
}
