import type { Waits } from '../../../core/cancellation.js';
import { decodeBytesOf, readImageHeader } from '../../../core/media/image-header.js';
import type { MemoryBudget } from '../../../core/memory-budget.js';
import type { ProviderReference } from '../../../core/ports/provider.js';
import { sharp } from '../../image-library.js';
import { openUpright } from '../../upright-image.js';
import { splitMasked } from '../shared/masked-reference.js';
import { bytesOf, headOf, waitsOf } from '../shared/reference-bytes.js';
import type { Size } from './plan.js';
import type { RenderReference } from './render-job.js';

/** A reference that cannot be painted from; the message is fit for the client. */
export class ReferenceRefused extends Error {
  constructor(message: string) {
    super(message);
    this.name = 'ReferenceRefused';
  }
}

/**
 * Decodes a reference and cuts it to the size of the picture, once the memory for that is free. Throws `CallOver` while
 * it waits.
 */
export async function decodeReference(
  reference: ProviderReference,
  size: Size,
  memory: MemoryBudget,
  waits: Waits,
): Promise<RenderReference> {
  const head = await headOf(reference);
  if (readImageHeader(head) === 'none')
    throw new ReferenceRefused('A reference file must be a PNG, JPEG or WebP picture.');
  return memory.during(
    reference.byteSize + decodeBytesOf(head) + workBytes(size),
    async () => {
      const bytes = await bytesOf(reference, head);
      return { role: reference.role, pixels: await readPixels(bytes, size) };
    },
    waits,
  );
}

/**
 * The same for a reference with transparent areas. It is split before it is resized, and only one reservation of memory is
 * held at a time.
 */
export async function decodeMasked(
  reference: ProviderReference,
  size: Size,
  memory: MemoryBudget,
  signal: AbortSignal,
): Promise<RenderReference> {
  const { role } = reference;
  const { colours, mask, close } = await splitMasked(reference, 'white', { memory, signal });
  try {
    const [{ pixels }, { pixels: grey }] = [
      await decodeReference({ role, ...colours }, size, memory, waitsOf(signal)),
      await decodeReference({ role, ...mask }, size, memory, waitsOf(signal)),
    ];
    return { role, pixels, mask: Uint8Array.from({ length: pixels.length / 3 }, (_, index) => grey[index * 3]!) };
  } finally {
    await close();
  }
}

/** The shrunk reference, at most twice as long as wide, once as it is turned and once as it is cut. */
function workBytes({ widthPx, heightPx }: Size): number {
  return 2 * 4 * 2 * Math.max(widthPx, heightPx) ** 2;
}

/**
 * The colours of the picture's pixels. First the whole file is turned upright and shrunk in both directions; only then
 * is it cropped and resized: to cover a square with a strip in one step would need a picture many times as large as the
 * strip.
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
    throw new ReferenceRefused(
      'A reference file could not be read as a picture; send an intact PNG, JPEG or WebP file.',
    );
  }
}

/** The largest part around the middle of `from` with the proportions of `to`. */
function middleOf(from: Size, to: Size): { left: number; top: number; width: number; height: number } {
  const scale = Math.min(from.widthPx / to.widthPx, from.heightPx / to.heightPx);
  const width = Math.max(1, Math.round(to.widthPx * scale));
  const height = Math.max(1, Math.round(to.heightPx * scale));
  return { left: Math.floor((from.widthPx - width) / 2), top: Math.floor((from.heightPx - height) / 2), width, height };
}
