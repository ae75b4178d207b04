import type { Preview, Thumbnail } from '../../core/ports/media.js';
import { openUpright } from '../upright-image.js';

/** The longer side and the quality of a preview, the best first: the first one that is small enough is taken. */
const FORMS = [
  { sidePx: 768, quality: 80 },
  { sidePx: 512, quality: 70 },
  { sidePx: 256, quality: 60 },
] as const;

/**
 * Transparent pixels become white, since a JPEG has no transparency; colours become those of sRGB, so that it needs no
 * profile. Null for bytes that cannot be decoded.
 */
export async function shrinkImage(bytes: Uint8Array, maxBytes: number, xmp?: Buffer): Promise<Preview | null> {
  for (const { sidePx, quality } of FORMS) {
    const shrunk = openUpright(bytes, { failOn: 'error', limitInputPixels: false, pages: 1 })
      .resize(sidePx, sidePx, { fit: 'inside', withoutEnlargement: true })
      .flatten({ background: '#ffffff' })
      .jpeg({ quality });
    const made = await (xmp === undefined ? shrunk : shrunk.withXmp(xmp.toString())).toBuffer().catch(() => null);
    if (made === null) return null;
    if (made.byteLength <= maxBytes) return { mediaType: 'image/jpeg', bytes: made };
  }
  return null;
}

const THUMBNAIL_QUALITY = 70;
/** Of 0 to 6. More takes several times as long, for a few percent less bytes. */
const THUMBNAIL_EFFORT = 1;
/** A picture within the limits takes a fraction of this, also on a machine that is busy. */
const MAX_SECONDS = 60;

/**
 * Keeps transparency. Colours become those of sRGB with eight bits, so that no profile is needed. `too-large` for a picture that
 * takes too long, and `unreadable` for bytes that cannot be decoded.
 */
export async function makeThumbnail(
  bytes: Uint8Array,
  { widthPx, heightPx }: { readonly widthPx: number; readonly heightPx: number },
  xmp?: Buffer,
): Promise<Thumbnail | 'too-large' | 'unreadable'> {
  const shrunk = openUpright(bytes, { failOn: 'error', limitInputPixels: false, pages: 1 })
    .timeout({ seconds: MAX_SECONDS })
    .resize(widthPx, heightPx, { fit: 'fill' })
    .toColourspace('srgb')
    .webp({ quality: THUMBNAIL_QUALITY, effort: THUMBNAIL_EFFORT });
  try {
    const made = await (xmp === undefined ? shrunk : shrunk.withXmp(xmp.toString())).toBuffer();
    return { mediaType: 'image/webp', bytes: made };
  } catch (error) {
    return error instanceof Error && error.message.startsWith('timeout') ? 'too-large' : 'unreadable';
  }
}
