import type { Waits } from '../cancellation.js';
import type { Modality } from '../generation/generation.js';
import type { AiMark } from '../media/ai-mark.js';
import type { ImageType } from '../media/media-types.js';

export type MediaFacts =
  | {
      readonly kind: 'image';
      readonly mediaType: ImageType;
      /** The size that a browser shows, after it applies the orientation. */
      readonly widthPx: number;
      readonly heightPx: number;
      /** The length of the picture. Bytes after it, such as a second picture, are ignored. */
      readonly contentBytes: number;
      /** Whether a pixel is not fully opaque; absent unless `findsTransparency` is set. */
      readonly isTransparent?: boolean;
    }
  | {
      readonly kind: 'video';
      readonly mediaType: 'video/mp4';
      /** The size that a browser shows, after rotation and with square pixels. */
      readonly widthPx: number;
      readonly heightPx: number;
      readonly durationMs: number;
      /** The offset of the end of the last box. */
      readonly contentBytes: number;
    };

/** A stored file, which does not change while it is probed. */
export interface ProbedFile {
  readonly byteSize: number;
  /**
   * All bytes in order, or those from `from` (inclusive) to `to` (exclusive), at most `byteSize`. They are read to their end, or
   * the loop is left. Throws, at the call or later, when the bytes cannot be read now.
   */
  read(range?: { readonly from: number; readonly to: number }): Promise<AsyncIterable<Uint8Array>>;
}

export interface ProbeLimits {
  /** The most pixels, of all frames together. */
  readonly maxPixels: number;
  /** The most memory that decoding an image may take, computed from its header; no limit when absent. */
  readonly maxDecodeBytes?: number;
  readonly decode: 'header' | 'full';
  /** Whether to find out if an image is transparent anywhere, for which one that has an alpha channel is decoded. */
  readonly findsTransparency?: true;
  /** The kind that is expected, so that a refusal names no other. */
  readonly kind?: Modality;
}

/** Determines what bytes are, without trust in their name or declared type. */
export interface MediaProbe {
  /**
   * Sniffs the magic bytes and decodes the header (an output's pixels too, when `decode` is `full`). For anything but
   * exactly one PNG, JPEG, WebP or MP4 within the limits, and for a video with tracks besides pictures and sound, it
   * returns one sentence that states the problem. It never throws for invalid bytes, and passes on errors of `read`. It
   * waits while other work has the memory that it needs: `byteSize` for an image. It reads a video in parts, and holds
   * no more of a long one than of a short one.
   */
  probe(file: ProbedFile, limits: ProbeLimits): Promise<MediaFacts | { readonly invalid: string }>;
}

export interface CleanOptions {
  /** The mark that the file gets; none when absent. */
  readonly mark?: AiMark;
  /**
   * `keep`: a C2PA manifest that declares AI stays, and the file gets no other mark, if nothing else has to change.
   * `drop`: every manifest is removed. `restore`: takes back what a first pass wrote for the mark, if the file has a
   * manifest that stays, or had the mark already; only `secondPass` requests it.
   */
  readonly manifests: 'keep' | 'drop' | 'restore';
}

export interface Cleaning {
  /** The cleaned file, to be read once. */
  readonly bytes: AsyncIterable<Uint8Array>;
  /**
   * Returns the options with which the result has to be cleaned once more, because the stream showed too late what it
   * is; undefined if the result is correct. Call it once all of `bytes` has been read. A second pass never needs
   * another one.
   */
  secondPass(): CleanOptions | undefined;
}

/**
 * Removes descriptive metadata from media, so that a delivered file does not reveal its prompt, and writes the mark
 * that declares it as made by AI.
 */
export interface MediaCleaner {
  /**
   * The same PNG, JPEG, WebP or MP4 without its texts, EXIF, XMP and other descriptive metadata, without bytes after its end,
   * and with exactly one mark, if `options` has one. Pixels, colours, samples and orientation stay. Cleaning again with the
   * same options changes nothing. Other bytes pass through unchanged; so does the rest of a file from where its structure cannot
   * be read, which `MediaProbe` then refuses. It holds some hundred KiB, and the chunk it was given twice, whatever the size
   * of the file, and never throws for the bytes. A failure of their source is passed on, and the source is closed when the
   * reader stops early.
   */
  clean(bytes: AsyncIterable<Uint8Array>, options: CleanOptions): Cleaning;
}

export interface Preview {
  readonly mediaType: 'image/jpeg';
  readonly bytes: Uint8Array;
}

export interface Thumbnail {
  readonly mediaType: 'image/webp';
  readonly bytes: Uint8Array;
}

/**
 * `busy`: too many others wait. `too-large`: decoding the file would take too much memory or time. `unreadable`: it is damaged,
 * or not a PNG, JPEG or WebP picture.
 */
export type ThumbnailRefusal = 'busy' | 'too-large' | 'unreadable';

/** Makes small pictures of large ones. */
export interface Previews {
  /**
   * A small picture of `maxBytes` at most, upright as browsers show it, in sRGB, without the metadata of the original and with
   * the mark if there is one, from the bytes of a PNG, JPEG or WebP image. Null for other bytes, for a picture that takes too much
   * memory to decode, where no small picture is small enough, and while too many others wait. It waits while other work has
   * the memory that it needs, and throws `CallOver` when the call is over by then. A failure of the source of the bytes is
   * passed on.
   */
  ofImage(
    bytes: AsyncIterable<Uint8Array>,
    limits: { readonly sourceBytes: number; readonly maxBytes: number; readonly mark?: AiMark },
    waits?: Waits,
  ): Promise<Preview | null>;

  /**
   * A WebP picture of exactly this size, which is to have the proportions of the file as browsers show it. It is upright, in sRGB,
   * keeps transparency, and has no metadata but the mark if there is one; of an animation it shows the first frame. The file is
   * opened when its turn has come. It waits while other work has the memory that it needs, and throws `CallOver` when the
   * call is over by then. A failure of `read` is passed on.
   */
  thumbnail(
    file: ProbedFile,
    form: { readonly widthPx: number; readonly heightPx: number; readonly mark?: AiMark },
    waits?: Waits,
  ): Promise<Thumbnail | ThumbnailRefusal>;
}

/** Takes pictures out of videos. It comes with a program of the operator: there is none where none is configured. */
export interface VideoFrames {
  /**
   * The first frame of an MP4 video that can be decoded, as a PNG of exactly this size. Only the beginning and the end of a long
   * video are read. `too-large`: the video has more pixels than may be decoded, or decoding takes too long. It waits as `Previews`
   * do, and throws `CallOver` when the call is over before the end. A failure of `read` is passed on.
   */
  first(
    video: ProbedFile & { readonly widthPx: number; readonly heightPx: number },
    size: { readonly widthPx: number; readonly heightPx: number },
    waits?: Waits,
  ): Promise<Uint8Array | ThumbnailRefusal>;
}

/** The bytes of a picture, to be read any number of times from the beginning. */
export interface PictureBytes {
  readonly byteSize: number;
  readonly bytes: () => AsyncIterable<Uint8Array>;
}

/** A picture that waits on disk. */
export interface MadePicture extends PictureBytes {
  /** Frees the disk. Never throws. */
  close(): Promise<void>;
}

/** Why a mask cannot be applied, as the rest of a sentence that begins with the name of the file. */
export interface MaskFault {
  readonly of: 'picture' | 'mask';
  readonly message: string;
}

/** Puts a mask that came as a file of its own into the picture that it is for. */
export interface Masks {
  /**
   * The picture as an upright PNG of 8-bit sRGB. The alpha of each pixel is the smaller of its own and that of the mask; its
   * colours stay, also where it is transparent. The picture is a PNG, JPEG or WebP, and the mask a PNG that has alpha and the
   * size of the picture; the result says which of them is not. Neither has more than `maxPixels` pixels, or takes more than
   * `maxDecodeBytes` of memory. It waits while other work has the memory that it needs. Failures of the sources and of
   * the disk are passed on.
   */
  apply(
    picture: PictureBytes,
    mask: PictureBytes,
    limits: { readonly maxPixels: number; readonly maxDecodeBytes: number },
  ): Promise<MadePicture | MaskFault>;
}
