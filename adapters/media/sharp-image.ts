import sharp, { type Metadata, type Sharp } from 'sharp';
import type { MediaFacts } from '../../core/ports/media-probe.js';
import { decodeFault, sizeFault } from './probe-limits.js';
import type { Invalid, ProbeLimits } from './probe-limits.js';

export type ImageType = Extract<MediaFacts, { kind: 'image' }>['mediaType'];

/**
 * All loaders of libvips except those three are blocked for the whole process: SVG, PDF, TIFF and the like are never
 * parsed, whatever a file claims to be.
 */
sharp.block({ operation: ['VipsForeignLoad'] });
sharp.unblock({ operation: ['VipsForeignLoadPngBuffer', 'VipsForeignLoadJpegBuffer', 'VipsForeignLoadWebpBuffer'] });

/** What was decoded would otherwise be kept for the next to ask, and more rows are held with every thread. */
sharp.cache(false);
sharp.concurrency(1);

/** A fully decoded WebP picture is shrunk to this side length: its pixels are not needed. */
const SHRUNK_PX = 16;

/**
 * Reads the header, and for `full` decodes every pixel (of every frame of a WebP, of the first of an animated PNG). The
 * caps of pixels and of memory are applied before anything is decoded. Width and height are those of the stored pixels,
 * without an EXIF rotation.
 */
export async function probeImage(
  bytes: Uint8Array,
  mediaType: ImageType,
  frames: number,
  limits: ProbeLimits,
): Promise<MediaFacts | Invalid> {
  const format = mediaType.slice('image/'.length);
  const broken = { invalid: `The file starts like a ${format.toUpperCase()} image but cannot be decoded.` };
  // No limit here: our own check reports the fault, before any pixel is decoded.
  const input = () => sharp(bytes, { failOn: 'warning', limitInputPixels: false, pages: format === 'webp' ? -1 : 1 });
  try {
    const header = await input().metadata();
    if (header.format !== format) return broken;
    const heightPx = header.pageHeight ?? header.height;
    const tooLarge = sizeFault(header.width, heightPx, Math.max(frames, header.pages ?? 1), limits.maxPixels);
    if (tooLarge !== undefined) return tooLarge;
    const tooDear = decodeFault(bytes, limits.maxDecodeBytes);
    if (tooDear !== undefined) return tooDear;
    if (limits.decode === 'full') await decodeFully(input(), header);
    return { kind: 'image', mediaType, widthPx: header.width, heightPx };
  } catch {
    return broken;
  }
}

/** Opens bytes whose size and form were checked before; of an animation, its first frame. */
export function openImage(bytes: Uint8Array): Sharp {
  return sharp(bytes, { failOn: 'warning', limitInputPixels: false, pages: 1 });
}

/**
 * Decodes every row and keeps none. Decoders of PNG and JPEG go from row to row, so that the last one takes all before it,
 * in less time than to shrink them. That of WebP decodes all of it in any case, and shrinks while it does.
 */
async function decodeFully(input: Sharp, { format, height }: Metadata): Promise<void> {
  const rows =
    format === 'webp'
      ? input.resize(SHRUNK_PX, SHRUNK_PX, { fit: 'fill' })
      : input.extract({ left: 0, top: height - 1, width: 1, height: 1 });
  await rows.raw().toBuffer();
}
