export type MediaFacts =
  | {
      readonly kind: 'image';
      readonly mediaType: 'image/png' | 'image/jpeg' | 'image/webp';
      readonly widthPx: number;
      readonly heightPx: number;
    }
  | {
      readonly kind: 'video';
      readonly mediaType: 'video/mp4';
      readonly widthPx: number;
      readonly heightPx: number;
      readonly durationMs: number;
    };

export interface ProbeLimits {
  /** This much memory is reserved for the bytes: pass their number where it is known. */
  readonly maxBytes: number;
  /** Of all frames together. */
  readonly maxPixels: number;
  /** The most memory that decoding an image may take, computed from its header; no limit when absent. */
  readonly maxDecodeBytes?: number;
  readonly decode: 'header' | 'full';
  /** The kind that is expected, so that a refusal names no other. */
  readonly kind?: 'image' | 'video';
}

/** Determines what bytes are, without trust in their name or declared type. */
export interface MediaProbe {
  /**
   * Sniffs the magic bytes and decodes the header (an output's pixels too, when `decode` is `full`). For anything but
   * exactly one PNG, JPEG, WebP or MP4 within the limits, and for a video with tracks beside pictures and sound, it returns
   * one sentence that says what is wrong; it never throws for invalid bytes. It waits while other work has the memory that it needs.
   */
  probe(bytes: AsyncIterable<Uint8Array>, limits: ProbeLimits): Promise<MediaFacts | { readonly invalid: string }>;
}
