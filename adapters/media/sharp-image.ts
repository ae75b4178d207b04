import type { Sharp } from 'sharp';
import { readImageHeader, type HeaderAnswer } from '../../core/media/image-header.js';
import type { MediaFacts } from '../../core/ports/media-probe.js';
import { sharp } from '../image-library.js';
import { decodeFault, sizeFault } from './probe-limits.js';
import type { Invalid, ProbeLimits } from './probe-limits.js';
import { pngHead } from './png-head.js';
import { isSoundSmallPng } from './small-png.js';

export type ImageType = Extract<MediaFacts, { kind: 'image' }>['mediaType'];

/** A fully decoded WebP picture is shrunk to this side length: its pixels are not needed. */
const SHRUNK_PX = 16;

/**
 * Reads the header, and for `full` decodes every pixel (of every frame of a WebP, of the first of an animated PNG), or
 * checks a small PNG without libvips. The
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
    const header = readImageHeader(bytes);
    // Before libvips looks at all frames of an animation.
    const tooMany =
      typeof header === 'string' ? undefined : sizeFault(header.widthPx, header.heightPx, frames, limits.maxPixels);
    if (tooMany !== undefined) return tooMany;
    const size =
      (limits.decode === 'full' ? sizeInHeader(header) : undefined) ??
      (await sizeIn(format === 'png' ? openImage(pngHead(bytes)) : input(), format));
    if (size === undefined) return broken;
    const { widthPx, heightPx, pages } = size;
    const tooLarge = sizeFault(widthPx, heightPx, Math.max(frames, pages), limits.maxPixels);
    if (tooLarge !== undefined) return tooLarge;
    const tooDear = decodeFault(bytes, limits.maxDecodeBytes);
    if (tooDear !== undefined) return tooDear;
    if (limits.decode === 'full' && !isSoundSmallPng(bytes)) await decodeFully(input(), format, heightPx);
    return { kind: 'image', mediaType, widthPx, heightPx, contentBytes: bytes.byteLength };
  } catch {
    return broken;
  }
}

/** Opens bytes whose size and form were checked before; of an animation, its first frame. */
export function openImage(bytes: Uint8Array): Sharp {
  return sharp(bytes, { failOn: 'warning', limitInputPixels: false, pages: 1 });
}

interface PictureSize {
  readonly widthPx: number;
  readonly heightPx: number;
  readonly pages: number;
}

/**
 * The size of a PNG or JPEG that is decoded afterwards, in any case: to have libvips read the header first would cost as much
 * as to decode a small picture. Where the decoder reads another header than we do, its last row is not where we look.
 */
function sizeInHeader(header: HeaderAnswer): PictureSize | undefined {
  if (typeof header === 'string' || header.form === 'WebP') return undefined;
  return { widthPx: header.widthPx, heightPx: header.heightPx, pages: 1 };
}

async function sizeIn(input: Sharp, format: string): Promise<PictureSize | undefined> {
  const header = await input.metadata();
  if (header.format !== format) return undefined;
  return { widthPx: header.width, heightPx: header.pageHeight ?? header.height, pages: header.pages ?? 1 };
}

/**
 * Decodes every row and keeps none. Decoders of PNG and JPEG go from row to row, so that the last one takes all before it,
 * in less time than to shrink them. That of WebP decodes all of it in any case, and shrinks while it does.
 */
async function decodeFully(input: Sharp, format: string, heightPx: number): Promise<void> {
  const rows =
    format === 'webp'
      ? input.resize(SHRUNK_PX, SHRUNK_PX, { fit: 'fill' })
      : input.extract({ left: 0, top: heightPx - 1, width: 1, height: 1 });
  await rows.raw().toBuffer();
}
