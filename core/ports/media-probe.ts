export type MediaFacts =
  | {
      readonly kind: 'image';
      readonly mediaType: 'image/png' | 'image/jpeg' | 'image/webp';
      /** The size that a browser shows, after it applies the orientation. */
      readonly widthPx: number;
      readonly heightPx: number;
      /** The length of the picture. Bytes after it, such as a second picture, are ignored. */
      readonly contentBytes: number;
      /** Whether a pixel is not fully opaque; absent unless `findsTransparency` asks for it. */
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
  /** Of all frames together. */
  readonly maxPixels: number;
  /** The most memory that decoding an image may take, computed from its header; no limit when absent. */
  readonly maxDecodeBytes?: number;
  readonly decode: 'header' | 'full';
  /** Whether to find out if an image is transparent anywhere, for which one that has an alpha channel is decoded. */
  readonly findsTransparency?: true;
  /** The kind that is expected, so that a refusal names no other. */
  readonly kind?: 'image' | 'video';
}

/** Determines what bytes are, without trust in their name or declared type. */
export interface MediaProbe {
  /**
   * Sniffs the magic bytes and decodes the header (an output's pixels too, when `decode` is `full`). For anything but
   * exactly one PNG, JPEG, WebP or MP4 within the limits, and for a video with tracks beside pictures and sound, it returns
   * one sentence that says what is wrong; it never throws for invalid bytes, and passes on what `read` throws. It waits while
   * other work has the memory that it needs: `byteSize` for an image. Of a video it reads parts, and holds no more of a long one
   * than of a short one.
   */
  probe(file: ProbedFile, limits: ProbeLimits): Promise<MediaFacts | { readonly invalid: string }>;
}
