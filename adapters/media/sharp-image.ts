import sharp from 'sharp';
import type { MediaFacts } from '../../core/ports/media-probe.js';
import { sizeFault } from './probe-limits.js';
import type { Invalid, ProbeLimits } from './probe-limits.js';

export type ImageType = Extract<MediaFacts, { kind: 'image' }>['mediaType'];

/**
 * Every loader of libvips is blocked for the whole process, but those three: SVG, PDF, TIFF and the like are never
 * parsed, whatever a file claims to be.
 */
sharp.block({ operation: ['VipsForeignLoad'] });
sharp.unblock({ operation: ['VipsForeignLoadPngBuffer', 'VipsForeignLoadJpegBuffer', 'VipsForeignLoadWebpBuffer'] });

/**
 * Reads the header, and for `full` decodes every pixel (of every frame of a WebP, of the first of an animated PNG). The
 * pixel cap is applied before anything is decoded; a full decode holds at most four bytes a pixel. Width and height are
 * those of the stored pixels, without an EXIF rotation.
 */
export async function probeImage(
  bytes: Uint8Array,
  mediaType: ImageType,
  frames: number,
  limits: ProbeLimits,
): Promise<MediaFacts | Invalid> {
  const format = mediaType.slice('image/'.length);
  const broken = { invalid: `The file starts like a ${format.toUpperCase()} image but cannot be decoded.` };
  // No cap here: ours says what is wrong, and comes before any pixel is decoded.
  const input = () => sharp(bytes, { failOn: 'warning', limitInputPixels: false, pages: format === 'webp' ? -1 : 1 });
  try {
    const header = await input().metadata();
    if (header.format !== format) return broken;
    const heightPx = header.pageHeight ?? header.height;
    const tooLarge = sizeFault(header.width, heightPx, Math.max(frames, header.pages ?? 1), limits.maxPixels);
    if (tooLarge !== undefined) return tooLarge;
    if (limits.decode === 'full') await input().raw().toBuffer();
    return { kind: 'image', mediaType, widthPx: header.width, heightPx };
  } catch {
    return broken;
  }
}
