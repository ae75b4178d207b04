import type { Metadata, Sharp } from 'sharp';
import { type HeaderAnswer, readImageHeader } from '../../core/media/image-header.js';
import type { MediaFacts } from '../../core/ports/media.js';
import { sharp } from '../image-library.js';
import type { ContainerEnd } from './container-end.js';
import { jpegOutline, withoutOddities } from './jpeg-file.js';
import { hasSoundChunks, isSoundSmallPng, pngHead } from './png-file.js';
import { decodeFault, type Invalid, type ProbeLimits, sizeFault } from './probe-limits.js';

export type ImageType = Extract<MediaFacts, { kind: 'image' }>['mediaType'];

/** A fully decoded WebP picture is shrunk to this side length: its pixels are not needed. */
const SHRUNK_PX = 16;

/**
 * Reads the header, and for `full` decodes every pixel (of every frame of a WebP, of the first of an animated PNG), or checks a
 * small PNG without libvips. The caps of pixels and of memory are those of the stored pixels, and are applied before anything
 * is decoded; width and height are as the picture is shown. `bytes` end where the picture ends; those of a JPEG may be changed.
 */
export async function probeImage(
  bytes: Uint8Array,
  mediaType: ImageType,
  { frames, isTurned }: Extract<ContainerEnd, { complete: true }>,
  limits: ProbeLimits,
): Promise<MediaFacts | Invalid> {
  const format = mediaType.slice('image/'.length);
  const broken = { invalid: `The file starts like a ${format.toUpperCase()} image but cannot be decoded.` };
  try {
    const header = readImageHeader(bytes);
    // Before libvips looks at all frames of an animation.
    const tooMany =
      typeof header === 'string' ? undefined : sizeFault(header.widthPx, header.heightPx, frames, limits.maxPixels);
    if (tooMany !== undefined) return tooMany;
    const needsHeader = limits.decode !== 'full' || limits.findsTransparency === true;
    const size = needsHeader ? undefined : sizeInHeader(header);
    const { widthPx, heightPx, pages, alpha } = size ?? (await pictureIn(bytes, format, header));
    const tooLarge = sizeFault(widthPx, heightPx, Math.max(frames, pages), limits.maxPixels);
    if (tooLarge !== undefined) return tooLarge;
    const tooDear = decodeFault(bytes, limits.maxDecodeBytes);
    if (tooDear !== undefined) return tooDear;
    const isSearched = limits.findsTransparency === true && alpha !== undefined;
    // A decoder checks them, too.
    if (limits.decode === 'header' && format === 'png' && !isSearched && !hasSoundChunks(bytes)) return broken;
    if (limits.decode === 'full' && !isSoundSmallPng(bytes)) await decodeFully(bytes, format, widthPx, heightPx);
    const contentBytes = bytes.byteLength;
    return {
      kind: 'image',
      mediaType,
      ...(isTurned ? { widthPx: heightPx, heightPx: widthPx } : { widthPx, heightPx }),
      contentBytes,
      ...(limits.findsTransparency === true ? { isTransparent: await hasTransparentPixel(bytes, alpha) } : {}),
    };
  } catch {
    return broken;
  }
}

/**
 * Opens bytes whose size and form were checked before; of an animation, its first frame. A warning of the decoder is
 * not a fault: the picture is shown.
 */
export function openImage(bytes: Uint8Array): Sharp {
  return sharp(bytes, { failOn: 'error', limitInputPixels: false, pages: 1 });
}

/** The picture or all its frames; a decoder that has to guess a pixel fails, which it only warns about. */
function openStrictly(bytes: Uint8Array, format: string): Sharp {
  // No limit of pixels here: our own check reports the fault, before any is decoded.
  return sharp(bytes, { failOn: 'warning', limitInputPixels: false, pages: format === 'webp' ? -1 : 1 });
}

interface Picture {
  readonly widthPx: number;
  readonly heightPx: number;
  readonly pages: number;
  /** How the pixels with an alpha channel, the last one, are stored; undefined where there is none, or it was not looked for. */
  readonly alpha?: Pick<Metadata, 'channels' | 'space' | 'depth'>;
}

/**
 * The size of a PNG or JPEG that is decoded afterwards, in any case: to have libvips read the header first would cost
 * as much as to decode a small picture. If the decoder reads another header than we do, its last row is elsewhere.
 */
function sizeInHeader(header: HeaderAnswer): Picture | undefined {
  if (typeof header === 'string' || header.form === 'WebP') return undefined;
  return { widthPx: header.widthPx, heightPx: header.heightPx, pages: 1 };
}

/** Throws where a decoder finds a fault without the pixels. */
async function pictureIn(bytes: Uint8Array, format: string, header: HeaderAnswer): Promise<Picture> {
  if (format === 'jpeg') {
    const size = sizeInHeader(header);
    if (size === undefined) throw new Error('The JPEG has no header.');
    await pixelAt(openImage(jpegOutline(bytes)), 0, 0);
    return size;
  }
  const found = await openStrictly(format === 'png' ? pngHead(bytes) : bytes, format).metadata();
  if (found.format !== format) throw new Error('The decoder finds another format.');
  return {
    widthPx: found.width,
    heightPx: found.pageHeight ?? found.height,
    pages: found.pages ?? 1,
    ...(found.hasAlpha ? { alpha: found } : {}),
  };
}

/**
 * Decodes every row and keeps none. Decoders of PNG and JPEG go from row to row, so that the last one takes all before
 * it, in less time than to shrink them. The decoder of WebP decodes all of it in any case, and shrinks while it does.
 *
 * A decoder of JPEG reports its first warning alone, which may be one of those that change no pixel: then what is left
 * of the file without its oddities must decode without a warning.
 */
async function decodeFully(bytes: Uint8Array, format: string, widthPx: number, heightPx: number): Promise<void> {
  const input = openStrictly(bytes, format);
  if (format === 'webp') await input.resize(SHRUNK_PX, SHRUNK_PX, { fit: 'fill' }).raw().toBuffer();
  else if (format === 'png') await pixelAt(input, 0, heightPx - 1);
  else
    await pixelAt(input, widthPx - 1, heightPx - 1).catch(async (error: unknown) => {
      const plain = withoutOddities(bytes);
      if (plain === undefined) throw error;
      await pixelAt(openStrictly(plain, format), widthPx - 1, heightPx - 1);
    });
}

async function pixelAt(input: Sharp, left: number, top: number): Promise<void> {
  await input.extract({ left, top, width: 1, height: 1 }).raw().toBuffer();
}

const OPAQUE = Buffer.alloc(64 * 1024, 0xff);

/**
 * Decodes the channel of transparency as it is stored, of an animation that of its first frame, and holds it: `alphaBytes` are
 * reserved for it.
 */
async function hasTransparentPixel(bytes: Uint8Array, alpha: Picture['alpha']): Promise<boolean> {
  if (alpha === undefined) return false;
  // A conversion to another colour space would take longer, and move the channel.
  const values = await openImage(bytes)
    .pipelineColourspace(alpha.space)
    .toColourspace(alpha.space)
    .extractChannel(alpha.channels === 2 ? 1 : 3)
    .raw({ depth: alpha.depth === 'ushort' ? 'ushort' : 'uchar' })
    .toBuffer();
  for (let at = 0; at < values.length; at += OPAQUE.length) {
    const part = values.subarray(at, at + OPAQUE.length);
    if (!part.equals(OPAQUE.subarray(0, part.length))) return true;
  }
  return false;
}
