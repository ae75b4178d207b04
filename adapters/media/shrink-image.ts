import { readImageHeader } from '../../core/media/image-header.js';
import type { Preview } from '../../core/ports/previews.js';
import { openImage } from './sharp-image.js';

/** The longer side and the quality of a preview, the best first: the first one that is small enough is taken. */
const FORMS = [
  { sidePx: 768, quality: 80 },
  { sidePx: 512, quality: 70 },
  { sidePx: 256, quality: 60 },
] as const;

/**
 * What is transparent becomes white, since a JPEG has no transparency; colours become those of sRGB, so that it needs no profile.
 * Null for bytes that cannot be decoded.
 */
export async function shrinkImage(bytes: Uint8Array, maxBytes: number, xmp?: Buffer): Promise<Preview | null> {
  const header = readImageHeader(bytes);
  // No browser turns a WebP, and a preview shows what they do.
  const isTurned = typeof header === 'string' || header.form !== 'WebP';
  for (const { sidePx, quality } of FORMS) {
    const shrunk = (isTurned ? openImage(bytes).autoOrient() : openImage(bytes))
      .resize(sidePx, sidePx, { fit: 'inside', withoutEnlargement: true })
      .flatten({ background: '#ffffff' })
      .jpeg({ quality });
    const made = await (xmp === undefined ? shrunk : shrunk.withXmp(xmp.toString())).toBuffer().catch(() => null);
    if (made === null) return null;
    if (made.byteLength <= maxBytes) return { mediaType: 'image/jpeg', bytes: made };
  }
  return null;
}
